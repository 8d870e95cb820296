// `node compile-light.mjs FOLDER FORM`: runs `who`, `send` and `inbox` of the joined files in FOLDER once, and writes to FORM what V8 has compiled of them then:
// half as much as all their functions, so that a command starts faster. The daemon that they need runs in this process too, and ends with it.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Script } from 'node:vm'

const [, , folder, form] = process.argv
const home = mkdtempSync(join(tmpdir(), 'agent-relay-build-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
const fail = () => process.exit(1)
setTimeout(fail, 5_000)
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.once(signal, fail)
Object.assign(process.env, { HOME: home, USERPROFILE: home, RELAY_DATA_DIR: home, RELAY_WATCH_SESSIONS: 'off' })
process.chdir(home)

/** Loads a joined file as bin/agent-relay.cjs does, under the name for stack traces that join-cli.mjs gives it. */
function load(name) {
  const filename = join(folder, `${name}.cjs`)
  const script = new Script(readFileSync(filename, 'latin1'), { filename: `agent-relay/dist/joined/${name}.cjs` })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(filename), module, filename)
  const run = async (...args) => {
    process.exitCode = 0
    await module.exports.main([process.execPath, 'agent-relay', ...args])
    return process.exitCode === 0
  }
  return { script, run }
}

const daemon = load('daemon')
void daemon.run('daemon', 'run', '--no-http').then(fail)
while (!(await daemon.run('daemon', 'status'))) await sleep(20)
const light = load('light')
for (const line of ['inbox --as Bob', 'send Bob hi --as Ann', 'inbox --as Bob', 'who --all'])
  if (!(await light.run(...line.split(' ')))) fail()
writeFileSync(`${form}.part`, light.script.createCachedData())
renameSync(`${form}.part`, form)
process.exit(0)
