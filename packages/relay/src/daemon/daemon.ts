// The only composition root: takes the lock, opens workspaces and their sockets, and takes all of it down again in reverse.

import { join } from 'node:path'
import { controlSocketPath, type Env, isAlive, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { makeIds, type WorkspaceEntry } from '@agent-relay/sdk/protocol'
import type { DaemonInfo } from '../broker/call.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Neighbours } from '../broker/presence/other-workspaces.ts'
import type { Workspace } from '../broker/workspace.ts'
import { type Clock, systemClock } from '../machine/clock.ts'
import { CredentialsFile } from '../machine/credentials-file.ts'
import { DataDirectory } from '../machine/data-directory.ts'
import { LagMeter } from '../machine/event-loop.ts'
import { onUsualPort } from '../machine/http-port.ts'
import type { VendorHomes } from '../machine/vendor-homes.ts'
import { version } from '../machine/version.ts'
import type { RunLimits } from '../runs/limits.ts'
import type { DaemonLock } from '../store/lock.ts'
import type { SupervisorOptions } from '../supervisor/supervisor.ts'
import type { HttpOptions, HttpWire } from '../wires/http.ts'
import type { PageLogin } from '../wires/page-login.ts'
import { SocketWire } from '../wires/socket.ts'
import { AgentHosts } from './agent-hosts.ts'
import { type Built, buildWorkspace, type Shared, sharedByAll } from './build-workspace.ts'
import { ClusterAccess } from './cluster-access.ts'
import { ControlSocket } from './control-socket.ts'
import { DemoStage } from './demo-stage.ts'
import { FirstOpenings } from './first-openings.ts'
import { acquireLock } from './inspect.ts'
import { KnownWorkspaces } from './known-workspaces.ts'
import { agentProcessesOf } from './open-workspace.ts'
import { OpenWorkspaces } from './open-workspaces.ts'
import { entryOf, type OwnedDaemon, ownerControls } from './owner-controls.ts'
import { programSources } from './program-sources.ts'
import type { RestLimits } from './resting.ts'
import { servedWorkspaces } from './served-workspaces.ts'
import { stopUnattended } from './unattended-stop.ts'
import { UserProgramMemory } from './user-program-memory.ts'
import { UserPrograms } from './user-programs.ts'

/** `home` is the workspace for callers without a credential. Without a port: the usual one, else another that is free. */
type HttpWish = Omit<HttpOptions, 'port' | 'onFault' | 'login' | 'isReady' | 'isLift' | 'playDemo'> & {
  port?: number
  home?: string
}

export interface DaemonOptions {
  dataDir: string
  credentialsPath: string
  /** Databases in memory, for a throw-away relay. */
  isMemory?: boolean
  clock?: Clock
  /** The name of a person who comes by the page. */
  human?: string
  /** Environment in which runs find their model and workers their programs; the process's own, if left out. */
  env?: Env
  runLimits?: Partial<RunLimits>
  /** Settings of the HTTP server; left out, there is none. */
  http?: HttpWish
  /** Workspaces to open at the start, besides those that were open when the last daemon ended. */
  opens?: readonly string[]
  /** When an unused workspace is closed. */
  restLimits?: Partial<RestLimits>
  /** The daemon asks to be stopped once nobody has attended to it for this long. */
  attendedMs?: number
  /** Programs that workers may run; all, if left out. */
  harnesses?: SupervisorOptions['harnesses']
  /** The directories of CLIs: programs that people started are agents. Left out: only those are that have our MCP server. */
  vendorHomes?: VendorHomes
  /** In a lift: the roles that a caller may name itself as. */
  roles?: readonly string[]
  /** Called when something of the owner's needs care, but the daemon goes on: one damaged workspace must not close the others. */
  onTrouble(error: Error): void
  /** Called when a stop was asked for over the control socket, or is forced by a failing disk. */
  onStop(reason: 'asked' | 'failed', error?: Error): void
}

/** Maximum time for calls under way to be answered when the daemon stops. */
const stopMs = 2_000

export class Daemon {
  readonly #options: DaemonOptions
  readonly #directory: DataDirectory
  readonly #lock: DaemonLock
  readonly #clock: Clock
  readonly #ids: ReturnType<typeof makeIds>
  readonly #lag = new LagMeter()
  readonly #shared: Shared
  /** Steady time of the start. */
  readonly #startedAt: number
  readonly #known: KnownWorkspaces
  readonly #cluster: ClusterAccess
  readonly #open: OpenWorkspaces
  readonly #first: FirstOpenings
  readonly #demo: DemoStage
  #control: SocketWire | undefined
  #http: HttpWire | undefined
  #login: PageLogin | undefined
  #unwatch = () => {}
  #userPrograms: UserPrograms | undefined
  #isStopping = false
  readonly #hosts: AgentHosts
  readonly #agents = () => new Map([...this.#hosts.living(), ...agentProcessesOf(this.#open.dispatches())])

  private constructor(options: DaemonOptions, directory: DataDirectory, lock: DaemonLock) {
    this.#options = options
    this.#directory = directory
    this.#lock = lock
    this.#shared = sharedByAll(directory.path, options.env)
    this.#hosts = new AgentHosts(options.isMemory ? undefined : join(directory.path, 'agent-hosts.json'))
    this.#clock = options.clock ?? systemClock
    this.#ids = makeIds(() => this.#clock.now())
    this.#startedAt = this.#clock.steady()
    this.#known = new KnownWorkspaces(new CredentialsFile(options.credentialsPath), directory)
    this.#cluster = new ClusterAccess({ directory, clock: this.#clock, ids: this.#ids, onTrouble: options.onTrouble })
    this.#open = new OpenWorkspaces({
      mayRest: options.isMemory !== true && options.roles === undefined,
      limits: options.restLimits,
      socketPath: (name) => socketPathOf(options.dataDir, name),
      build: (name) =>
        options.isMemory ? this.#build(name) : this.#known.opening(name, (isNew) => this.#build(name, isNew)),
      forget: (name) => {
        this.#known.remove(name)
        this.#http?.endPages()
      },
      onTrouble: options.onTrouble,
      onServed: () => this.#remember(),
    })
    const { onTrouble } = options
    this.#first = new FirstOpenings({ open: (name) => this.open(name), cluster: this.#cluster, onTrouble })
    this.#demo = new DemoStage(this.#open, options)
  }

  /** Starts the daemon, and opens what was open when the last one ended. Undefined if another process is this data directory's daemon already. */
  static async start(options: DaemonOptions): Promise<Daemon | undefined> {
    const directory = new DataDirectory(options.dataDir)
    const lock = await acquireLock(options.dataDir)
    if (!lock) return undefined
    const daemon = new Daemon(options, directory, lock)
    try {
      daemon.#known.finish()
      directory.hooks.begin()
      daemon.#http = await daemon.#listenHttp()
      await daemon.#first.openAll([...(options.opens ?? []), ...daemon.#known.remembered])
      daemon.#remember()
      // The control socket comes last: whoever gets an answer here finds everything else in place.
      const control = new ControlSocket(ownerControls(daemon.#ownedDaemon()), version)
      daemon.#control = await SocketWire.listen(controlSocketPath(options.dataDir), control)
      directory.hooks.announce(process.pid)
      daemon.#userPrograms = daemon.#watchUserPrograms()
      daemon.#unwatch = stopUnattended(options, () => daemon.#open.dispatches())
      return daemon
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  /** The address of the HTTP port; undefined where there is none. */
  get url(): string | undefined {
    return this.#http?.url
  }

  async open(
    name: string,
  ): Promise<{ entry: WorkspaceEntry; dispatch: Dispatch; workspace: Workspace; created: boolean; key?: string }> {
    const isNew = !this.#directory.has(name)
    const { key, dispatch, workspace } = await this.#open.open(name)
    return { entry: this.#entry(name), dispatch, workspace, created: isNew && key !== undefined, key }
  }

  /** Stores which workspaces the next start opens. They include those that could not be opened because of their files: the next start reports that again. */
  #remember(): void {
    const { isMemory, onTrouble } = this.#options
    const names = [...this.#open.names(), ...this.#open.sockets.faulty(), ...this.#first.awaited]
    if (!isMemory) this.#known.serve([...new Set(names)], onTrouble)
  }

  /** Removes a workspace with everything in it, for good. */
  remove(name: string, isForced = false): Promise<void> {
    return this.#open.remove(name, isForced, () => this.#known.has(name))
  }

  /** Answers the calls under way, tells the other clients why, and frees the lock last. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#unwatch()
    this.#demo.stop()
    await this.#userPrograms?.close()
    this.#directory.hooks.withdraw()
    const opened = await this.#open.stopOpening()
    for (const { workspace } of opened) {
      workspace.waits.stopAll()
      workspace.approvals.letHooksGo()
    }
    const wires = [this.#control, this.#http, ...this.#open.sockets.all]
    const quiet = Promise.all(wires.map((wire) => wire?.quiet()))
    let timer: NodeJS.Timeout | undefined
    await Promise.race([quiet, new Promise((resolve) => (timer = setTimeout(resolve, stopMs)))])
    clearTimeout(timer)
    await Promise.all(opened.map(({ runner }) => runner.close()))
    await this.#http?.close()
    // Workers' programs end while their reports can still be written.
    await Promise.all(opened.map(({ workspace }) => workspace.workers.close()))
    // The control socket closes before the workspaces' sockets: while it listens, a workspace without a socket counts as closed, and its clients would
    // give up.
    const controlClosed = this.#control?.close('daemon.stopping')
    await Promise.all(this.#open.sockets.all.map((wire) => wire.close('daemon.stopping')))
    await Promise.all(opened.map(({ workspace }) => workspace.engine.leave?.()))
    for (const { workspace } of opened) workspace.close()
    await this.#cluster.close()
    await controlClosed
    this.#lag.stop()
    this.#lock.release()
  }

  async #listenHttp(): Promise<HttpWire | undefined> {
    const { http, roles, onTrouble } = this.#options
    if (!http) return undefined
    const { HttpWire } = await import('../wires/http.ts')
    const served = servedWorkspaces(this.#open, http.home)
    const { PageLogin } = await import('../wires/page-login.ts')
    this.#login = new PageLogin({
      served,
      clock: this.#clock,
      secretPath: join(this.#directory.path, 'page-secret'),
      keyOf: (id) => this.#known.keyOf(id),
      human: this.#options.human ?? 'human',
      linkCommand: http.linkCommand,
    })
    const isReady = () => this.#isReady(http.home)
    const playDemo = roles ? undefined : () => this.#demo.play()
    const options = { ...http, isLift: !!roles, login: this.#login, isReady, playDemo, onFault: onTrouble }
    const listen = (port: number) => HttpWire.listen({ ...options, port }, served)
    return http.port === undefined ? onUsualPort(this.#directory.path, listen) : listen(http.port)
  }

  /** The port listens before the workspaces are open; whoever waits for readiness finds their sockets. */
  async #isReady(home: string | undefined): Promise<boolean> {
    if (!this.#control || this.#isStopping) return false
    return (
      home === undefined || (this.#open.idOf(home) !== undefined && isAlive(socketPathOf(this.#options.dataDir, home)))
    )
  }

  async #build(name: string, isNew = false): Promise<Built> {
    const { env = process.env, isMemory = false, onStop } = this.#options
    const built = await buildWorkspace(name, isNew, {
      ...this.#options,
      ...{ directory: this.#directory, known: this.#known, cluster: this.#cluster, isMemory, env },
      ...{ clock: this.#clock, ids: this.#ids, ...this.#shared },
      ...{ neighbours: this.#neighbours(), info: this.#info() },
      onFatal: (error) => onStop('failed', error),
    })
    this.#hosts.watch(built.workspace)
    built.workspace.sessions.onChange(() => this.#userPrograms?.lookSoon())
    this.#userPrograms?.lookSoon()
    return built
  }

  /** Watches the programs that people start by hand. */
  #watchUserPrograms(): UserPrograms {
    const { vendorHomes, isMemory, onTrouble, env = process.env } = this.#options
    const workspaces = this.#open
    const memory = new UserProgramMemory(isMemory ? undefined : join(this.#directory.path, 'own-sessions.json'))
    const sources = programSources({ homes: vendorHomes, env, memory, workspaces, directory: this.#directory })
    return new UserPrograms({ sources, memory, workspaces, onTrouble })
  }

  #neighbours(): Neighbours<Workspace> {
    return {
      names: () => this.#open.names(),
      atRest: () => this.#open.atRest(),
      awake: () => this.#open.dispatches().map(({ workspace }) => workspace),
      visit: (name, work) => this.#open.visit(name, ({ workspace }) => work(workspace)),
    }
  }

  #ownedDaemon(): OwnedDaemon {
    const { dataDir, http, attendedMs, onStop, env = process.env } = this.#options
    return {
      ...{ dataDir, http, env, directory: this.#directory, known: this.#known },
      open: (name) => this.open(name),
      workspaces: this.#open,
      cluster: this.#cluster,
      remove: (name, isForced) => this.remove(name, isForced),
      find: (key) => this.#nameOf(key),
      entry: (name) => this.#entry(name),
      wire: () => this.#http,
      login: () => this.#login,
      ...{ uptimeMs: () => this.#uptimeMs(), lag: () => this.#lag.read(), agentProcesses: this.#agents },
      endsUnattended: attendedMs !== undefined,
      stop: () => onStop('asked'),
    }
  }

  #info(): DaemonInfo {
    const { dataDir, roles } = this.#options
    const socketPath = (name: string) => socketPathOf(dataDir, name)
    const [uptimeMs, lag, url] = [() => this.#uptimeMs(), () => this.#lag.read(), () => this.url]
    return { version, uptimeMs, lag, socketPath, url, agentProcesses: this.#agents, roles }
  }

  #uptimeMs(): number {
    return Math.round(this.#clock.steady() - this.#startedAt)
  }

  async #nameOf(key: string): Promise<string | undefined> {
    const release = await this.#open.openForCredential(key, undefined)
    const found = this.#open.dispatches().find(({ workspace }) => workspace.credentials.isKey(key))
    release()
    return found?.workspace.name
  }

  #entry(name: string): WorkspaceEntry {
    return entryOf(name, this.#options.dataDir, this.#open, this.#cluster)
  }
}
