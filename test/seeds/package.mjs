// Document 000, its code: the sources and tests of the MCP package as they are written there. They run in two packages:
//
//   seeds/  the document's files, with live.mjs, which drives its client and its server, and names.mjs
//   ours/   the document's tests and names.mjs over our package
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { installTool } from '../../scripts/install-tool.mjs'
import { installed, root, World, write } from './world.mjs'

const mcpSdk = '@modelcontextprotocol/sdk@1.32.2'
/** Longer than a relay waits for a connection to introduce itself. */
const testTimeout = 60_000
const integration = 'tests/integration.test.ts'

/** Blocks of code whose first line is a comment with their path. */
function filesOf(document) {
  const blocks = document.all(/^```typescript\n\/\/ ((?:src|tests)\/[\w./-]+)\n([\s\S]*?)^```$/gm)
  return blocks.map(([, path, code]) => ({ path, code }))
}

/** The document names these lists and does not show them. */
function writeLists(folder) {
  for (const list of ['tools', 'resources', 'prompts']) {
    const names = readdirSync(join(folder, 'src', list)).map((name) => `./${basename(name, '.ts')}.js`)
    write(join(folder, 'src', list, 'index.ts'), names.map((name) => `export * from '${name}'\n`).join(''))
  }
}

async function makePackages(place, files, isTest) {
  for (const { path, code } of files)
    for (const name of ['seeds', 'ours'])
      if (path.startsWith('tests/') ? isTest(name, path) : name === 'seeds') write(join(place, name, path), code)
  writeLists(join(place, 'seeds'))
  for (const path of ['tools/index', 'prompts/index', 'resources/index', 'discover', 'client', 'errors', 'index'])
    write(join(place, 'ours/src', `${path}.ts`), "export * from '@agent-relay/mcp'\n")
  write(join(place, 'ours/src/install-cli.ts'), "export * from '@agent-relay/mcp/install'\n")
  write(join(place, 'package.json'), '{"private":true,"type":"module"}\n')
  // One after the other: they share a relay.
  const projects = ['seeds', 'ours'].map((name, groupOrder) => ({
    test: { name, root: join(place, name), include: ['tests/**'], testTimeout, sequence: { groupOrder } },
  }))
  write(join(place, 'vitest.config.mjs'), `export default ${JSON.stringify({ test: { projects } })}\n`)
  installed(join(place, 'node_modules'), ['vitest', 'zod'])
  symlinkSync(join(installTool(mcpSdk), '@modelcontextprotocol'), join(place, 'node_modules/@modelcontextprotocol'))
  const entryPoints = ['bin', 'index'].map((name) => join(place, `seeds/src/${name}.ts`))
  const output = { outdir: join(place, 'seeds/dist'), format: 'esm', platform: 'node', logLevel: 'error' }
  await build({ entryPoints, bundle: true, splitting: true, packages: 'external', ...output })
}

/** Answers what vitest said: each test by its package, its file and its name. */
async function tested(world, place) {
  const report = join(place, 'report.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const line = `'${process.execPath}' '${vitest}' run --root '${place}' --reporter=json --outputFile='${report}'`
  const { all } = await world.sh(line, { cwd: join(place, 'seeds'), ms: 3 * testTimeout })
  let results
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults
  } catch {
    throw new Error(`vitest says nothing: ${all}`)
  }
  return results.flatMap(({ name, message, assertionResults }) =>
    (assertionResults.length > 0
      ? assertionResults
      : [{ status: 'failed', fullName: '', failureMessages: [message] }]
    ).map(({ status, fullName, failureMessages }) => ({
      test: `${name.slice(place.length + 1)} ${fullName}`,
      isPassed: status === 'passed',
      why: failureMessages[0]?.split('\n')[0],
    })),
  )
}

