// A reader who follows one page, in a HOME of their own, as if all of it were installed there. No tests.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { socketConnector } from '@agent-relay/sdk/wire'
import { isDaemonRunning } from '../../packages/relay/src/daemon/inspect.ts'
import { isAlive } from '../is-alive.ts'
import { until } from '../until.ts'
import type { Step } from './runnable.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Started {
  child: ChildProcess
  output: string
}

export class Reader {
  readonly home = realpathSync(mkdtempSync(join(tmpdir(), 'docs-')))
  readonly env: Record<string, string>
  /** What goes on running until the page has ended. */
  readonly #staying: ChildProcess[] = []

  constructor() {
    mkdirSync(join(this.home, 'bin'))
    mkdirSync(join(this.home, 'app'))
    // As if it were installed: the commands by their names, the packages beside the program.
    for (const [name, file] of [
      ['agent-relay', 'packages/relay/bin/agent-relay.cjs'],
      ['agent-relay-mcp', 'packages/mcp/bin/agent-relay-mcp.cjs'],
    ] as const) {
      symlinkSync(join(root, file), join(this.home, 'bin', name))
    }
    // As if it were the checkout: `npm start` runs there.
    for (const name of ['node_modules', 'package.json', 'scripts', 'packages'])
      symlinkSync(join(root, name), join(this.home, 'app', name))
    symlinkSync(join(root, 'packages/relay/bin/agent-relay.cjs'), join(this.home, 'app', 'agent-relay'))
    // An editor to connect.
    mkdirSync(join(this.home, '.cursor'))
    const PATH = `${join(this.home, 'bin')}:${process.env.PATH}`
    const own = { PATH, HOME: this.home, TMPDIR: this.home, USER: 'kim', RELAY_PORT: '0', TZ: 'UTC' }
    // npm does not ask the network for a newer npm.
    this.env = { ...own, npm_config_update_notifier: 'false' }
  }

  follow({ kind, text, stays, line }: Step): Promise<{ code: number | null; output: string }> {
    if (kind === 'command') return stays ? this.#stay(text, /^ready\./m) : this.#run(text)
    const file = `program-${line}.mjs`
    writeFileSync(join(this.home, 'app', file), text)
    const command = `"${process.execPath}" ${file}`
    return stays ? this.#stay(command, /\n/) : this.#run(command)
  }

  #start(command: string): Started {
    // A group of its own, so that all of it can be ended: npm starts a shell, and that starts Node.
    const cwd = join(this.home, 'app')
    const options: SpawnOptions = { cwd, env: this.env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }
    const started = { child: spawn('bash', ['-c', command], options), output: '' }
    for (const stream of [started.child.stdout, started.child.stderr])
      stream?.on('data', (chunk) => {
        started.output += chunk
      })
    return started
  }

  #run(command: string): Promise<{ code: number | null; output: string }> {
    const started = this.#start(command)
    return new Promise((resolve) => started.child.once('close', (code) => resolve({ code, output: started.output })))
  }

  /** A program is ready when it has printed a line, a relay when it says so. */
  async #stay(command: string, sign: RegExp): Promise<{ code: number | null; output: string }> {
    const started = this.#start(command)
    this.#staying.push(started.child)
    await until(() => started.child.exitCode !== null || sign.test(started.output))
    return { code: started.child.exitCode ?? 0, output: started.output }
  }

  /** Ends all that still runs, and waits for it: it may write into what is removed. */
  async leave(): Promise<void> {
    for (const { pid } of this.#staying) {
      if (pid === undefined || !isAlive(pid)) continue
      process.kill(-pid)
      await until(() => !isAlive(pid))
    }
    const files = readdirSync(this.home, { recursive: true, withFileTypes: true })
    for (const { name, parentPath } of files) if (name === 'control.sock') await stopDaemon(join(parentPath, name))
    rmSync(this.home, { recursive: true, force: true })
  }
}

async function stopDaemon(socketPath: string): Promise<void> {
  // It may have ended without removing its socket.
  const control = await socketConnector(socketPath)({}).catch(() => undefined)
  if (!control) return
  // It may be stopping already.
  await control.call('daemon.stop', {}, 'c_stop').catch(() => {})
  await control.close()
  await until(() => !isDaemonRunning(dirname(socketPath)))
}
