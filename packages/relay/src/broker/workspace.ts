// One open workspace: constructs its store, its engine and everything that watches it, once and in order.

import { daemonName, type Ids, refusal } from '@agent-relay/sdk/protocol'
import { isNameInUse } from '../core/agents.ts'
import type { RefusalError } from '../core/refusal-error.ts'
import { type Clock, reportingClock } from '../machine/clock.ts'
import type { HooksFolder } from '../machine/hooks-folder.ts'
import { Store } from '../store/store.ts'
import { Actions } from './actions.ts'
import type { ApprovalQueue } from './approvals/approval-runtime.ts'
import { Approvals } from './approvals/approvals.ts'
import { Mentions } from './approvals/mentions.ts'
import type { DaemonInfo, WorkspaceCore, WorkspaceParts } from './call.ts'
import type { CommitReader } from './claims/claim-runtime.ts'
import { Claims } from './claims/claims.ts'
import { acceptedReplyOrThrow, submitByDaemon } from './commands.ts'
import type { Engine } from './engine.ts'
import { Events } from './events.ts'
import { EntryHub } from './hub.ts'
import { type LongReads, sharedReads } from './long-reads.ts'
import { Deliveries } from './messages/deliveries.ts'
import { Inboxes } from './messages/inbox.ts'
import { Outbox } from './messages/outbox.ts'
import { MessageSearch } from './messages/search.ts'
import { singleMachineSharing } from './one-machine.ts'
import { agentsToReport, stateForNotices } from './presence/availability.ts'
import type { CallScope } from './presence/other-workspaces.ts'
import { ReplyWaits } from './presence/reply-waits.ts'
import { carryOutRequest, MachineRequests } from './requests.ts'
import type { LoopSettings } from './runs/run-runtime.ts'
import { Runs } from './runs/runs.ts'
import { Credentials, hashSecret, newSecret } from './sessions/credentials.ts'
import { endRevokedSessions } from './sessions/revocations.ts'
import { Sessions } from './sessions/sessions.ts'
import { type OtherMachines, type Sharing, worldWithOtherMachines } from './sharing.ts'
import { AgentReachability } from './waking/agent-reachability.ts'
import { Briefs } from './waking/briefs.ts'
import { HookWaiters } from './waking/hook-waiters.ts'
import { Notices } from './waking/notices.ts'
import { UserSessions } from './waking/user-sessions.ts'
import { WorkerReports } from './workers/worker-reports.ts'
import type { WorkerLedger, WorkerRuntime, WorktreeKeeper } from './workers/worker-runtime.ts'
import { Workers } from './workers/workers.ts'

/** The scope of a call: its workspace, the other workspaces of the daemon, and the daemon. */
export interface DaemonCallScope extends CallScope<Workspace> {
  daemon: DaemonInfo
}

/** The parts outside the broker that run programs and git for a workspace. */
export interface Runtimes {
  /** Makes the runtime that runs the programs of workers. The runtime's `start` is called once `endLeftovers` is done. */
  workers(broker: WorkerBroker): WorkerRuntime
  worktrees: WorktreeKeeper
  commits: CommitReader
  loop: LoopSettings
}

/** The parts of the broker that the supervisor works with. */
export interface WorkerBroker extends Pick<WorkspaceCore, 'engine' | 'clock' | 'ids'> {
  ledger: WorkerLedger
  approvals: ApprovalQueue
  claims: Claims
}

export interface WorkspaceOptions {
  name: string
  databasePath: string
  /** Other files that must be at their paths, or nothing is written to the database. */
  requiredPaths?: readonly string[]
  searchPath: string
  /** The folder where the hooks of agent CLIs leave their waiters, which wake idle sessions. */
  hooks?: HooksFolder
  clock: Clock
  ids: Ids
  /** The name of the person whose daemon this is. Unset if it belongs to no person. */
  person?: string
  /** The machines that the workspace lives on; unset if it lives on this one alone. */
  sharing?: Sharing
  /** What runs programs for the workspace. Unset if the workspace is only read and written, as for an import: then no program starts. */
  runtimes?: Runtimes
  onFatal(error: Error): void
  /** Called with a failure that concerns one part of the workspace alone; the other parts go on. */
  onTrouble(error: Error): void
  /** Runs the long reads of this workspace and of others, and limits their share of the event loop. */
  reads?: LongReads
}

export class Workspace implements WorkspaceCore {
  readonly name: string
  readonly store: Store
  readonly hub: EntryHub
  readonly sessions: Sessions
  readonly credentials: Credentials
  readonly engine: Engine
  readonly reads: LongReads
  readonly clock: Clock
  readonly ids: Ids
  readonly otherMachines: OtherMachines
  readonly sharing: Sharing
  readonly waits: ReplyWaits
  readonly reach: AgentReachability
  readonly approvals: Approvals
  readonly mentions: Mentions
  readonly events: Events
  readonly deliveries: Deliveries
  readonly inboxes: Inboxes
  readonly outbox: Outbox
  readonly search: MessageSearch
  readonly briefs: Briefs
  readonly notices: Notices
  readonly userSessions: UserSessions
  readonly actions: Actions
  readonly workers: Workers
  readonly runs: Runs
  readonly claims: Claims
  readonly #hookWaiters: HookWaiters

