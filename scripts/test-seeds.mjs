// `npm run test:seeds -- DIR`: runs the code of the document that asked for the MCP package, as it is written there, against a relay of this
// checkout. DIR holds the documents; nothing of their text is in this repository. Not part of `npm test`: it installs the SDK of MCP from npm.
//
//   own/   the document's sources and tests, and test/seeds/live.mjs, which drives its client and its server
//   ours/  the document's tests over our package
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { installTool } from './install-tool.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const mcpSdk = '@modelcontextprotocol/sdk@1.32.2'
/** Longer than a relay waits for a connection to introduce itself. */
const testTimeout = 60_000
/** It starts a relay of its own, which is tried with the commands. */
const leftOut = ['tests/integration.test.ts']

/** The files that the document shows: blocks of code whose first line is a comment with their path. */
function filesOf(text) {
  const blocks = text.matchAll(/^```typescript\n\/\/ ((?:src|tests)\/[\w./-]+)\n([\s\S]*?)^```$/gm)
  return [...blocks].map(([, path, code]) => ({ path, code })).filter(({ path }) => !leftOut.includes(path))
}

function documentIn(folder) {
  const files = readdirSync(folder).map((name) => filesOf(readFileSync(join(folder, name), 'utf8')))
  return files.find((found) => found.some(({ path }) => path === 'src/client.ts'))
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** The document names these lists and does not show them. */
function writeLists(folder) {
  for (const list of ['tools', 'resources', 'prompts']) {
    const names = readdirSync(join(folder, 'src', list)).map((name) => `./${basename(name, '.ts')}.js`)
    write(join(folder, 'src', list, 'index.ts'), names.map((name) => `export * from '${name}'\n`).join(''))
  }
}

/** As if all of it were installed there. */
function link(place) {
  const modules = installTool(mcpSdk)
  const own = readdirSync(join(root, 'node_modules/@agent-relay')).map((name) => `@agent-relay/${name}`)
  for (const [from, names] of [
    [join(root, 'node_modules'), [...own, 'vitest', 'zod']],
    [modules, ['@modelcontextprotocol/sdk']],
  ])
    for (const name of names) {
      mkdirSync(dirname(join(place, 'node_modules', name)), { recursive: true })
      symlinkSync(join(from, name), join(place, 'node_modules', name))
    }
}

async function makePackages(place, files) {
  for (const { path, code } of files) write(join(place, 'own', path), code)
  writeLists(join(place, 'own'))
  cpSync(join(root, 'test/seeds/live.mjs'), join(place, 'own/tests/live.test.mjs'))
  for (const { path, code } of files) if (path.startsWith('tests/')) write(join(place, 'ours', path), code)
  for (const path of ['src/tools/index.ts', 'src/discover.ts', 'src/index.ts'])
    write(join(place, 'ours', path), "export * from '@agent-relay/mcp'\n")
  write(join(place, 'package.json'), '{"private":true,"type":"module"}\n')
  const projects = ['own', 'ours'].map((name) => ({
    test: { name, root: join(place, name), include: ['tests/**'], testTimeout },
  }))
  write(join(place, 'vitest.config.mjs'), `export default ${JSON.stringify({ test: { projects } })}\n`)
  link(place)
  const entryPoints = ['bin', 'index'].map((name) => join(place, `own/src/${name}.ts`))
  const output = { outdir: join(place, 'own/dist'), format: 'esm', platform: 'node', logLevel: 'error' }
  await build({ entryPoints, bundle: true, splitting: true, packages: 'external', ...output })
}

const folder = process.argv[2]
const files = folder && existsSync(folder) ? documentIn(folder) : undefined
if (!files) {
  const why = folder
    ? `${folder} holds no document with the MCP package's code`
    : 'it takes the folder of the documents'
  process.stderr.write(`test:seeds: ${why}. npm run test:seeds -- DIR\n`)
  process.exit(1)
}
const place = mkdtempSync(join(tmpdir(), 'seeds-'))
const env = { PATH: process.env.PATH, HOME: join(place, 'home'), RELAY_PROJECT: 'seeds', RELAY_PORT: '0' }
const node = (args, stdio) => spawnSync(process.execPath, args, { cwd: join(place, 'own'), env, stdio }).status
const relay = join(root, 'packages/relay/bin/agent-relay.cjs')
let code = 1
try {
  mkdirSync(env.HOME)
  await makePackages(place, files)
  code = node([relay, 'daemon', 'start', '--quiet'], 'inherit')
  if (code === 0) code = node([join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', place], 'inherit')
} finally {
  node([relay, 'daemon', 'stop'], 'ignore')
  rmSync(place, { recursive: true, force: true })
}
process.exitCode = code ?? 1
