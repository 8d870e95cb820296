// Child processes and folders of the crash tests: each is ended by its own process id and removed, also when a test fails.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Raw } from './raw.ts'

export const project = 'crash'
const daemonPath = fileURLToPath(new URL('daemon.mjs', import.meta.url))

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A test that runs out of time leaves no chance to clean up: whatever lives then ends with this process. */
const alive = new Set<DaemonProcess>()
process.on('exit', () => {
  for (const daemon of alive) {
    daemon.kill('SIGKILL')
    daemon.child.kill('SIGKILL')
  }
})

/** A started daemon: alive, but not necessarily ready. */
export class DaemonProcess {
  readonly child: ChildProcess
  readonly exited: Promise<Exit>
  /** Its workspace is open; rejects if it ends before. */
  readonly ready: Promise<void>
  /** Its own process id, which is not the child's under strace. */
  pid: number | undefined
  #log = ''

  constructor(child: ChildProcess, controlPath: string) {
    this.child = child
    this.pid = child.pid
    alive.add(this)
    this.exited = new Promise((resolve) =>
      child.once('exit', (code, signal) => {
        alive.delete(this)
        resolve({ code, signal })
      }),
    )
    this.ready = new Promise((resolve, reject) => {
      child.once('exit', (code, signal) => reject(new Error(`ended (${signal ?? code}): ${this.errors}`)))
      let isUp = false
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text
        const pid = / runs, pid (\d+)/.exec(this.#log)?.[1]
        if (pid === undefined || isUp) return
        isUp = true
        this.pid = Number(pid)
        openWorkspace(controlPath).then(resolve, reject)
      })
    })
    // Whoever waits for it hears of it; that nobody does is fine.
    this.ready.catch(() => {})
  }

  /** What it complained of; that it runs and stops is no complaint. */
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

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    this.kill(signal)
    return await this.exited
  }

  rssMb(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
  }
}

/** What a test started and made; `dispose` ends and removes all of it. */
export class Scene {
  readonly #started: DaemonProcess[] = []
  readonly #cleanUps: (() => unknown)[] = []
  readonly dataDir: string

  constructor(dataDir?: string) {
    this.dataDir = dataDir ?? mkdtempSync(join(tmpdir(), 'relay-crash-'))
    if (dataDir === undefined) this.onDispose(() => rmSync(this.dataDir, { recursive: true, force: true }))
  }

  /** `through` is a program that runs it, such as strace with its options; `isApart` if that gives it a file system of its own. */
  spawnDaemon({ through = [] as string[], nodeArgs = [] as string[], isApart = false } = {}): DaemonProcess {
    const [command, ...args] = [...through, process.execPath, ...nodeArgs, daemonPath]
    const env = { ...bareEnv(), RELAY_DATA_DIR: this.dataDir }
    const child = spawn(command as string, args, { env, stdio: ['pipe', 'ignore', 'pipe'] })
    const root = isApart ? `/proc/${child.pid}/root` : ''
    const daemon = new DaemonProcess(child, join(root, this.dataDir, 'control.sock'))
    this.#started.push(daemon)
    return daemon
  }

  async startDaemon(options: Parameters<Scene['spawnDaemon']>[0] = {}): Promise<DaemonProcess> {
    const daemon = this.spawnDaemon(options)
    await daemon.ready
    return daemon
  }

  get socketPath(): string {
    return join(this.dataDir, 'projects', project, 'daemon.sock')
  }

  get databasePath(): string {
    return join(this.dataDir, 'projects', project, 'relay.db')
  }

  onDispose(cleanUp: () => unknown): void {
    this.#cleanUps.unshift(cleanUp)
  }

  async dispose(): Promise<void> {
    for (const daemon of this.#started) {
      daemon.kill('SIGKILL')
      // Under strace the tracer is another process.
      if (daemon.child.exitCode === null && daemon.child.signalCode === null) daemon.child.kill('SIGKILL')
    }
    await Promise.all(this.#started.map(({ exited }) => exited))
    for (const cleanUp of this.#cleanUps) await cleanUp()
  }
}

export async function inScene<T>(work: (scene: Scene) => Promise<T>, dataDir?: string): Promise<T> {
  const scene = new Scene(dataDir)
  try {
    return await work(scene)
  } finally {
    await scene.dispose()
  }
}

async function openWorkspace(controlPath: string): Promise<void> {
  const control = await Raw.as(controlPath)
  const { type, payload } = await control.call('workspace.open', { workspace: project })
  await control.end()
  if (type !== 'ACK') throw new Error(`the workspace was not opened: ${JSON.stringify(payload)}`)
}

/** Nothing of the tests' own surroundings reaches a daemon. */
export function bareEnv(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, VITEST: ___, ...rest } = process.env
  return rest
}

function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended by itself.
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** True as soon as `isSo` is; false after `ms`. */
export async function until(isSo: () => boolean, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms
  while (!isSo()) {
    if (performance.now() > deadline) return false
    await sleep(10)
  }
  return true
}