/** The run of everything but the integration test, made once. */
async function runAll({ place, documents }) {
  const world = new World(place, 'package', { RELAY_PROJECT: 'seeds' })
  const packages = join(world.place, 'packages')
  try {
    world.standIns('claude')
    await makePackages(packages, filesOf(documents['000']), (_, path) => path !== integration)
    cpSync(join(root, 'test/seeds/live.mjs'), join(packages, 'seeds/tests/live.test.mjs'))
    for (const name of ['seeds', 'ours'])
      cpSync(join(root, 'test/seeds/names.mjs'), join(packages, name, 'tests/names.test.mjs'))
    // Its folder is the workspace's own, so that it is known where workers work.
    const where = { cwd: join(packages, 'seeds'), env: { RELAY_PROJECT: undefined } }
    const { code, all } = await world.sh('agent-relay daemon start --quiet', where)
    assert.equal(code, 0, all)
    return await tested(world, packages)
  } finally {
    await world.close()
  }
}

let running
/** Passes if every test of that pattern has passed, and there were some. */
const tests = (pattern) => async (run) => {
  running ??= runAll(run)
  const found = (await running).filter(({ test }) => pattern.test(test))
  assert.ok(found.length > 0, `no test is like ${pattern}`)
  for (const { test, isPassed, why } of found) assert.ok(isPassed, `${test}: ${why}`)
}

const file = (path, also = '$.^') => ({
  example: path,
  run: tests(new RegExp(`names\\.test\\.mjs ${path.replaceAll('.', '\\.')}|${also}`)),
})

async function packageFields({ documents }) {
  const asked = JSON.parse(documents['000'].block('### package.json'))
  const has = JSON.parse(readFileSync(join(root, 'packages/mcp/package.json'), 'utf8'))
  const path = (text) => join('.', text)
  for (const field of ['name', 'version', 'type', 'keywords', 'publishConfig'])
    assert.deepEqual(has[field], asked[field])
  for (const field of ['main', 'types']) assert.equal(path(has[field]), path(asked[field]))
  for (const field of ['bin', 'exports', 'scripts'])
    for (const name of Object.keys(asked[field])) assert.ok(name in has[field], `${field} has no ${name}`)
  const without = Object.keys(asked.dependencies).filter((name) => !(name in has.dependencies))
  const other = ['description', 'peerDependencies'].filter((field) => has[field] !== asked[field])
  return without.length + other.length === 0
    ? undefined
    : `other ${other.join(' and ')}; not needed: ${without.join(', ')}`
}

async function integrationTest({ place, documents }) {
  const world = new World(place, 'whole')
  const packages = join(world.place, 'packages')
  try {
    await makePackages(packages, filesOf(documents['000']), (name, path) => name === 'ours' && path === integration)
    const results = await tested(world, packages)
    assert.equal(results.length, 1)
    for (const { test, isPassed, why } of results) assert.ok(isPassed, `${test}: ${why}`)
    const { all } = await world.sh(`ps -eo args | grep -F '${world.place}' | grep -v grep; agent-relay daemon status`)
    assert.match(all, /not running/i, `something is left: ${all}`)
  } finally {
    await world.close()
  }
}

export const examples = [
  { example: 'package.json', expected: 'with a change', run: packageFields },
  ...['send', 'spawn', 'release', 'inbox', 'who', 'status'].map((name) => file(`src/tools/relay-${name}.ts`)),
  file('src/prompts/protocol.ts'),
  ...['agents', 'inbox', 'project'].map((name) => file(`src/resources/${name}.ts`)),
  file('src/discover.ts'),
  file('src/client.ts', 'live\\.test\\.mjs its client'),
  file('src/errors.ts'),
  { example: 'src/index.ts and src/bin.ts', run: tests(/live\.test\.mjs its server/) },
  file('src/install-cli.ts'),
  { example: 'tests/tools.test.ts', run: tests(/tests\/tools\.test\.ts/) },
  { example: 'tests/discover.test.ts', run: tests(/tests\/discover\.test\.ts/) },
  { example: integration, run: integrationTest },
].map((example) => ({ document: '000', ...example }))
