// Runs the MCP conformance suite against a throw-away open relay, and fails where its outcome is not the expected one. Not part of `npm test`:
// it installs the suite, and the Node 22 that the suite needs, from npm.
// --next: the coming suite, for 2025-11-25 and 2026-07-28; its result is only told.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const isNext = process.argv.includes('--next')
const version = isNext ? '0.2.0-alpha.12' : '0.1.16'
const tools = join(root, 'node_modules/.cache/conformance', version)
const expected = join(root, 'test/conformance/expected-failures.yml')
const say = (text) => process.stdout.write(`${text}\n`)

/** Runs a program to its end; its output is shown as it comes, or kept. */
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

async function install() {
  if (existsSync(join(tools, 'node_modules/.bin/conformance'))) return
  say(`installing the conformance suite ${version} and Node 22 …`)
  mkdirSync(tools, { recursive: true })
  writeFileSync(join(tools, 'package.json'), '{"private":true}\n')
  const packages = ['node@22', `@modelcontextprotocol/conformance@${version}`]
  const { code, output } = await run('npm', ['install', '--prefix', tools, '--no-audit', '--no-fund', ...packages])
  if (code === 0) return
  rmSync(tools, { recursive: true, force: true })
  throw new Error(`npm could not install it:\n${output}`)
}

async function startRelay(dir) {
  const { Daemon } = await import('../packages/relay/dist/daemon.js')
  const daemon = await Daemon.start({
    dataDir: dir,
    credentialsPath: join(dir, 'credentials.json'),
    isMemory: true,
    http: { port: 0, isOpen: true, home: 'conformance' },
    onTrouble: (error) => say(`the relay had trouble: ${error.stack}`),
    onStop: () => {},
  })
  await daemon.open('conformance')
  return daemon
}

function conform(url, results, ...options) {
  const node = join(tools, 'node_modules/node/bin/node')
  const suite = join(tools, 'node_modules/.bin/conformance')
  // By name: the suite's own check of the Host header starts from the URL it was given.
  const address = `${url.replace('127.0.0.1', 'localhost')}/mcp`
  return run(node, [suite, 'server', '--url', address, '-o', results, ...options], { cwd: results })
}

/** From the heading of its summary on; all of it where there is none. */
function summary(output) {
  const at = output.lastIndexOf('=== SUMMARY ===')
  return (at < 0 ? output : output.slice(at)).trimEnd()
}

await install()
const dir = mkdtempSync(join(tmpdir(), 'relay-conformance-'))
const daemon = await startRelay(dir)
let failed = false
try {
  if (isNext) {
    for (const revision of ['2025-11-25', '2026-07-28']) {
      const { output } = await conform(daemon.url, dir, '--requirements', revision)
      say(`\n--- ${version}, ${revision}\n${summary(output)}`)
    }
  } else {
    const { code, output } = await conform(daemon.url, dir, '--expected-failures', expected)
    say(`--- ${version}\n${summary(output)}`)
    failed = code !== 0
  }
} finally {
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0
