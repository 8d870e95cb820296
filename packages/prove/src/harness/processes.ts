// The daemon processes and folders of a trial. Each daemon is ended by its own process id and each folder is removed, also if the trial fails or is cut short.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callOnce } from './raw.ts'
import type { TriedRelay } from './tried-relay.ts'

export const trialProject = 'crash'
/** The built JavaScript file of the daemon's process; tests start it too, although they themselves run from the sources. */
const daemonPath = fileURLToPath(new URL('../../dist/harness/daemon.js', import.meta.url))

/** What the caller of a trial passes in: the relay to try, and the means to cancel and to watch the trial. */
export interface TrialOptions {
  relay: TriedRelay
  /** Aborting this signal cuts the trial short. */
  signal?: AbortSignal
  /** Called with the progress of the trial. */
  onProgress?(text: string): void
}

export interface ProcessExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/**
 * Started daemons and commands that still live. If this process runs out of time or is told twice to end, it cannot clean up in the usual way: its exit handler then kills
 * these processes and removes the folders.
 */
const alive = new Set<DaemonProcess>()
const commands = new Set<ChildProcess>()
const folders = new Set<string>()
process.on('exit', () => {
  for (const daemon of alive) {
    daemon.kill('SIGKILL')
    daemon.child.kill('SIGKILL')
  }
  for (const command of commands) command.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})

/** How a command of the relay ended. */
export interface CommandResult extends ProcessExit {
  ms: number
  output: string
  errors: string
}

interface CommandOptions {
  /** The data directory that the command works in; that of the trial where it is left out. */
  dataDir?: string
  env?: NodeJS.ProcessEnv
  input?: string
  /** Kills the command after this time, if it has not ended by then. */
  killMs?: number
}

/** A daemon process that was started: it lives, but is not necessarily ready. */
export class DaemonProcess {
  readonly child: ChildProcess
  readonly exited: Promise<ProcessExit>
  /** Resolves when the daemon serves; rejects if the daemon ends before. */
  readonly ready: Promise<void>
  /** The daemon's own process id. Under strace, the child process is strace, so the two ids differ. */
  pid: number | undefined
  /** The daemon's HTTP address; empty if the daemon serves no HTTP. */
  url = ''
  #log = ''

  /** `opens`: whether to open the trial's workspace once the daemon runs. In a new data directory, this makes the workspace. */
  constructor(child: ChildProcess, controlPath: string, opens: boolean) {
    this.child = child
    this.pid = child.pid
    alive.add(this)
    child.once('exit', () => alive.delete(this))
    // `close` comes after the process's last output; `exit` may come before it.
    this.exited = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
    this.ready = new Promise((resolve, reject) => {
      child.once('exit', (code, signal) => reject(new Error(`ended (${signal ?? code}): ${this.errors}`)))
      let isUp = false
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text
        const pid = / runs, pid (\d+)/.exec(this.#log)?.[1]
        if (pid === undefined || isUp) return
        isUp = true
        this.pid = Number(pid)
        this.url = / (http:\S+)/.exec(this.#log)?.[1] ?? ''
        if (opens) openWorkspace(controlPath).then(resolve, reject)
        else resolve()
      })
    })
    // Without this handler, a trial that does not await `ready` would end with an unhandled rejection.
    this.ready.catch(() => {})
  }

  /** The daemon's log without the lines that every start and stop writes; empty if nothing went wrong. */
  get errors(): string {
    const usual = /^\S+ (agent-relay \S+ runs, .*|stopping|stopped)$/
    return this.#log
      .split('\n')
      .filter((line) => line !== '' && !usual.test(line))
      .join('\n')
  }

  kill(signal: NodeJS.Signals): void {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    if (this.pid !== undefined && this.pid !== this.child.pid) killQuietly(this.pid, signal)
    else this.child.kill(signal)
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<ProcessExit> {
    this.kill(signal)
    return await this.exited
  }

  /** Stops the daemon with SIGTERM, as its owner would; throws if its exit code is not 0. */
  async stop(): Promise<void> {
    const { code, signal } = await this.end('SIGTERM')
    if (code !== 0) throw new Error(`the daemon ended with ${signal ?? code}: ${this.errors}`)
  }

  rssMb(): number {
    return residentMb(this.pid)
  }

  descriptors(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length
  }
}

/** The daemons and files of one trial; `dispose` ends the daemons and removes the files. */
export class Trial {
  readonly #started: DaemonProcess[] = []
  readonly #cleanUps: (() => unknown)[] = []
  readonly #onProgress: TrialOptions['onProgress']
  readonly relay: TriedRelay
  readonly dataDir: string
  /** Whether the trial is over: from then on nothing may be started or sent. */
  isOver = false

  constructor({ relay, onProgress }: TrialOptions) {
    this.relay = relay
    this.#onProgress = onProgress
    this.dataDir = mkdtempSync(join(tmpdir(), 'relay-prove-'))
    folders.add(this.dataDir)
  }

  /** Reports progress; a trial that reports nothing for long counts as stuck. */
  reportProgress(text: string): void {
    this.#onProgress?.(text)
  }

