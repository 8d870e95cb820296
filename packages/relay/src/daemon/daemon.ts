// The only composition root: takes the lock, opens workspaces and their sockets, and takes all of it down again in reverse.

import { join } from 'node:path'
import {
  controlSocketPath,
  type Env,
  isSocketAlive,
  projectDir,
  socketPathOf,
} from '@agent-relay/sdk/internal/discover'
import { makeIds, type WorkspaceEntry } from '@agent-relay/sdk/protocol'
import type { DaemonInfo } from '../broker/call.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import type { Neighbours } from '../broker/presence/other-workspaces.ts'
import type { Workspace } from '../broker/workspace.ts'
import { type Clock, systemClock } from '../machine/clock.ts'
import { CredentialsFile } from '../machine/credentials-file.ts'
import { DataDirectory } from '../machine/data-directory.ts'
import { LagMeter } from '../machine/event-loop.ts'
import { listenOnUsualPort } from '../machine/http-port.ts'
import type { VendorHomes } from '../machine/vendor-homes.ts'
import { release } from '../machine/version.ts'
import { within } from '../machine/within.ts'
import type { RunLimits } from '../runs/limits.ts'
import type { DaemonLock } from '../store/lock.ts'
import type { SupervisorOptions } from '../supervisor/supervisor.ts'
import type { HttpOptions, HttpWire } from '../wires/http.ts'
import type { PageLogin } from '../wires/page-login.ts'
import { SocketWire } from '../wires/socket.ts'
import { AgentHosts } from './agent-hosts.ts'
import { type BuiltWorkspace, buildWorkspace, type DaemonWideParts, makeDaemonWideParts } from './build-workspace.ts'
import { ClusterAccess } from './cluster-access.ts'
import { ControlSocket } from './control-socket.ts'
import { DaemonMetrics } from './daemon-metrics.ts'
import { DailyPruning } from './daily-pruning.ts'
import { DemoStage } from './demo-stage.ts'
import { workspaceFileBytes } from './file-bytes.ts'
import { acquireDaemonLock } from './inspect.ts'
import { KnownWorkspaces } from './known-workspaces.ts'
import { agentProcessesOf } from './open-workspace.ts'
import { OpenWorkspaces } from './open-workspaces.ts'
import { glanceAt, glanceAtOnce, overviewOf } from './overview.ts'
import { type ControllableDaemon, makeOwnerControls, workspaceEntryOf } from './owner-controls.ts'
import { programSources } from './program-sources.ts'
import { WorkspacePruner } from './pruning.ts'
import { repackDatabase } from './repacking.ts'
import type { RestLimits } from './resting.ts'
import { servedWorkspaces } from './served-workspaces.ts'
import { StartupOpenings } from './startup-openings.ts'
import { stopWhenUnattended } from './unattended-stop.ts'
import { UserProgramMemory } from './user-program-memory.ts'
import { UserPrograms } from './user-programs.ts'

/** `home` is the workspace for callers without a credential. Without `port`, the usual port is taken, else a free one. */
type DaemonHttpOptions = Omit<
  HttpOptions,
  'port' | 'onFault' | 'login' | 'isReady' | 'isLift' | 'playDemo' | 'overview' | 'ownerMetrics'
