// A data directory, a home and a project of their own for tests of the command line, and two ways to run a command in them: here, which takes
// no time, and by the real launcher. No tests.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { refreshLauncher } from '@agent-relay/mcp/launcher'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { spawn as spawnPty } from '@lydell/node-pty'
import { until } from '../../../../test/until.ts'
import { loginName } from '../../src/cli/connection.ts'
import { type CommandShell, runCommandLine } from '../../src/cli/main.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { isDaemonRunning } from '../../src/daemon/inspect.ts'

export const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))
export const pipeLauncher = fileURLToPath(new URL('../../../mcp/bin/agent-relay-mcp.cjs', import.meta.url))

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** A command that takes longer than a second says so: that depends on the machine, and no test is about it. */
export function withoutWaiting(stderr: string): string {
  return stderr.replace(/^.* …\n/gm, '')
}

/** What is printed to be pasted, as a shell takes it apart. */
export function shellWords(text: string): string[] {
  return execFileSync('sh', ['-c', `printf '%s\\0' ${text}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)
}

interface Where {
  cwd?: string
  env?: Record<string, string | undefined>
  input?: string
  /** The width of the terminal to which the command prints; unset for a pipe. */
  columns?: number
}

export class World {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'cli-')))
  readonly dataDir: string
  readonly cwd = this.directory('app')
  readonly #running = new Set<Running>()
  #daemon: Daemon | undefined

  /** `dataDir`: one that somebody else has made, whose daemon is not ended here. */
  constructor(dataDir?: string) {
    this.dataDir = dataDir ?? join(this.root, 'data')
    // As after a global install.
    symlinkSync(launcher, join(this.directory('home/.local/bin'), 'agent-relay'))
  }

  directory(name: string): string {
    const path = join(this.root, name)
    mkdirSync(path, { recursive: true })
    return path
  }

  /** Runs a command to its end in this process. Not for one that reads stdin, waits for a signal, or becomes a daemon. */
  async run(args: string[], { cwd = this.cwd, env = {}, columns }: Omit<Where, 'input'> = {}): Promise<Ran> {
    const [stdout, stderr] = [new Kept(), new Kept()]
    if (columns !== undefined) Object.assign(stdout, { isTTY: true, columns })
    const shell = { stdout, stderr, cwd, env: { ...this.#env(), ...env } } as unknown as CommandShell
    const code = await runCommandLine([process.execPath, launcher, ...args], shell)
    return { code, stdout: stdout.text, stderr: withoutWaiting(stderr.text) }
  }

  /** Runs the real launcher to its end, in a process of its own. */
  async launch(args: string[], where: Where = {}): Promise<Ran> {
    const running = this.start(args, where)
    running.child.stdin?.end(where.input ?? '')
    const ran = await running.ended
    return { ...ran, stderr: withoutWaiting(ran.stderr) }
  }

  /** A daemon in this process, in which the workspace of `cwd` is open as after `daemon start`. */
  async serve(more: Record<string, string> = {}): Promise<void> {
    const env = { ...this.#env(), ...more }
    const { dataDir } = this
    this.#daemon = await Daemon.start({
      dataDir,
      env,
      credentialsPath: join(dataDir, 'credentials.json'),
      human: loginName(),
      http: { port: 0 },
      onStop: () => void this.#endDaemon(),
      onTrouble: () => {},
    })
    refreshLauncher(env)
    const { code, stderr } = await this.run(['daemon', 'start'])
    if (code !== 0) throw new Error(stderr)
  }

  async #endDaemon(): Promise<void> {
    const daemon = this.#daemon
    this.#daemon = undefined
    await daemon?.stop()
  }

  async json<T = Record<string, unknown>>(args: string[], where: Where = {}): Promise<T> {
    const way = where.input === undefined ? 'run' : 'launch'
    const { code, stdout, stderr } = await this[way]([...args, '--json'], where)
    if (code !== 0) throw new Error(`agent-relay ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout) as T
  }

  /** The real launcher on a terminal, and what it has shown there so far. */
  atTerminal(args: string[], cwd = this.cwd): { shown(): string; end(): Promise<unknown> } {
    let shown = ''
    const terminal = spawnPty(process.execPath, [launcher, ...args], {
      cwd,
      env: { ...this.#env(), NO_COLOR: '1' },
      cols: 100,
    })
    terminal.onData((data) => {
      shown += data
    })
    const ended = new Promise((resolve) => terminal.onExit(resolve))
    const end = () => {
      terminal.kill('SIGTERM')
      return ended
    }
    return { shown: () => shown, end }
  }

  start(args: string[], { cwd = this.cwd, env = {} }: Where = {}): Running {
    const child = spawn(process.execPath, [launcher, ...args], { cwd, env: { ...this.#env(), ...env } })
    const running = new Running(child)
    this.#running.add(running)
    void running.ended.then(() => this.#running.delete(running))
    return running
  }

  /** A line as a person types it. */
  async shell(line: string): Promise<Ran> {
    return new Running(spawn('sh', ['-c', line], { cwd: this.cwd, env: this.#env() })).ended
  }

  /** Ends every process that was started here, the daemon included. */
  async close(): Promise<void> {
    await this.#endDaemon()
    const isOwn = this.dataDir.startsWith(this.root)
    if (isOwn && existsSync(join(this.dataDir, 'control.sock'))) await this.#stopDaemon()
    for (const { child, ended } of this.#running) {
      child.kill('SIGKILL')
      await ended
    }
    rmSync(this.root, { recursive: true, force: true })
  }

  /** As `agent-relay daemon stop` does, without starting the command line for it. A socket may also be one that nobody answers at. */
  async #stopDaemon(): Promise<void> {
    const control = await RawConnection.connectAs(join(this.dataDir, 'control.sock')).catch(() => undefined)
    if (!control) return
    await control.call('daemon.stop', {})
    await control.end()
    await until(() => !isDaemonRunning(this.dataDir))
  }

  get env(): Record<string, string | undefined> {
    return this.#env()
  }

  #env(): Record<string, string | undefined> {
    return {
      PATH: `${join(this.root, 'home/.local/bin')}:${process.env.PATH}`,
      HOME: join(this.root, 'home'),
      TMPDIR: this.root,
      RELAY_DATA_DIR: this.dataDir,
      RELAY_PORT: '0',
      TZ: 'UTC',
    }
  }
}

/** A stream that nobody shows. */
class Kept extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk
    done()
  }
}

export class Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ran>
  stdout = ''
  stderr = ''

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.on('data', (chunk) => {
      this.stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      this.stderr += chunk
    })
    // Ends by itself when it wants no input.
    child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr }))
    })
  }

  /** Resolves when its output, of both streams, matches. */
  async says(pattern: RegExp): Promise<void> {
    let isOver = false
    void this.ended.then(() => {
      isOver = true
    })
    await until(() => {
      const isSaid = pattern.test(this.stdout) || pattern.test(this.stderr)
      if (isOver && !isSaid) throw new Error(`it ended without saying ${pattern}: ${this.stdout}${this.stderr}`)
      return isSaid
    })
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<Ran> {
    this.child.kill(signal)
    return this.ended
  }
}