  /**
   * Starts a daemon. `wrapper` is a program that runs the daemon, such as strace with its options; `hasOwnFileSystem` says that this program gives the daemon a file
   * system of its own. `opens`: whether the daemon opens the trial's workspace.
   */
  spawnDaemon({
    wrapper = [] as string[],
    nodeArgs = [] as string[],
    hasOwnFileSystem = false,
    hasHttp = false,
    opens = true,
  } = {}): DaemonProcess {
    if (this.isOver) throw new Error('the trial is over')
    const http = hasHttp ? ['--port', '0', '--home', trialProject] : []
    const [command, ...args] = [...wrapper, process.execPath, ...nodeArgs, daemonPath, this.relay.launcher, ...http]
    const env = { ...environmentWithoutRelay(), RELAY_DATA_DIR: this.dataDir }
    const child = spawn(command as string, args, { env, stdio: ['pipe', 'ignore', 'pipe'] })
    const root = hasOwnFileSystem ? `/proc/${child.pid}/root` : ''
    const daemon = new DaemonProcess(child, join(root, this.controlPath), opens)
    this.#started.push(daemon)
    return daemon
  }

  async startDaemon(options: Parameters<Trial['spawnDaemon']>[0] = {}): Promise<DaemonProcess> {
    const daemon = this.spawnDaemon(options)
    await daemon.ready
    return daemon
  }

  /** Runs a command of the relay, as a person types it, to its end. */
  async runCommand(args: string[], options: CommandOptions = {}): Promise<CommandResult> {
    if (this.isOver) throw new Error('the trial is over')
    const { dataDir = this.dataDir, env: more = {}, input = '', killMs } = options
    const env = { ...environmentWithoutRelay(), RELAY_DATA_DIR: dataDir, HOME: dataDir, ...more }
    const from = performance.now()
    const child = spawn(process.execPath, [this.relay.launcher, ...args], { env, cwd: dataDir, stdio: 'pipe' })
    commands.add(child)
    const said = { output: '', errors: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.errors += text
    })
    child.stdin.on('error', () => {}).end(input)
    const exited = new Promise<ProcessExit>((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal })),
    )
    this.onDispose(async () => {
      child.kill('SIGKILL')
      await exited
    })
    const timer = killMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killMs)
    const exit = await exited
    clearTimeout(timer)
    commands.delete(child)
    return { ...exit, ...said, ms: performance.now() - from }
  }

  /** The daemon's control socket, which is for the daemon's owner alone. */
  get controlPath(): string {
    return join(this.dataDir, 'control.sock')
  }

  get socketPath(): string {
    return join(this.dataDir, 'projects', trialProject, 'daemon.sock')
  }

  get databasePath(): string {
    return databasePathIn(this.dataDir)
  }

  /** The key of the trial's workspace, read from the owner's credentials file. */
  get key(): string {
    const { workspaces } = JSON.parse(readFileSync(join(this.dataDir, 'credentials.json'), 'utf8'))
    return (
      (Object.values(workspaces) as { name: string; key: string }[]).find(({ name }) => name === trialProject)?.key ??
      ''
    )
  }

  onDispose(cleanUp: () => unknown): void {
    this.#cleanUps.unshift(cleanUp)
  }

  async dispose(): Promise<void> {
    this.isOver = true
    for (const daemon of this.#started) {
      daemon.kill('SIGKILL')
      // Under strace, the child process is strace itself and not the daemon.
      if (daemon.child.exitCode === null && daemon.child.signalCode === null) daemon.child.kill('SIGKILL')
    }
    await Promise.all(this.#started.map(({ exited }) => exited))
    for (const cleanUp of this.#cleanUps) await cleanUp()
    rmSync(this.dataDir, { recursive: true, force: true })
    folders.delete(this.dataDir)
  }
}

/**
 * Runs `work` in a new `Trial` (the daemons and files of a trial), and disposes of it in any case. If the trial is cut short, rejects with the
 * signal's reason after everything has been removed.
 */
export async function inTrial<T>(options: TrialOptions, work: (trial: Trial) => Promise<T>): Promise<T> {
  const { signal } = options
  signal?.throwIfAborted()
  const trial = new Trial(options)
  let cut = () => {}
  const isCut = new Promise<never>((_, reject) => {
    cut = () => reject(signal?.reason)
  })
  signal?.addEventListener('abort', cut)
  try {
    return await Promise.race([work(trial), isCut])
  } finally {
    signal?.removeEventListener('abort', cut)
    await trial.dispose()
  }
}

/** Returns the path of the database of the trial's workspace in a data directory. */
export function databasePathIn(dataDir: string): string {
  return join(dataDir, 'projects', trialProject, 'relay.db')
}

async function openWorkspace(controlPath: string): Promise<void> {
  const { type, payload } = await callOnce(controlPath, 'workspace.open', { workspace: trialProject })
  if (type !== 'ACK') throw new Error(`the workspace was not opened: ${JSON.stringify(payload)}`)
}

/** Returns this process's environment without the variables that would change a daemon's behaviour or lead a client to another daemon. */
export function environmentWithoutRelay(): NodeJS.ProcessEnv {
  const changes = /^(?:NODE_EXTRA_CA_CERTS|NODE_OPTIONS|VITEST|RELAY_.*)$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !changes.test(name)))
}

/** The resident memory of a process in MB; NaN on systems without `/proc`. */
export function residentMb(pid: number | undefined): number {
  const path = `/proc/${pid}/status`
  const status = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
}

function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has already ended.
  }
}

/** Whether the promise settles within `ms`. */
export async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const settled = work.then(
    () => true,
    () => true,
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
