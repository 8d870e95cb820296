// Makes a fixture: `node make.mjs CHECKOUT SCHEMA [kill]`. The build of that checkout writes a data directory through its own daemon and client, and is
// asked what is in it (questions.mjs). README.md says which commit each fixture is from.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { brotliCompressSync, constants } from 'node:zlib'
import { fill } from './fill.mjs'
import { askAll } from './questions.mjs'

const [checkout, schema, isKilled] = [resolve(process.argv[2]), process.argv[3], process.argv[4] === 'kill']
const root = realpathSync(mkdtempSync(join(tmpdir(), `released-${schema}-`)))
const from = (...path) => join(checkout, ...path)
const { RelayClient } = await import(from('packages/sdk/dist/index.js'))
const { operations } = await import(from('packages/sdk/dist/protocol/index.js'))
const dataDir = join(root, 'data')
const env = { PATH: process.env.PATH, HOME: join(root, 'home'), RELAY_DATA_DIR: dataDir, RELAY_PORT: '0' }
const project = join(root, 'app')
for (const each of [env.HOME, project]) mkdirSync(each, { recursive: true })
execFileSync('git', ['init', '-q', project])

function relay(...args) {
  return execFileSync(process.execPath, [from('packages/relay/bin/agent-relay.cjs'), ...args], {
    ...{ env, cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  })
}
let daemon
function start() {
  relay('daemon', 'start', '--no-http')
  daemon = JSON.parse(relay('daemon', 'status', '--json')).pid
}

async function end(signal) {
  const pid = daemon
  daemon = undefined
  if (pid === undefined) return
  process.kill(pid, signal)
  while (existsSync(`/proc/${pid}`)) await pause(20)
}
/** The key of the workspace that a build has made for the directory in which its daemon was started. */
function keyOf(workspace) {
  const { workspaces } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  return Object.values(workspaces).find(({ name }) => name === workspace).key
}
const has = (op) => Object.hasOwn(operations, op)
const clients = []
function enter(workspace, agentName, more = {}) {
  const client = new RelayClient({
    cwd: project,
    env: { ...env, RELAY_PROJECT: workspace },
    agentName,
    autoConnect: false,
    ...more,
  })
  client.on('error', (error) => console.error(agentName, error.message))
  clients.push(client)
  return client.connect().then(() => client)
}

/** The answers of the daemon that runs now. */
async function ask(workspaces) {
  const answers = {}
  for (const [name, { key, agents }] of Object.entries(workspaces)) {
    const client = await enter(name, 'auditor', { agentType: 'human', key })
    answers[name] = await askAll((op, input) => (has(op) ? client.call(op, input) : undefined), agents)
    await client.disconnect()
  }
  return answers
}

start()
process.once('exit', () => end('SIGKILL'))
const workspaces = await fill({ enter, relay, has, keyOf, project, pause })
await end(isKilled ? 'SIGKILL' : 'SIGTERM')
await Promise.all(clients.splice(0).map((client) => client.disconnect()))
const fixture = join(root, 'fixture')
mkdirSync(fixture)
cpSync(dataDir, join(fixture, 'data'), {
  recursive: true,
  filter: (path) => !/\.(sock|log|lock)$|relay\.json$|data\/bin$/.test(path),
})

// What is asked of the files as they are, before any daemon has opened them again.
const { DatabaseSync } = createRequire(from('packages/relay/package.json'))('@photostructure/sqlite')
for (const [name, each] of Object.entries(workspaces)) {
  cpSync(join(fixture, 'data/projects', name), join(root, 'look', name), { recursive: true })
  const database = new DatabaseSync(join(root, 'look', name, 'relay.db'))
  each.seq = database.prepare('SELECT max(seq) AS seq FROM journal').get().seq
  each.schema = database.prepare('PRAGMA user_version').get().user_version
  database.close()
}
start()
const said = { at: Date.now(), workspaces, answers: await ask(workspaces) }
await end('SIGTERM')
writeFileSync(join(fixture, 'said.json'), JSON.stringify(said))
const file = resolve(`schema-${schema}${isKilled ? '-killed' : ''}.tar.br`)
const tar = execFileSync('tar', ['-C', fixture, '--sort=name', '--owner=0', '--group=0', '-cf', '-', '.'], {
  maxBuffer: 2 ** 28,
})
writeFileSync(file, brotliCompressSync(tar, { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } }))
console.log(file, readFileSync(file).length, JSON.stringify(workspaces))
execFileSync('find', [fixture, '-type', 'f', '-printf', '%s %P\n'], { stdio: 'inherit' })
if (!process.env.KEEP) rmSync(root, { recursive: true })
else console.log(root)
