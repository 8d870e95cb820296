// Document 000, the commands to type or paste: snippets of a command line, the lines of an image, and the calls in the protocol's text.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { installTool } from '../../scripts/install-tool.mjs'
import { root, World, write } from './world.mjs'

const json = (path) => JSON.parse(readFileSync(path, 'utf8'))
const six = ['relay_send', 'relay_inbox', 'relay_who', 'relay_status', 'relay_spawn', 'relay_release'].sort()

let world
/** One home for all of them; its relay runs from the command that the document names. */
function home({ place, documents }) {
  if (world === undefined) {
    world = new World(place, 'typed')
    world.standIns('claude')
    write(join(world.project, '.relay/config.json'), '{"project":"seeds"}\n')
    mkdirSync(join(world.home, '.claude'))
    mkdirSync(join(world.home, '.cursor'))
  }
  return { world, document: documents['000'] }
}

async function isServed(server, options) {
  const host = await world.host(server, 'host', options)
  assert.deepEqual((await host.tools()).map(({ name }) => name).sort(), six)
  return host
}

/** A command that installs: the entry that it writes is read and started, as that editor would. */
const installs =
  (command, ...files) =>
  async (run) => {
    const { world, document } = home(run)
    const { code, all } = await world.sh(document.find(command))
    assert.equal(code, 0, all)
    for (const file of files) {
      const entry = json(join(world.home, file)).mcpServers['agent-relay']
      await isServed(entry)
      rmSync(join(world.home, file))
    }
  }

async function daemonStarts(run) {
  const { world, document } = home(run)
  const { code, all } = await world.sh(document.find(/agent-relay daemon start/))
  assert.equal(code, 0, all)
  assert.match((await world.sh('agent-relay daemon status')).all, /pid \d+, up/)
}

/** In a project that has the package. Elsewhere npx asks the public registry, where the name is another project's. */
async function serves(run) {
  const { document } = home(run)
  const [command, ...args] = document.find(/npx @agent-relay\/mcp serve/).split(' ')
  await isServed({ command, args })
}

async function helpOfBin(run) {
  const { world, document } = home(run)
  const asked = document.find(/console\.log\(`\n(@agent-relay\/mcp - [\s\S]*?)`\)/)
  const { all } = await world.sh('agent-relay-mcp --help')
  for (const [, name] of asked.matchAll(/^ {2}(?:-\w, )?(--\w+|install|serve)\b/gm))
    assert.match(all, new RegExp(`^ {2}(?:-\\w, )?${name}\\b`, 'm'))
  assert.match((await world.sh('agent-relay-mcp --version')).all, /^0\.1\.0$/m)
}

/** The snippet as a program of its own, with commander; its arguments follow. */
function snippet(document, heading, more) {
  const modules = installTool('commander@14.0.2')
  if (!existsSync(join(world.project, 'node_modules/commander')))
    symlinkSync(join(modules, 'commander'), join(world.project, 'node_modules/commander'))
  const file = join(world.project, `snippet-${Math.random().toString(36).slice(2)}.mts`)
  const path = file.replace(/mts$/, 'mjs')
  write(file, `${document.block(heading)}\n${more}\n`)
  const esbuild = join(root, 'node_modules/.bin/esbuild')
  const { status, stderr } = spawnSync(esbuild, [file, `--outfile=${path}`, '--format=esm'], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return `'${process.execPath}' '${path}'`
}

async function commandSnippet(run) {
  const { world, document } = home(run)
  const program = snippet(document, 'Add to main `agent-relay` CLI', 'await mcpCommand.parseAsync()')
  const { code, all } = await world.sh(`${program} install --editor cursor`)
  assert.equal(code, 0, all)
  await isServed(json(join(world.home, '.cursor/mcp.json')).mcpServers['agent-relay'])
  const [command, ...args] = ['sh', '-c', `${program} serve`]
  try {
    await Promise.race([isServed({ command, args }), later('the imported package serves nothing')])
  } catch {
    return 'install as written; for serve it calls the command agent-relay-mcp serve: importing the package starts nothing'
  }
}

const later = (why) => new Promise((_, reject) => setTimeout(() => reject(new Error(why)), 5_000))

async function setupSnippet(run) {
  const { world, document } = home(run)
  const asks = 'async function prompt() { return { installMcp: true } }\nawait setupWorkspace()'
  const { code, all } = await world.sh(snippet(document, 'Add to `agent-relay setup` command', asks))
  assert.equal(code, 0, all)
  await isServed(json(join(world.home, '.claude.json')).mcpServers['agent-relay'])
}

/** The RUN lines in a root of their own: its paths and its user are put in. The entries that they write are started where this checkout's package is installed. */
async function image(run) {
  const { world, document } = home(run)
  const lines = document.block('## Cloud Dockerfile Integration').replaceAll('\\\n', '')
  const steps = [...lines.matchAll(/^RUN (.+)$/gm)].map(([, step]) => step)
  const folder = join(world.place, 'image')
  const { username } = userInfo()
  const named = (step) =>
    step
      .replaceAll('/home/workspace', folder)
      .replace('workspace:workspace', `"$(id -u ${username}):$(id -g ${username})"`)
  for (const step of steps.filter((step) => !step.startsWith('npm install')).map(named)) {
    const { code, all } = await world.sh(step)
    assert.equal(code, 0, all)
  }
  for (const file of ['.claude/settings.json', '.cursor/mcp.json'])
    await isServed(json(join(folder, file)).mcpServers['agent-relay'])
  return 'the package comes from this checkout (deploy/workspace/Dockerfile): npx asks the public registry, also where one is installed globally; Claude Code reads ~/.claude.json'
}

const values = (text) =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)=("[^"]*"|true|false|\d+)/g)].map(([, name, value]) => [name, JSON.parse(value)]),
  )

