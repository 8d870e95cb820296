// The only composition root: takes the lock, opens workspaces and their sockets, and takes all of it down again in reverse.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketPath, isProjectName, projectDir, socketPathOf } from '@agent-relay/sdk/discover'
import { makeIds, type OutputOf, type WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { Control, type Controls } from './broker/control.ts'
import { Dispatch } from './broker/dispatch.ts'
import { LagMeter } from './broker/lag.ts'
import type { DaemonInfo } from './broker/surroundings.ts'
import { Workspace } from './broker/workspace.ts'
import { type Clock, systemClock } from './clock.ts'
import { setOwner } from './config.ts'
import { CredentialsFile } from './credentials-file.ts'
import { RefusalError } from './refusal-error.ts'
import { DaemonLock } from './store/lock.ts'
import { version } from './version.ts'
import type { HttpOptions, HttpWire } from './wires/http.ts'
import { ownersParty } from './wires/party.ts'
import { SocketWire } from './wires/socket.ts'

export interface DaemonOptions {
  dataDir: string
  credentialsPath: string
  /** Databases in memory: a throw-away relay. */
  isMemory?: boolean
  clock?: Clock
  /** Serve HTTP too. `home` is the workspace that a caller without a credential means. */
  http?: Omit<HttpOptions, 'onFault'> & { home?: string }
  /** Something of the owner's needs care, but the daemon goes on: one damaged workspace must not close the others. */
  onTrouble(error: Error): void
  /** Asked to stop over the control socket, or forced to by a failing disk. */
  onStop(reason: 'asked' | 'failed', error?: Error): void
}

interface Open {
  workspace: Workspace
  dispatch: Dispatch
  wire: SocketWire
}

/** Calls under way get this long to be answered when the daemon stops. */
const stopMs = 2_000

export class Daemon {
  readonly #options: DaemonOptions
  readonly #lock: DaemonLock
  readonly #clock: Clock
  readonly #ids: ReturnType<typeof makeIds>
  readonly #lag = new LagMeter()
  readonly #startedAt: number
  readonly #credentials: CredentialsFile
  readonly #open = new Map<string, Promise<Open>>()
  readonly #opened = new Map<string, Open>()
  #control: SocketWire | undefined
  #http: HttpWire | undefined
  #isStopping = false

  private constructor(options: DaemonOptions, lock: DaemonLock) {
    this.#options = options
    this.#lock = lock
    this.#clock = options.clock ?? systemClock
    this.#ids = makeIds(() => this.#clock.now())
    this.#startedAt = this.#clock.now()
    this.#credentials = new CredentialsFile(options.credentialsPath)
  }

  /** Undefined where another process is this data directory's daemon already. Opens again what was open when the last one ended. */
  static async start(options: DaemonOptions): Promise<Daemon | undefined> {
    mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
    const lock = DaemonLock.acquire(join(options.dataDir, 'relay.lock'))
    if (!lock) return undefined
    const daemon = new Daemon(options, lock)
    try {
      daemon.#http = await daemon.#listenHttp()
      for (const name of daemon.#lastOpen()) await daemon.open(name).catch((error: Error) => options.onTrouble(error))
      // Last: who gets an answer here finds everything else in place.
      const control = new Control(daemon.#controls(), version)
      daemon.#control = await SocketWire.listen(controlSocketPath(options.dataDir), control)
      return daemon
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  /** Whether some process is this data directory's daemon, even one that does not answer. */
  static isRunning(dataDir: string): boolean {
    const path = join(dataDir, 'relay.lock')
    if (!existsSync(path)) return false
    const lock = DaemonLock.acquire(path)
    lock?.release()
    return lock === undefined
  }

  /** Where HTTP is served; undefined where it is not. */
  get url(): string | undefined {
    return this.#http?.url
  }

  async open(name: string): Promise<{ entry: WorkspaceEntry; dispatch: Dispatch; created: boolean; key?: string }> {
    if (this.#isStopping) throw new RefusalError('daemon.stopping')
    const isNew = !existsSync(this.#databasePath(name))
    let key: string | undefined
    const opening =
      this.#open.get(name) ??
      this.#openNow(name).then((opened) => {
        key = opened.key
        return opened
      })
    this.#open.set(name, opening)
    try {
      const opened = await opening
      return { entry: this.#entry(name), dispatch: opened.dispatch, created: isNew && key !== undefined, key }
    } catch (error) {
      this.#open.delete(name)
      throw error
    }
  }

  /** Answers what is under way, tells the rest why, and frees the lock last. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const opened = [...this.#opened.values()]
    for (const { workspace } of opened) workspace.waits.stopAll()
    const wires = [this.#control, this.#http, ...opened.map(({ wire }) => wire)]
    const quiet = Promise.all(wires.map((wire) => wire?.quiet()))
    let timer: NodeJS.Timeout | undefined
    await Promise.race([quiet, new Promise((resolve) => (timer = setTimeout(resolve, stopMs)))])
    clearTimeout(timer)
    await this.#http?.close()
    for (const { wire, workspace } of opened) {
      await wire.close('daemon.stopping')
      workspace.close()
    }
    await this.#control?.close('daemon.stopping')
    this.#lag.stop()
    this.#lock.release()
  }

  async #listenHttp(): Promise<HttpWire | undefined> {
    const { http, onTrouble } = this.#options
    if (!http) return undefined
    const { HttpWire } = await import('./wires/http.ts')
    const worlds = { all: () => [...this.#opened.values()].map(({ dispatch }) => dispatch), home: () => http.home }
    return HttpWire.listen({ ...http, onFault: onTrouble }, worlds)
  }

  async #openNow(name: string): Promise<Open & { key?: string }> {
    const { dataDir, isMemory } = this.#options
    const directory = projectDir(dataDir, name)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const workspace = new Workspace({
      name,
      databasePath: isMemory ? ':memory:' : this.#databasePath(name),
      searchPath: isMemory ? ':memory:' : join(directory, 'search.db'),
      clock: this.#clock,
      ids: this.#ids,
      onFatal: (error) => this.#options.onStop('failed', error),
    })
    try {
      const key = await workspace.begin((id, made) => this.#credentials.put(id, name, made))
      const neighbours = { find: (other: string) => this.#opened.get(other)?.workspace, all: () => this.#workspaces() }
      const dispatch = new Dispatch(workspace, neighbours, this.#info())
      const wire = await SocketWire.listen(socketPathOf(dataDir, name), ownersParty(dispatch))
      const opened = { workspace, dispatch, wire }
      this.#opened.set(name, opened)
      this.#rememberOpen()
      return { ...opened, key }
    } catch (error) {
      workspace.close()
      throw error
    }
  }

  #controls(): Controls {
    return {
      'workspace.open': async ({ workspace, directory }) => {
        const { entry, created } = await this.open(workspace)
        if (directory !== undefined) setOwner(this.#options.dataDir, workspace, directory)
        return { ...entry, created }
      },
      'workspace.create': async ({ workspace }) => {
        const path = this.#databasePath(workspace)
        if (this.#opened.has(workspace) || existsSync(path))
          throw new RefusalError('workspace.exists', { workspace, path })
        const { entry, key } = await this.open(workspace)
        return { ...entry, key: key as string }
      },
      'workspace.rotate-key': ({ workspace }) => this.#rotateKey(workspace),
      'workspace.find': ({ key }) => {
        const found = this.#workspaces().find((workspace) => workspace.isKey(key))
        if (!found) throw new RefusalError('auth.denied', { why: 'no workspace that is open here has this key.' })
        return this.#entry(found.name)
      },
      'workspace.list': () => ({ workspaces: this.#entries() }),
      'daemon.status': () => ({
        version,
        pid: process.pid,
        uptimeMs: this.#clock.now() - this.#startedAt,
        dataDir: this.#options.dataDir,
        http: this.#httpStatus(),
        residentMb: Math.round(process.memoryUsage.rss() / 1e6),
        lagMs: this.#lag.read(),
        workspaces: this.#entries(),
      }),
      'daemon.stop': () => {
        setImmediate(() => this.#options.onStop('asked'))
        return { stopping: true }
      },
    }
  }

  /** A new key that could not be made valid is not left in the owner's file. */
  async #rotateKey(name: string): Promise<OutputOf<'workspace.rotate-key'>> {
    if (!this.#opened.has(name) && !existsSync(this.#databasePath(name)))
      throw new RefusalError('workspace.unknown', { workspace: name })
    const { entry, dispatch } = await this.open(name)
    const { workspace } = dispatch
    const former = this.#credentials.keyOf(workspace.id)
    try {
      const key = await workspace.rotateKey((id, made) => this.#credentials.put(id, name, made))
      return { ...entry, key }
    } catch (error) {
      if (former !== undefined) this.#credentials.put(workspace.id, name, former)
      throw error
    }
  }

  #httpStatus(): OutputOf<'daemon.status'>['http'] {
    const { http } = this.#options
    if (!this.#http || !http) return undefined
    const { host, mayBeRemote, isOpen, allowOrigins, home } = http
    const { url, port } = this.#http
    return { url, port, host, mayBeRemote, isOpen, allowOrigins: allowOrigins && [...allowOrigins], home }
  }

  #info(): DaemonInfo {
    const { dataDir } = this.#options
    const socketPath = (name: string) => socketPathOf(dataDir, name)
    return { version, startedAt: this.#startedAt, lag: () => this.#lag.read(), socketPath, url: () => this.url }
  }

  #workspaces(): Workspace[] {
    return [...this.#opened.values()].map(({ workspace }) => workspace)
  }

  #entries(): WorkspaceEntry[] {
    const projects = join(this.#options.dataDir, 'projects')
    const known = existsSync(projects)
      ? readdirSync(projects).filter((name) => existsSync(this.#databasePath(name)))
      : []
    return [...new Set([...known, ...this.#opened.keys()])].sort().map((name) => this.#entry(name))
  }

  #entry(name: string): WorkspaceEntry {
    const { dataDir } = this.#options
    const workspace = this.#opened.get(name)?.workspace
    return {
      name,
      id: workspace?.id,
      open: workspace !== undefined,
      socketPath: socketPathOf(dataDir, name),
      path: projectDir(dataDir, name),
    }
  }

  #databasePath(name: string): string {
    return join(projectDir(this.#options.dataDir, name), 'relay.db')
  }

  #rememberOpen(): void {
    if (this.#options.isMemory) return
    writeFileSync(join(this.#options.dataDir, 'open.json'), JSON.stringify([...this.#opened.keys()]), { mode: 0o600 })
  }

  #lastOpen(): string[] {
    try {
      const names: unknown = JSON.parse(readFileSync(join(this.#options.dataDir, 'open.json'), 'utf8'))
      return Array.isArray(names)
        ? names.filter((name) => isProjectName(name) && existsSync(this.#databasePath(name)))
        : []
    } catch {
      return []
    }
  }
}
