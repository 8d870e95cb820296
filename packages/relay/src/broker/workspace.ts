// One open workspace: its store, its engine and everything that watches it, constructed once and in order.

import { daemonName, type Ids, refusal } from '@agent-relay/sdk/protocol'
import { isInUse } from '../core/agents.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type Clock, guarded } from '../machine/clock.ts'
import type { HooksFolder } from '../machine/hooks-folder.ts'
import { Store } from '../store/store.ts'
import { Actions } from './actions.ts'
import { Approvals } from './approvals/approvals.ts'
import { Mentions } from './approvals/mentions.ts'
import type { DaemonInfo, Parts, WorkspaceCore } from './call.ts'
import { Claims } from './claims/claims.ts'
import type { Engine } from './engine.ts'
import { Events } from './events.ts'
import { Hub } from './hub.ts'
import { LocalEngine } from './local-engine.ts'
import { type LongReads, sharedReads } from './long-reads.ts'
import { Deliveries } from './messages/deliveries.ts'
import { Inboxes } from './messages/inbox.ts'
import { Outbox } from './messages/outbox.ts'
import { Search } from './messages/search.ts'
import { agentsHere, seenOf } from './presence/availability.ts'
import type { CallScope } from './presence/other-workspaces.ts'
import { Waits } from './presence/waits.ts'
import { carryOut, Requests } from './requests.ts'
import { Runs } from './runs/runs.ts'
import { Credentials, hashOf, newSecret } from './sessions/credentials.ts'
import { endRevoked } from './sessions/revocations.ts'
import { Sessions } from './sessions/sessions.ts'
import { type AgentHere, type OtherMachines, type Sharing, worldWith } from './sharing.ts'
import { Briefs } from './waking/briefs.ts'
import { HookWaiters } from './waking/hook-waiters.ts'
import { Notices } from './waking/notices.ts'
import { OwnSessions } from './waking/own-sessions.ts'
import { Reach } from './waking/reach.ts'
import { Workers } from './workers/workers.ts'

/** The surroundings of a call: its workspace, the workspace's neighbours and the daemon. */
export interface Context extends CallScope<Workspace> {
  daemon: DaemonInfo
}

export interface WorkspaceOptions {
  name: string
  databasePath: string
  /** Other files without which nothing may be written. */
  besidePaths?: readonly string[]
  searchPath: string
  /** The folder where hooks leave their waiters. */
  hooks?: HooksFolder
  clock: Clock
  ids: Ids
  /** Set for a workspace that lives on several machines. */
  sharing?: Sharing
  onFatal(error: Error): void
  /** Called with a failure that concerns one part alone; the others go on. */
  onTrouble(error: Error): void
  /** Limits the share of the event loop that reads take, together with those of other workspaces. */
  reads?: LongReads
}

export class Workspace implements WorkspaceCore {
  readonly name: string
  readonly store: Store
  readonly hub: Hub
  readonly sessions: Sessions
  readonly credentials: Credentials
  readonly engine: Engine
  readonly reads: LongReads
  readonly clock: Clock
  readonly ids: Ids
  /** The other machines; like `sharing`, undefined if the workspace lives on this machine alone. */
  readonly otherMachines: OtherMachines | undefined
  readonly sharing: Sharing | undefined
  readonly waits: Waits
  readonly reach: Reach
  readonly approvals: Approvals
  readonly mentions: Mentions
  readonly events: Events
  readonly deliveries: Deliveries
  readonly inboxes: Inboxes
  readonly outbox: Outbox
  readonly search: Search
  readonly briefs: Briefs
  readonly notices: Notices
  readonly ownSessions: OwnSessions
  readonly actions: Actions
  readonly workers: Workers
  readonly runs: Runs
  readonly claims: Claims
  readonly #hookWaiters: HookWaiters