/** Those whom the text names are there, and one of them answers. */
async function everybody(world, host) {
  await world.sh('agent-relay workspace create frontend')
  for (const name of ['Designer', 'lead']) await world.agent(name, { project: 'frontend' })
  for (const name of ['Alice', 'Bob', 'Lead']) await world.agent(name)
  await world.sh("agent-relay channels create '#engineering' --as Alice")
  const worker = await world.agent('Worker')
  worker.on('message', ({ from, content, thread }) => {
    if (content.includes('file')) void worker.send(from, 'Done!', { thread })
  })
  return host
}

let speaking
function speak(world) {
  speaking ??= isServed({ command: 'agent-relay-mcp', args: ['serve'] }).then((host) => everybody(world, host))
  return speaking
}

/** The calls behind a heading of the protocol's text, as tools of a host over stdio, and what each must answer. */
const calls =
  (heading, ...answers) =>
  async (run) => {
    const { world, document } = home(run)
    const host = await speak(world)
    const at = document.text.indexOf(`\n${heading}\n`)
    assert.ok(at > 0, `there is no ${heading}`)
    const part = document.text.slice(at + heading.length).split(/\n##+ /)[0]
    const found = [...part.matchAll(/\b(relay_\w+)\(([^)]*)\)/g)]
    assert.equal(found.length, answers.length, part)
    for (const [index, [, tool, input]] of found.entries()) {
      const { all } = await host.call(tool, values(input))
      assert.match(all, answers[index])
    }
  }

async function specialTargets(run) {
  const { world, document } = home(run)
  const host = await speak(world)
  for (const [, target] of document.all(/^- \\`([\w*]+:[\w*]+)\\` - /gm)) {
    const to = target.replace('project', 'frontend')
    const { all } = await host.call('relay_send', { to, message: 'hello' })
    assert.ok(all.startsWith(`Message sent to ${to}`), all)
  }
}

const sent = (to) => new RegExp(`^Message sent to ${to}\n`)
const inbox = /^(?:\d+ message\(s\):|No messages in inbox\.)/
const spoken = [
  ['### Direct Messages', sent('Alice')],
  ['### Channel Messages', sent('#engineering')],
  ['### Broadcast', sent('\\*')],
  ['### Threaded Conversations', sent('Bob'), sent('Bob')],
  ['### Await Response', /^Response from Worker: Done!/],
  ['## Spawning Workers', /^Worker "TestRunner" spawned successfully\./],
  ['### Release Workers', /^Worker "TestRunner" released\./],
  ['### ACK/DONE Protocol', sent('Lead'), sent('Lead')],
  ['## Checking Messages', inbox, inbox, /^Error: Channel not found: #urgent/],
  ["## Seeing Who's Online", /^\d+ agent\(s\) online:\n/],
  ['## Multi-Project Communication', sent('frontend:Designer')],
]

export const examples = [
  { example: 'agent-relay daemon start', run: daemonStarts },
  {
    example: 'where the package is installed: npx … install',
    run: installs(/npx @agent-relay\/mcp install/, '.claude.json', '.cursor/mcp.json'),
  },
  {
    example: 'where the package is installed: npx … install --editor claude',
    run: installs(/npx @agent-relay\/mcp install --editor claude/, '.claude.json'),
  },
  {
    example: 'where the package is installed: npx … install --editor cursor',
    run: installs(/npx @agent-relay\/mcp install --editor cursor/, '.cursor/mcp.json'),
  },
  { example: 'where the package is installed: npx … serve', run: serves },
  { example: 'agent-relay mcp install', run: installs(/agent-relay mcp install/, '.claude.json', '.cursor/mcp.json') },
  { example: 'the help and version of the binary', run: helpOfBin },
  { example: 'the command mcp', expected: 'with a change', run: commandSnippet },
  { example: 'the question of setup', run: setupSnippet },
  { example: 'the lines of the image', expected: 'with a change', run: image },
  ...spoken.map(([heading, ...answers]) => ({
    example: `calls: ${heading.replace(/#+ /, '')}`,
    run: calls(heading, ...answers),
  })),
  { example: 'calls: special targets', run: specialTargets },
].map((example) => ({ document: '000', ...example }))

export async function close() {
  await world?.close()
}