  constructor(options: WorkspaceOptions) {
    const { name, databasePath, requiredPaths, searchPath, hooks, ids, runtimes, onFatal, onTrouble } = options
    const { reads = sharedReads, sharing = singleMachineSharing } = options
    const clock = reportingClock(options.clock, onTrouble)
    this.name = name
    this.reads = reads
    this.clock = clock
    this.ids = ids
    this.store = new Store(databasePath, requiredPaths, sharing.machine)
    this.hub = new EntryHub(onTrouble)
    this.sessions = new Sessions(clock, ids, onTrouble, sharing.machine, options.person)
    this.credentials = new Credentials(this.store, clock)
    const { store, hub, sessions, credentials } = this
    const base = { store, hub, clock, ids }
    const shared = sharing.open({ ...base, localWorld: sessions, name, onTrouble, onFatal })
    const { engine, otherMachines } = shared
    this.sharing = sharing
    this.engine = engine
    this.otherMachines = otherMachines
    this.waits = new ReplyWaits({ store, hub, clock, otherMachines })
    otherMachines.onNews((gone) => gone.forEach((agent) => void sessions.recordLeftElsewhere(agent)))
    this.events = new Events({ store, hub, reads })
    const core = { ...base, name, engine, sessions, credentials, reads, otherMachines }
    const requests = new MachineRequests(otherMachines, sharing.machine)
    this.approvals = new Approvals(core, requests)
    const { approvals, waits } = this
    const world = worldWithOtherMachines(sessions, otherMachines)
    const parts: WorkspaceParts = { ...core, world, isBlocked: (agent) => approvals.hasOpen(agent) }
    this.deliveries = new Deliveries(parts)
    this.outbox = new Outbox(parts)
    this.inboxes = new Inboxes(parts, waits)
    this.briefs = new Briefs(parts, waits)
    this.actions = new Actions(parts)
    this.claims = new Claims(parts, { hooksPath: hooks?.path, commits: runtimes?.commits })
    const reports = new WorkerReports(parts)
    const runtime = runtimes?.workers({ ledger: reports, approvals, claims: this.claims, engine, clock, ids })
    this.workers = new Workers(parts, { requests, reports, runtime, keeper: runtimes?.worktrees })
    this.#hookWaiters = new HookWaiters(parts, hooks)
    const { deliveries, inboxes, workers } = this
    this.reach = new AgentReachability({ sessions, deliveries, inboxes, workers, waiters: this.#hookWaiters })
    const { reach, briefs } = this
    this.userSessions = new UserSessions({ ...parts, workers, reach, briefs })
    this.runs = new Runs(parts, workers, runtimes?.loop)
    const watched = { ...parts, waits, workers, reach }
    this.notices = new Notices({ ...parts, seen: (agent) => stateForNotices(watched, agent) })
    endRevokedSessions(store, sessions, hub)
    this.mentions = new Mentions(store)
    this.search = new MessageSearch({ store, engine, hub, reads, path: searchPath })
    shared.serve({
      agents: () => agentsToReport(watched),
      isInUse: (agent) => isNameInUse(store.view, sessions, agent),
      carryOutRequest: (machine, question) =>
        carryOutRequest({ approvals, ...workers }, sharing.allows, machine, question),
    })
  }

  /** Whether several machines share the workspace. */
  get isShared(): boolean {
    return this.sharing.machine !== undefined
  }

  get id(): string {
    return this.store.meta('id') as string
  }

  /** Ends work that an earlier daemon of this machine left unfinished. */
  async endLeftovers(): Promise<void> {
    await this.actions.endLeftovers()
    await this.runs.reports.endLeftovers()
    await this.approvals.endLeftovers()
    this.notices.load()
  }

  /**
   * Starts the workspace. The first start makes the channel `#general`, the broadcast and the workspace key, and returns the key. `isNew`: whether the caller
   * has no key of the workspace yet.
   */
  async start(keep: (workspaceId: string, key: string) => void, isNew = false): Promise<string | undefined> {
    await this.endLeftovers()
    // The workspace has an id, but the caller has no key: an earlier first start was interrupted before the key was kept, so a new key is made.
    if (this.store.meta('id') !== undefined) return isNew ? this.rotateKey(keep) : undefined
    const id = this.ids('w')
    const key = newSecret('rk')
    // Has the key kept before it is valid: if the only valid key were lost, the owner would be locked out.
    keep(id, key)
    const input = { id, keyHash: hashSecret(key) }
    acceptedReplyOrThrow(await this.engine.submit({ rule: 'workspace.begin', input, by: daemonName, cause: 'begin' }))
    return key
  }

  /** Replaces the workspace key. With the commit the former key becomes invalid, and every session that has shown it ends. */
  async rotateKey(keep: (workspaceId: string, key: string) => void): Promise<string> {
    const key = newSecret('rk')
    keep(this.id, key)
    acceptedReplyOrThrow(await submitByDaemon(this, 'workspace.rotate-key', { keyHash: hashSecret(key) }))
    return key
  }

  /** Closes the workspace; `why` is told to the sessions that are still open. */
  close(why?: RefusalError): void {
    this.notices.close()
    for (const session of this.sessions.all()) this.sessions.end(session, why)
    this.#hookWaiters.close()
    this.outbox.close()
    this.claims.close()
    this.approvals.stop()
    this.engine.close(why?.refusal ?? refusal('daemon.stopping'))
    this.search.close()
    this.store.close()
  }
}
