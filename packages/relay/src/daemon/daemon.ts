// The only composition root: takes the lock, opens workspaces and their sockets, and closes all of it in reverse order.

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
import { versionWithBuildId } from '../machine/version.ts'
import { resultWithin } from '../machine/within.ts'
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
import { overviewOf, readRestSummary, readRestSummaryAtOnce } from './overview.ts'
import { type ControllableDaemon, makeOwnerControls, workspaceEntryOf } from './owner-controls.ts'
import { slowestLast } from './preparing.ts'
import { programSources } from './program-sources.ts'
import { WorkspacePruner } from './pruning.ts'
import { repackDatabase } from './repacking.ts'
import type { RestLimits } from './resting.ts'
import { servedWorkspaces } from './served-workspaces.ts'
import { StartupOpenings } from './startup-openings.ts'
import { stopWhenUnattended } from './unattended-stop.ts'
import { UserProgramMemory } from './user-program-memory.ts'
import { UserPrograms } from './user-programs.ts'

/**
 * Options of the HTTP server. `home` is the workspace for callers without a credential. Without `port`, the usual port is taken, or a free one if that is in
 * use.
 */
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
  /** Whether databases are in memory, for a relay that is thrown away. */
  isMemory?: boolean
  clock?: Clock
  /** The agent name of a person who uses the page. */
  human?: string
  /** The environment variables that tell runs their model and workers their programs. Default: those of this process. */
  env?: Env
  runLimits?: Partial<RunLimits>
  /** Settings of the HTTP server. Left out: there is no HTTP server. */
  http?: DaemonHttpOptions
  /** Workspaces to open at the start, besides those that were open when the last daemon ended. */
  initialWorkspaces?: readonly string[]
  /** Limits that decide when an unused workspace is closed. */
  restLimits?: Partial<RestLimits>
  /** Interval in ms between two checks which workspaces are due for their daily pruning. */
  pruneCheckMs?: number
  /** Time in ms after which `onStop` is called if no person and no agent in a person's own program was connected. Unset: never. */
  unattendedStopMs?: number
  /** The CLIs that workers may run. Left out: all. */
  harnesses?: SupervisorOptions['harnesses']
  /** The CLIs' configuration directories, in which programs that people start by hand are found. Left out: only programs with our MCP server become agents. */
  vendorHomes?: VendorHomes
  /** In a lift: the roles that a caller may act as. */
  roles?: readonly string[]
  /** Called for an error that the owner should know of. The daemon continues, since one damaged workspace must not close the others. */
  onTrouble(error: Error): void
  /** Called if a client asks the daemon to stop over the control socket, or if a failing disk forces it to. */
  onStop(reason: 'asked' | 'failed', error?: Error): void
}

/** When the daemon stops, the time in ms within which calls under way may still be answered. */
const stopMs = 2_000

export class Daemon {
  readonly #options: DaemonOptions
  readonly #directory: DataDirectory
  readonly #lock: DaemonLock
  readonly #clock: Clock
  readonly #ids: ReturnType<typeof makeIds>
  readonly #lag = new LagMeter()
  readonly #daemonWideParts: DaemonWideParts
  /** Time at which the daemon started, by a clock that never steps back. */
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
      readRestSummary: (workspace) => readRestSummary(workspace, this.#person),
      readRestSummaryAtOnce: (workspace) => readRestSummaryAtOnce(workspace, this.#person),
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

  /** Starts the daemon, and opens the workspaces that were open when the last one ended. Undefined if another process is the daemon of this data directory. */
  static async start(options: DaemonOptions): Promise<Daemon | undefined> {
    const directory = new DataDirectory(options.dataDir)
    const lock = await acquireDaemonLock(options.dataDir)
    if (!lock) return undefined
    const daemon = new Daemon(options, directory, lock)
    try {
      daemon.#known.finishInterrupted()
      directory.hooks.removeOldMarks()
      const names = [...new Set([...(options.initialWorkspaces ?? []), ...daemon.#known.lastOpenNames])]
      daemon.#startup.announce(options.isMemory ? names : slowestLast(names, (name) => directory.databasePath(name)))
      daemon.#http = await daemon.#listenHttp()
      await daemon.#startup.openAll()
      daemon.#rememberOpen()
      // The control socket opens last: a client that can reach it finds everything else ready.
      const control = new ControlSocket(makeOwnerControls(daemon.#controllableDaemon()), versionWithBuildId)
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

  /** Stores which workspaces the next start should open. Those with faulty files are included, so that the next start reports the fault again. */
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

  /** Stops the daemon: answers the calls under way, tells all other clients why, and releases the lock last. */
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
    await resultWithin(Promise.all(wires.map((wire) => wire?.waitUntilIdle())), stopMs)
    await Promise.all(opened.map(({ runner }) => runner.close()))
    await this.#http?.close()
    // The programs of workers end first, while the reports of their ends can still be stored.
    await Promise.all(opened.map(({ workspace }) => workspace.workers.close()))
    // The control socket is closed before the sockets of workspaces. While it is open, clients take a missing workspace socket for a closed workspace, and do
    // not try again.
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
    const served = servedWorkspaces(this.#openWorkspaces, this.#startup, http.home)
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

  /** Whether all sockets are open. The HTTP port opens before the workspaces do. */
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

  /** Watches the programs that people start by hand, and makes agents of them. */
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
    return {
      version: versionWithBuildId,
      uptimeMs,
      lag,
      socketPath,
      url,
      fileBytes,
      agentProcesses: this.#agentProcesses,
      roles,
    }
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
