// Runs the MCP conformance suite against a throw-away open relay, and fails where its outcome is not the expected one. Not part of `npm test`:
// it installs the suite from npm, and the Node 22 that the suite needs where this is an older one.
// --next: the coming suite, for 2025-11-25 and 2026-07-28; its result is only shown.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installNode } from './install-node.mjs'
import { installTool } from './install-tool.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const isNext = process.argv.includes('--next')
const version = isNext ? '0.2.0-alpha.12' : '0.1.16'
const expected = join(root, 'test/conformance/expected-failures.yml')
const say = (text) => process.stdout.write(`${text}\n`)

/** Installs the suite, and a Node that is new enough for it. */
function install() {
  try {
    const suite = join(installTool(`@modelcontextprotocol/conformance@${version}`), '.bin/conformance')
    const isOld = Number.parseInt(process.versions.node, 10) < 22
    return { suite, node: isOld ? join(installNode(22), 'node') : process.execPath }
  } catch (error) {
    say(`The conformance suite cannot run here: ${error.message}`)
    process.exit(1)
  }
}

/** Runs a program to its end and keeps its output. */
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

async function startRelay(dir) {
  const { Daemon } = await import('../packages/relay/dist/daemon/daemon.js')
  const daemon = await Daemon.start({
    dataDir: dir,
    credentialsPath: join(dir, 'credentials.json'),
    isMemory: true,
    http: { port: 0, isOpen: true, home: 'conformance' },
    onTrouble: (error) => say(`the relay failed: ${error.stack}`),
    onStop: () => {},
  })
  await daemon.open('conformance')
  return daemon
}

function conform(url, results, ...options) {
  // The URL has a host name, because the suite's own check of the Host header starts from the URL it was given.
  const address = `${url.replace('127.0.0.1', 'localhost')}/mcp`
  return run(node, [suite, 'server', '--url', address, '-o', results, ...options], { cwd: results })
}

/** The suite's output from the heading of its summary on; all of it where there is no summary. */
function summary(output) {
  const at = output.lastIndexOf('=== SUMMARY ===')
  return (at < 0 ? output : output.slice(at)).trimEnd()
}

const { suite, node } = install()
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
