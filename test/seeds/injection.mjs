// Document 004: how a worker of each CLI is given the relay's tools, and when it is not. Stand-ins note how they were started.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until, World } from './world.mjs'

const clis = ['claude', 'codex', 'opencode', 'gemini', 'droid', 'goose', 'aider']
let [world, beginning] = []
let workers = 0

const ready = ({ place }) => {
  beginning ??= (async () => {
    world = new World(place, 'work')
    world.standIns(...clis)
    const { code, all } = await world.sh('agent-relay daemon start --quiet')
    assert.equal(code, 0, all)
  })()
  return beginning
}

function notes(cli) {
  const folder = join(world.home, 'started')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.includes(`-${cli}-`)) : []
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
}

/** Starts a worker, and answers what its program was started with, and what was run before it. */
async function hired(run, cli, args = '', options = '') {
  await ready(run)
  const name = `W${++workers}`
  const { code, all } = await world.sh(`agent-relay spawn ${name} --cli ${cli} ${options} ${args && `-- ${args}`}`)
  assert.equal(code, 0, all)
  const isIt = ({ variables, args }) => variables.agent === name && args[0] !== 'mcp' && args[0] !== '--version'
  const note = await until(`${cli} starts`, () => notes(cli).find(isIt))
  const before = notes(cli).filter(({ args }) => args[0] === 'mcp')
  return { ...note, name, before }
}

const isIdentity = ({ variables }, name) => {
  assert.deepEqual([variables.agent, variables.type, variables.strict], [name, 'agent', '1'])
  assert.ok(variables.hasToken)
  assert.equal(variables.key, undefined)
}

async function claude(run) {
  const note = await hired(run, 'claude')
  assert.ok(note.args.includes('--mcp-config'))
  assert.ok('agent-relay' in note.config.mcpServers)
  isIdentity(note, note.name)
  return '--mcp-config FILE: every user of the machine can read arguments'
}

async function codex(run) {
  const note = await hired(run, 'codex')
  assert.ok(
    note.args.some(
      (arg, at) => arg.startsWith('mcp_servers.agent-relay=') && /^(-c|--config)$/.test(note.args[at - 1]),
    ),
  )
  isIdentity(note, note.name)
  return '-c mcp_servers.agent-relay, with the names of the variables: nothing secret in an argument'
}

async function opencode(run) {
  const note = await hired(run, 'opencode')
  assert.equal(note.args[note.args.indexOf('--agent') + 1], 'agent-relay')
  assert.ok('agent-relay' in note.opencode.mcp)
  assert.ok(!existsSync(join(world.project, 'opencode.json')))
  isIdentity(note, note.name)
  return '--agent agent-relay, and the configuration in a variable: no file of the project changes'
}

async function droid(run) {
  const note = await hired(run, 'droid')
  const [flag, file] = note.args
  assert.equal(flag, '--settings')
  assert.ok('agent-relay' in JSON.parse(readFileSync(file, 'utf8')).mcp.mcpServers)
  assert.deepEqual(note.before, [])
  isIdentity(note, note.name)
  return '--settings FILE for one start: droid refuses to add a server that it has already'
}

const addsBefore = (cli, options) => async (run) => {
  const { before } = await hired(run, cli, '', options)
  assert.ok(
    before.some(({ args }) => args[1] === 'add' && args.includes('agent-relay')),
    JSON.stringify(before),
  )
  if (options) return `with ${options}: otherwise it is spoken to over ACP, which takes the server with the session`
}

async function without(run) {
  for (const cli of ['goose', 'aider']) {
    const note = await hired(run, cli)
    assert.ok(!JSON.stringify([note.args, note.config]).includes('mcp'), JSON.stringify(note))
  }
}

/** What the condition of a snippet looks for, as an argument of a worker: nothing is injected then. */
const optsOut = (cli, pattern, argument, isInjected) => async (run) => {
  const word = run.documents['004'].find(pattern)
  const note = await hired(run, cli, argument(word))
  assert.ok(!isInjected(note), JSON.stringify(note.args))
}

async function typed(run) {
  const { name } = await hired(run, 'goose')
  const { code, all } = await world.sh(`agent-relay send ${name} 'take the parser' --as Ann`)
  assert.equal(code, 0, all)
  const file = join(world.home, 'started', `${name}.typed`)
  const text = await until(
    'the message',
    () => existsSync(file) && /take the parser/.test(readFileSync(file, 'utf8')) && readFileSync(file, 'utf8'),
  )
  if (!text.includes('<system-reminder>')) return `typed as: ${JSON.stringify(text.slice(0, 160))}`
}

const skips = (cli) => new RegExp(`// ${cli}: skip[^\\n]*\\n[^\\n]*"([\\w.-]+)"`)

export const examples = [
  { example: 'Claude: --mcp-config', expected: 'with a change', run: claude },
  { example: 'Codex: --config', expected: 'with a change', run: codex },
  { example: 'Opencode: --agent', expected: 'with a change', run: opencode },
  { example: 'Gemini: mcp add', expected: 'with a change', run: addsBefore('gemini', '--terminal') },
  { example: 'Droid: mcp add', expected: 'with a change', run: droid },
  { example: 'Goose and Aider: nothing', run: without },
  {
    example: 'the opt-out of Claude',
    run: optsOut(
      'claude',
      skips('Claude'),
      (word) => `--${word} mine.json`,
      ({ args }) => args.filter((arg) => arg === '--mcp-config').length > 1,
    ),
  },
  {
    example: 'the opt-out of Codex',
    run: optsOut(
      'codex',
      skips('Codex'),
      (word) => `-c '${word}.command="mine"'`,
      ({ args }) => args.some((arg) => arg.startsWith('mcp_servers.agent-relay=')),
    ),
  },
  {
    example: 'the opt-out of Opencode',
    run: optsOut(
      'opencode',
      skips('Opencode'),
      (word) => `${word} mine`,
      ({ opencode }) => opencode !== undefined && 'mcp' in opencode,
    ),
  },
  { example: 'a message is typed where there is no MCP', run: typed },
].map((example) => ({ document: '004', ...example }))

export const close = () => world?.close()