  constructor(options: WorkspaceOptions) {
    const { name, databasePath, besidePaths, searchPath, hooks, ids, sharing, onFatal, onTrouble } = options
    const { reads = sharedReads } = options
    const clock = guarded(options.clock, onTrouble)
    this.name = name
    this.reads = reads
    this.clock = clock
    this.ids = ids
    this.store = new Store(databasePath, besidePaths, sharing?.machine)
    this.hub = new Hub(onTrouble)
    this.sessions = new Sessions(clock, ids, onTrouble, sharing?.machine)
    this.credentials = new Credentials(this.store, clock)
    const { store, hub, sessions, credentials } = this
    const base = { store, hub, clock, ids }
    const shared = sharing?.open({ ...base, ...this.#shown(sharing), name, onTrouble })
    this.otherMachines = shared?.otherMachines
    this.sharing = sharing
    this.engine = shared?.engine ?? new LocalEngine({ ...base, world: sessions, onFatal })
    const { otherMachines, engine } = this
    this.waits = new Waits(store, hub, clock, otherMachines)
    otherMachines?.onNews((gone) => gone.forEach((agent) => void sessions.leftElsewhere(agent)))
    this.events = new Events(store, hub, reads)
    const core = { ...base, name, engine, sessions, credentials, reads, otherMachines }
    const requests = new Requests(otherMachines, sharing?.machine)
    this.approvals = new Approvals(core, requests)
    const { approvals, waits } = this
    const world = otherMachines ? worldWith(sessions, otherMachines) : sessions
    const parts: Parts = { ...core, world, isBlocked: (agent) => approvals.isOpen(agent) }
    this.deliveries = new Deliveries(parts)
    this.outbox = new Outbox(parts)
    this.inboxes = new Inboxes(parts, waits)
    this.briefs = new Briefs(parts, waits)
    this.actions = new Actions(parts)
    this.workers = new Workers(parts, requests)
    this.#hookWaiters = new HookWaiters(parts, hooks)
    const { deliveries, inboxes, workers } = this
    this.reach = new Reach({ sessions, deliveries, inboxes, workers, waiters: this.#hookWaiters })
    this.ownSessions = new OwnSessions(parts, workers, this.reach, this.briefs)
    this.runs = new Runs(parts, workers)
    this.claims = new Claims(parts, hooks?.path)
    this.notices = new Notices({ ...parts, seen: (agent) => seenOf(this, agent) })
    endRevoked(store, sessions, hub)
    this.mentions = new Mentions(store)
    this.search = new Search({ store, engine, hub, reads, path: searchPath })
  }

  get id(): string {
    return this.store.meta('id') as string
  }

  /** The agents on this machine, as other machines may be told. */
  present(): AgentHere[] {
    return agentsHere(this)
  }

  /** Answers the other machines of a shared workspace. They ask after the constructor has returned. */
  #shown({ allows }: Sharing) {
    return {
      carryOut: (machine: string, question: unknown) =>
        carryOut({ approvals: this.approvals, wishes: this.workers.wishes }, allows, machine, question),
      here: this.sessions,
      present: () => this.present(),
      isInUse: (agent: string) => isInUse(this.store.view, this.sessions, agent),
    }
  }

  /** Ends work that an earlier daemon of this machine left unfinished. */
  async settle(): Promise<void> {
    await this.actions.begin()
    await this.runs.reports.begin()
    await this.approvals.begin()
    this.notices.begin()
  }

  /** Opens the workspace. The first opening makes `#general`, the broadcast and the key, and returns the key. `isNew`: nobody knows a key yet. */
  async begin(keep: (workspaceId: string, key: string) => void, isNew = false): Promise<string | undefined> {
    await this.settle()
    // A new workspace with an id was interrupted after it got one: its key may not have been kept.
    if (this.store.meta('id') !== undefined) return isNew ? this.rotateKey(keep) : undefined
    const id = this.ids('w')
    const key = newSecret('rk')
    // Keep the key before it is valid: a lost key would lock the owner out.
    keep(id, key)
    const input = { id, keyHash: hashOf(key) }
    const reply = await this.engine.submit({ rule: 'workspace.begin', input, by: daemonName, cause: 'begin' })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return key
  }

  /** Replaces the key. The former key and every session that has shown it end with the commit. */
  async rotateKey(keep: (workspaceId: string, key: string) => void): Promise<string> {
    const key = newSecret('rk')
    keep(this.id, key)
    const input = { keyHash: hashOf(key) }
    const cause = this.ids('d')
    const reply = await this.engine.submit({ rule: 'workspace.rotate-key', input, by: daemonName, cause })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
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