> & {
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
  http?: DaemonHttpOptions
  /** Workspaces to open at the start, besides those that were open when the last daemon ended. */
  initialWorkspaces?: readonly string[]
  /** Limits that decide when an unused workspace is closed. */
  restLimits?: Partial<RestLimits>
  /** How often it is looked which workspaces are to be pruned today. */
  pruneCheckMs?: number
  /** The daemon asks to be stopped once nobody has attended to it for this long. */
  unattendedStopMs?: number
  /** Programs that workers may run; all, if left out. */
  harnesses?: SupervisorOptions['harnesses']
  /** The CLIs' own directories, by which programs that people start become agents. Left out: only programs with our MCP server are agents. */
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
  readonly #daemonWideParts: DaemonWideParts
  /** Start of the daemon, by the steady clock. */
  readonly #startedAt: number
  readonly #known: KnownWorkspaces
  readonly #cluster: ClusterAccess
  readonly #openWorkspaces: OpenWorkspaces
  readonly #startup: StartupOpenings
  readonly #demo: DemoStage
  readonly #pruner: WorkspacePruner
  readonly #dailyPruning: DailyPruning
  readonly #metrics: DaemonMetrics
  #control: SocketWire | undefined
  #http: HttpWire | undefined
  #login: PageLogin | undefined
  #endUnattendedWatch = () => {}
  #endMetricsExport = () => {}
  #userPrograms: UserPrograms | undefined
  #isStopping = false
  readonly #hosts: AgentHosts
  readonly #agentProcesses = () =>
    new Map([...this.#hosts.livingProcesses(), ...agentProcessesOf(this.#openWorkspaces.dispatches())])

  private constructor(options: DaemonOptions, directory: DataDirectory, lock: DaemonLock) {
    this.#options = options
    this.#directory = directory
    this.#lock = lock
    this.#daemonWideParts = makeDaemonWideParts(directory.path, options.env)
    this.#hosts = new AgentHosts(options.isMemory ? undefined : join(directory.path, 'agent-hosts.json'))
    this.#clock = options.clock ?? systemClock
    this.#ids = makeIds(() => this.#clock.now())
    this.#startedAt = this.#clock.steady()
    this.#known = new KnownWorkspaces(new CredentialsFile(options.credentialsPath), directory)
    this.#cluster = new ClusterAccess({ directory, clock: this.#clock, ids: this.#ids, onTrouble: options.onTrouble })
    this.#openWorkspaces = new OpenWorkspaces({
      mayRest: options.isMemory !== true && options.roles === undefined,
      limits: options.restLimits,
      socketPath: (name) => socketPathOf(options.dataDir, name),
      build: (name) =>
        options.isMemory ? this.#build(name) : this.#known.openChecked(name, (isNew) => this.#build(name, isNew)),
      forget: (name) => {
        this.#known.remove(name)
        this.#http?.closeLoggedOutPages()
      },
      glanceAt: (workspace) => glanceAt(workspace, this.#person),
      glanceAtOnce: (workspace) => glanceAtOnce(workspace, this.#person),
      repack: (name, isAtRest) => {
        repackDatabase(directory.databasePath(name), isAtRest).catch(options.onTrouble)
      },
      onTrouble: options.onTrouble,
      onServedChange: () => this.#rememberOpen(),
    })
    const { onTrouble } = options
    this.#metrics = new DaemonMetrics(directory.path, this.#openWorkspaces, this.#info())
    this.#startup = new StartupOpenings({ open: (name) => this.open(name), cluster: this.#cluster, onTrouble })
    this.#demo = new DemoStage(this.#openWorkspaces, options)
    const workspaces = this.#openWorkspaces
    const pruner = new WorkspacePruner({ workspaces, open: (name) => this.open(name) })
    this.#pruner = pruner
    const { pruneCheckMs: checkMs } = options
    this.#dailyPruning = new DailyPruning({ workspaces, pruner, clock: this.#clock, checkMs, onTrouble })
  }

  /** Starts the daemon, and opens what was open when the last one ended. Undefined if another process is this data directory's daemon already. */
  static async start(options: DaemonOptions): Promise<Daemon | undefined> {
    const directory = new DataDirectory(options.dataDir)
    const lock = await acquireDaemonLock(options.dataDir)
    if (!lock) return undefined
    const daemon = new Daemon(options, directory, lock)
    try {
      daemon.#known.finishInterrupted()
      directory.hooks.removeOldMarks()
      daemon.#http = await daemon.#listenHttp()
      await daemon.#startup.openAll([...(options.initialWorkspaces ?? []), ...daemon.#known.lastOpenNames])
      daemon.#rememberOpen()
      // The control socket comes last: whoever gets an answer here finds everything else in place.
      const control = new ControlSocket(makeOwnerControls(daemon.#controllableDaemon()), release)
      daemon.#control = await SocketWire.listen(controlSocketPath(options.dataDir), control)
      directory.hooks.announceDaemon(process.pid)
      daemon.#userPrograms = daemon.#watchUserPrograms()
      daemon.#endMetricsExport = await daemon.#metrics.startExport(options.env ?? process.env, options.onTrouble)
      daemon.#endUnattendedWatch = stopWhenUnattended(options, () => daemon.#openWorkspaces.dispatches())
      return daemon
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  get #person(): string {
    return this.#options.human ?? 'human'
  }

  /** The address of the HTTP port; undefined where there is none. */
  get url(): string | undefined {
    return this.#http?.url
  }

  async open(
    name: string,
  ): Promise<{ entry: WorkspaceEntry; dispatch: Dispatch; workspace: Workspace; created: boolean; key?: string }> {
    const isNew = !this.#directory.hasWorkspace(name)
    const { key, dispatch, workspace } = await this.#openWorkspaces.open(name)
    return { entry: this.#entry(name), dispatch, workspace, created: isNew && key !== undefined, key }
  }

  /** Stores which workspaces the next start opens. Workspaces with faulty files are included, so that the next start reports the fault again. */
  #rememberOpen(): void {
    const { isMemory, onTrouble } = this.#options
    const names = [
      ...this.#openWorkspaces.names(),
      ...this.#openWorkspaces.sockets.faultyNames(),
      ...this.#startup.pendingNames,
    ]
    if (!isMemory) this.#known.rememberOpen([...new Set(names)], onTrouble)
  }

  /** Removes a workspace with everything in it, for good. */
  remove(name: string, isForced = false): Promise<void> {
    return this.#openWorkspaces.remove(name, isForced, () => this.#known.has(name))
  }

  /** Answers the calls under way, tells the other clients why, and frees the lock last. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#endUnattendedWatch()
    this.#endMetricsExport()
    this.#demo.stop()
    this.#dailyPruning.close()
    await this.#userPrograms?.close()
    this.#directory.hooks.withdrawDaemon()
    const opened = await this.#openWorkspaces.stopOpening()
    for (const { workspace } of opened) {
      workspace.waits.stopAll()
      workspace.approvals.releaseHooks()
    }
    const wires = [this.#control, this.#http, ...this.#openWorkspaces.sockets.all]
    await within(Promise.all(wires.map((wire) => wire?.waitUntilIdle())), stopMs)
    await Promise.all(opened.map(({ runner }) => runner.close()))
    await this.#http?.close()
    // Workers' programs end while their reports can still be written.
    await Promise.all(opened.map(({ workspace }) => workspace.workers.close()))
    // The control socket closes before the workspaces' sockets: while it listens, a workspace without a socket counts as closed, and its clients would
    // give up.
    const controlClosed = this.#control?.close('daemon.stopping')
    await Promise.all(this.#openWorkspaces.sockets.all.map((wire) => wire.close('daemon.stopping')))
    await Promise.all(opened.map(({ workspace }) => workspace.engine.reportBeforeClose?.()))
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
    if (!roles) this.#metrics.makeKey(onTrouble)
    const served = servedWorkspaces(this.#openWorkspaces, http.home)
    const { PageLogin } = await import('../wires/page-login.ts')
    this.#login = new PageLogin({
      served,
      clock: this.#clock,
      secretPath: join(this.#directory.path, 'page-secret'),
      keyOf: (id) => this.#known.keyOf(id),
      human: this.#person,
      linkCommand: http.linkCommand ?? (http.ownName && `${http.ownName} dashboard`),
    })
    const isReady = () => this.#isReady(http.home)
    const playDemo = roles ? undefined : (here?: string) => this.#demo.play(here)
    const overview = (names?: readonly string[]) => overviewOf(this.#openWorkspaces, this.#person, names)
    const own = { isLift: !!roles, login: this.#login, isReady, playDemo, overview, ownerMetrics: this.#metrics }
    const options = { ...http, ...own, onFault: onTrouble }
    const listen = (port: number) => HttpWire.listen({ ...options, port }, served)
    return http.port === undefined ? listenOnUsualPort(this.#directory.path, listen) : listen(http.port)
  }

  /** Whether all sockets are there. The HTTP port listens before the workspaces are open. */
  async #isReady(home: string | undefined): Promise<boolean> {
    if (!this.#control || this.#isStopping) return false
    return (
      home === undefined ||
      (this.#openWorkspaces.idOf(home) !== undefined && isSocketAlive(socketPathOf(this.#options.dataDir, home)))
    )
  }

  async #build(name: string, isNew = false): Promise<BuiltWorkspace> {
    const { env = process.env, isMemory = false, onStop } = this.#options
    const built = await buildWorkspace(name, isNew, {
      ...this.#options,
      ...{ directory: this.#directory, known: this.#known, cluster: this.#cluster, isMemory, env },
      ...{ clock: this.#clock, ids: this.#ids, ...this.#daemonWideParts },
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
    const workspaces = this.#openWorkspaces
    const memory = new UserProgramMemory(isMemory ? undefined : join(this.#directory.path, 'user-sessions.json'))
    const sources = programSources({ homes: vendorHomes, env, memory, workspaces, directory: this.#directory })
    return new UserPrograms({ sources, memory, workspaces, onTrouble })
  }

  #neighbours(): Neighbours<Workspace> {
    return {
      names: () => this.#openWorkspaces.names(),
      atRest: () => this.#openWorkspaces.namesAtRest(),
      awake: () => this.#openWorkspaces.dispatches().map(({ workspace }) => workspace),
      visit: (name, work) => this.#openWorkspaces.visit(name, ({ workspace }) => work(workspace)),
    }
  }

  #controllableDaemon(): ControllableDaemon {
    const { dataDir, http, unattendedStopMs, onStop, env = process.env } = this.#options
    return {
      ...{ dataDir, http, env, directory: this.#directory, known: this.#known },
      open: (name) => this.open(name),
      workspaces: this.#openWorkspaces,
      overview: () => overviewOf(this.#openWorkspaces, this.#person),
      cluster: this.#cluster,
      pruner: this.#pruner,
      remove: (name, isForced) => this.remove(name, isForced),
      nameOfKey: (key) => this.#nameOf(key),
      entry: (name) => this.#entry(name),
      wire: () => this.#http,
      login: () => this.#login,
      ...{ uptimeMs: () => this.#uptimeMs(), lag: () => this.#lag.read(), agentProcesses: this.#agentProcesses },
      endsUnattended: unattendedStopMs !== undefined,
      stop: () => onStop('asked'),
    }
  }

  #info(): DaemonInfo {
    const { dataDir, roles } = this.#options
    const socketPath = (name: string) => socketPathOf(dataDir, name)
    const [uptimeMs, lag, url] = [() => this.#uptimeMs(), () => this.#lag.read(), () => this.url]
    const fileBytes = (name: string) => workspaceFileBytes(projectDir(dataDir, name))
    return { version: release, uptimeMs, lag, socketPath, url, fileBytes, agentProcesses: this.#agentProcesses, roles }
  }

  #uptimeMs(): number {
    return Math.round(this.#clock.steady() - this.#startedAt)
  }

  async #nameOf(key: string): Promise<string | undefined> {
    const release = await this.#openWorkspaces.openForCredential(key, undefined)
    const found = this.#openWorkspaces.dispatches().find(({ workspace }) => workspace.credentials.isKey(key))
    release()
    return found?.workspace.name
  }

  #entry(name: string): WorkspaceEntry {
    return workspaceEntryOf(name, this.#options.dataDir, this.#openWorkspaces, this.#cluster, this.#pruner)
  }
}
