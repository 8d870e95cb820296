// The only composition root: takes the lock, opens workspaces and their sockets, and takes all of it down again in reverse.

import { join } from 'node:path'
import { controlSocketPath, type Env, projectDir, socketPathOf } from '@agent-relay/sdk/discover'
import { makeIds, type WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { Control } from './broker/control.ts'
import { Dispatch } from './broker/dispatch.ts'
import { LagMeter } from './broker/lag.ts'
import type { DaemonInfo } from './broker/surroundings.ts'
import { Workspace } from './broker/workspace.ts'
import { type Clock, systemClock } from './clock.ts'
import { ownerOf } from './config.ts'
import { CredentialsFile } from './credentials-file.ts'
import { DataDirectory } from './data-directory.ts'
import { lockPathOf } from './from-outside.ts'
import { type OpenWorkspace, takeDown, usersOf } from './open-workspace.ts'
import { type OwnersView, ownerControls } from './owner-controls.ts'
import { RefusalError } from './refusal-error.ts'
import type { RunLimits } from './runs/limits.ts'
import { Runner } from './runs/runner.ts'
import { DaemonLock } from './store/lock.ts'
import { Supervisor, type SupervisorOptions } from './supervisor/supervisor.ts'
import { version } from './version.ts'
import type { HttpOptions, HttpWire } from './wires/http.ts'
import { openMcpSession } from './wires/mcp-session.ts'
import type { PageLogin } from './wires/page-login.ts'
import { ownersParty } from './wires/party.ts'
import { declareRoles } from './wires/roles.ts'
import { SocketWire } from './wires/socket.ts'

export interface DaemonOptions {
  dataDir: string
  credentialsPath: string
  /** Databases in memory: a throw-away relay. */
  isMemory?: boolean
  clock?: Clock
  /** What the person is called who comes by the page. */
  human?: string
  /** Where runs find their model and workers their programs; the process's own, if left out. */
  env?: Env
  runLimits?: Partial<RunLimits>
  /** Serve HTTP too. `home` is the workspace that a caller without a credential means. */
  http?: Omit<HttpOptions, 'onFault' | 'login'> & { home?: string }
  /** What workers may be; all, if left out. */
  harnesses?: SupervisorOptions['harnesses']
  /** A lift: the agents that its callers act as by their word. */
  roles?: readonly string[]
  /** Something of the owner's needs care, but the daemon goes on: one damaged workspace must not close the others. */
  onTrouble(error: Error): void
  /** Asked to stop over the control socket, or forced to by a failing disk. */
  onStop(reason: 'asked' | 'failed', error?: Error): void
}

/** Calls under way get this long to be answered when the daemon stops. */
const stopMs = 2_000

export class Daemon {
  readonly #options: DaemonOptions
  readonly #directory: DataDirectory
  readonly #lock: DaemonLock
  readonly #clock: Clock
  readonly #ids: ReturnType<typeof makeIds>
  readonly #lag = new LagMeter()
  readonly #startedAt: number
  readonly #credentials: CredentialsFile
  readonly #open = new Map<string, Promise<OpenWorkspace>>()
  readonly #opened = new Map<string, OpenWorkspace>()
  readonly #leaving = new Map<string, Promise<void>>()
  #control: SocketWire | undefined
  #http: HttpWire | undefined
  #login: PageLogin | undefined
  #isStopping = false

  private constructor(options: DaemonOptions, directory: DataDirectory, lock: DaemonLock) {
    this.#options = options
    this.#directory = directory
    this.#lock = lock
    this.#clock = options.clock ?? systemClock
    this.#ids = makeIds(() => this.#clock.now())
    this.#startedAt = this.#clock.now()
    this.#credentials = new CredentialsFile(options.credentialsPath)
  }

  /** Undefined where another process is this data directory's daemon already. Opens again what was open when the last one ended. */
  static async start(options: DaemonOptions): Promise<Daemon | undefined> {
    const directory = new DataDirectory(options.dataDir)
    const lock = DaemonLock.acquire(lockPathOf(options.dataDir))
    if (!lock) return undefined
    const daemon = new Daemon(options, directory, lock)
    directory.sweep()
    try {
      daemon.#http = await daemon.#listenHttp()
      for (const name of directory.lastOpen()) await daemon.open(name).catch((error: Error) => options.onTrouble(error))
      // Last: who gets an answer here finds everything else in place.
      const control = new Control(ownerControls(daemon.#ownersView()), version)
      daemon.#control = await SocketWire.listen(controlSocketPath(options.dataDir), control)
      return daemon
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  /** Where HTTP is served; undefined where it is not. */
  get url(): string | undefined {
    return this.#http?.url
  }

  async open(
    name: string,
  ): Promise<{ entry: WorkspaceEntry; dispatch: Dispatch; workspace: Workspace; created: boolean; key?: string }> {
    await this.#leaving.get(name)?.catch(() => {})
    if (this.#isStopping) throw new RefusalError('daemon.stopping')
    const isNew = !this.#directory.has(name)
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
      const { dispatch, workspace } = opened
      return { entry: this.#entry(name), dispatch, workspace, created: isNew && key !== undefined, key }
    } catch (error) {
      this.#open.delete(name)
      throw error
    }
  }

  /** With everything in it, for good. Who asks for the name meanwhile waits, and gets a new workspace. */
  async remove(name: string, isForced = false): Promise<void> {
    // Opened if it is not: then its key is known, and goes with it. One that is damaged goes as it is.
    const opened = await this.open(name).then(
      () => this.#opened.get(name),
      () => undefined,
    )
    // Somebody else has removed it meanwhile; what bears the name by now is another.
    const isThere = opened ? this.#opened.get(name) === opened : this.#directory.has(name)
    if (!isThere) throw new RefusalError('workspace.unknown', { workspace: name })
    const agents = opened && !isForced ? usersOf(opened) : []
    if (agents.length > 0) throw new RefusalError('workspace.busy', { workspace: name, agents })
    if (this.#isStopping) throw new RefusalError('daemon.stopping')
    this.#open.delete(name)
    this.#opened.delete(name)
    const leaving = this.#removeNow(name, opened).finally(() => this.#leaving.delete(name))
    this.#leaving.set(name, leaving)
    await leaving
  }

  /** Answers what is under way, tells the rest why, and frees the lock last. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    // What is being opened or removed is so first: opened later, it would outlive the daemon without its lock.
    await Promise.allSettled([...this.#leaving.values(), ...this.#open.values()])
    const opened = [...this.#opened.values()]
    for (const { workspace } of opened) workspace.waits.stopAll()
    const wires = [this.#control, this.#http, ...opened.map(({ wire }) => wire)]
    const quiet = Promise.all(wires.map((wire) => wire?.quiet()))
    let timer: NodeJS.Timeout | undefined
    await Promise.race([quiet, new Promise((resolve) => (timer = setTimeout(resolve, stopMs)))])
    clearTimeout(timer)
    await Promise.all(opened.map(({ runner }) => runner.close()))
    await this.#http?.close()
    // Their programs end while their reports can still be written.
    await Promise.all(opened.map(({ supervisor }) => supervisor.close()))
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
    const { PageLogin } = await import('./wires/page-login.ts')
    this.#login = new PageLogin({
      worlds,
      clock: this.#clock,
      secretPath: join(this.#directory.path, 'page-secret'),
      keyOf: (id) => this.#credentials.keyOf(id),
      human: this.#options.human ?? 'human',
    })
    return HttpWire.listen({ ...http, login: this.#login, onFault: onTrouble }, worlds)
  }

  async #openNow(name: string): Promise<OpenWorkspace & { key?: string }> {
    const { dataDir, isMemory, env = process.env, harnesses, onTrouble } = this.#options
    const directory = this.#directory.make(name)
    const databasePath = isMemory ? ':memory:' : this.#directory.database(name)
    const workspace = new Workspace({
      name,
      databasePath,
      searchPath: isMemory ? ':memory:' : join(directory, 'search.db'),
      clock: this.#clock,
      ids: this.#ids,
      onFatal: (error) => this.#options.onStop('failed', error),
      onTrouble,
    })
    try {
      const key = await workspace.begin((id, made) => this.#credentials.put(id, name, made))
      const neighbours = { find: (other: string) => this.#opened.get(other)?.workspace, all: () => this.#workspaces() }
      const dispatch = new Dispatch(workspace, neighbours, this.#info())
      await declareRoles(dispatch)
      const socketPath = socketPathOf(dataDir, name)
      const supervisor = await Supervisor.start({
        ...{ workspace, directory: join(directory, 'workers'), socketPath, dataDir, env, harnesses, onTrouble },
      })
      const runner = this.#runner(dispatch)
      const wire = await SocketWire.listen(socketPath, ownersParty(dispatch))
      const opened = { workspace, dispatch, wire, supervisor, runner }
      this.#opened.set(name, opened)
      if (!isMemory) this.#directory.rememberOpen(this.#opened.keys())
      return { ...opened, key }
    } catch (error) {
      workspace.close()
      throw error
    }
  }

  async #removeNow(name: string, opened: OpenWorkspace | undefined): Promise<void> {
    const id = opened?.workspace.id
    if (opened) await takeDown(opened)
    this.#directory.remove(name)
    if (!this.#options.isMemory) this.#directory.rememberOpen(this.#opened.keys())
    if (id !== undefined) this.#credentials.remove(id)
  }

  #runner(dispatch: Dispatch): Runner {
    const { dataDir, env = process.env, runLimits: limits } = this.#options
    const { workspace } = dispatch
    const dial = (token: string) => openMcpSession(dispatch, { door: 'owner' }, { token })
    return new Runner({ workspace, dial, env, dataDir, directory: () => ownerOf(dataDir, workspace.name), limits })
  }

  #ownersView(): OwnersView {
    const { dataDir, http, onStop } = this.#options
    return {
      dataDir,
      http,
      directory: this.#directory,
      credentials: this.#credentials,
      open: (name) => this.open(name),
      remove: (name, isForced) => this.remove(name, isForced),
      workspaces: () => this.#workspaces(),
      entry: (name) => this.#entry(name),
      wire: () => this.#http,
      login: () => this.#login,
      uptimeMs: () => this.#clock.now() - this.#startedAt,
      lag: () => this.#lag.read(),
      stop: () => onStop('asked'),
    }
  }

  #info(): DaemonInfo {
    const { dataDir, roles } = this.#options
    const socketPath = (name: string) => socketPathOf(dataDir, name)
    return { version, startedAt: this.#startedAt, lag: () => this.#lag.read(), socketPath, url: () => this.url, roles }
  }

  #workspaces(): Workspace[] {
    return [...this.#opened.values()].map(({ workspace }) => workspace)
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
}
