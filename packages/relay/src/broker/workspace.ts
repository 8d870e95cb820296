// One open workspace: its store, engine and everything that watches it. Constructed once, in order; closed in reverse.

import { daemonName, type Ids, refusal } from '@agent-relay/sdk/protocol'
import { isInUse } from '../core/agents.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type Clock, guarded, isAhead } from '../machine/clock.ts'
import type { HooksFolder } from '../machine/hooks-folder.ts'
import { Store } from '../store/store.ts'
import { Actions } from './actions.ts'
import { Approvals } from './approvals/approvals.ts'
import { SaidTo } from './approvals/mentions.ts'
import type { DaemonInfo } from './call.ts'
import { Claims } from './claims/claims.ts'
import { type AgentHere, type Elsewhere, worldWith } from './elsewhere.ts'
import type { Engine } from './engine.ts'
import { Events } from './events.ts'
import { Hub } from './hub.ts'
import { LocalEngine } from './local-engine.ts'
import { type LongReads, sharedReads } from './long-reads.ts'
import { Deliveries } from './messages/deliveries.ts'
import { Inboxes } from './messages/inbox.ts'
import { Outbox } from './messages/outbox.ts'
import { Search } from './messages/search.ts'
import { seenOf } from './presence/availability.ts'
import { Waits } from './presence/waits.ts'
import { carryOut, Requests } from './requests.ts'
import { Runs } from './runs/runs.ts'
import { dayTokenMs, hashOf, isSecret, newSecret } from './sessions/credentials.ts'
import { endRevoked } from './sessions/revocations.ts'
import { Sessions } from './sessions/sessions.ts'
import type { Sharing } from './sharing.ts'
import { Briefs } from './waking/briefs.ts'
import { Waiters } from './waking/hook-waiters.ts'
import { Notices } from './waking/notices.ts'
import { Waking } from './waking/own-sessions.ts'
import { Reach } from './waking/reach.ts'
import { Workers } from './workers/workers.ts'

/** Where a call is answered. */
export interface Context {
  workspace: Workspace
  neighbours: Neighbours
  daemon: DaemonInfo
}

/** The workspaces that this daemon serves, the caller's own among them. */
export interface Neighbours {
  names(): string[]
  /** Of these, those at rest, the last used first. */
  atRest(): string[]
  /** The others. A look at one does not keep it from its rest. */
  awake(): Workspace[]
  /** Opens it if it is at rest, and keeps it open until the work is done. Undefined where there is no such workspace. */
  visit<T>(name: string, work: (other: Workspace) => T | Promise<T>): Promise<T | undefined>
}

export interface WorkspaceOptions {
  name: string
  databasePath: string
  /** Other files without which nothing may be written. */
  besidePaths?: readonly string[]
  searchPath: string
  /** Where hooks leave their waiters, if anywhere. */
  hooks?: HooksFolder
  clock: Clock
  ids: Ids
  /** For a workspace that lives on several machines. */
  sharing?: Sharing
  onFatal(error: Error): void
  /** What went wrong for one alone; the others go on. */
  onTrouble(error: Error): void
  /** What reads may take of the event loop, together with those of other workspaces. */
  reads?: LongReads
}

export class Workspace {
  readonly name: string
  readonly store: Store
  readonly hub: Hub
  readonly sessions: Sessions
  readonly engine: Engine
  /** Undefined where the workspace lives on this machine alone. */
  readonly elsewhere: Elsewhere | undefined
  readonly sharing: Sharing | undefined
  readonly waits: Waits
  readonly events: Events
  readonly deliveries: Deliveries
  readonly inboxes: Inboxes
  readonly outbox: Outbox
  readonly briefs: Briefs
  readonly saidTo: SaidTo
  readonly search: Search
  readonly actions: Actions
  readonly workers: Workers
  readonly runs: Runs
  readonly claims: Claims
  readonly approvals: Approvals
  readonly notices: Notices
  readonly waiters: Waiters
  readonly reach: Reach
  readonly waking: Waking
  readonly reads: LongReads
  readonly clock: Clock
  readonly ids: Ids
  /** Registrations under way, by the family of the name. */
  readonly registering = new Map<string, Promise<unknown>>()

  constructor(options: WorkspaceOptions) {
    const { name, databasePath, besidePaths, searchPath, ids, sharing, onFatal, onTrouble } = options
    const { reads = sharedReads } = options
    const clock = guarded(options.clock, onTrouble)
    this.name = name
    this.reads = reads
    this.clock = clock
    this.ids = ids
    this.store = new Store(databasePath, besidePaths, sharing?.machine)
    this.hub = new Hub(onTrouble)
    this.sessions = new Sessions(clock, ids, onTrouble, sharing?.machine)
    const own = { store: this.store, hub: this.hub, clock, ids }
    const shared = sharing?.open({ ...own, ...this.#shown(sharing), name, onTrouble })
    this.elsewhere = shared?.elsewhere
    this.sharing = sharing
    this.engine = shared?.engine ?? new LocalEngine({ ...own, world: this.sessions, onFatal })
    this.waits = new Waits(this.store, this.hub, clock, this.elsewhere)
    this.elsewhere?.onNews((gone) => gone.forEach((agent) => void this.sessions.leftElsewhere(agent)))
    this.events = new Events(this.store, this.hub, reads)
    const parts = {
      store: this.store,
      engine: this.engine,
      hub: this.hub,
      sessions: this.sessions,
      clock,
      reads,
      elsewhere: this.elsewhere,
      isBlocked: (agent: string) => this.approvals.isOpen(agent),
      nextCause: () => ids('d'),
    }
    const requests = new Requests(this.elsewhere, sharing?.machine)
    this.approvals = new Approvals(parts, name, requests)
    this.deliveries = new Deliveries(parts)
    this.outbox = new Outbox(parts, ids)
    this.inboxes = new Inboxes(parts, this.waits)
    this.briefs = new Briefs(parts, this.waits)
    const world = this.elsewhere ? worldWith(this.sessions, this.elsewhere) : this.sessions
    this.actions = new Actions({ ...parts, ids, world })
    this.workers = new Workers(parts, requests)
    this.waiters = new Waiters(parts, name, options.hooks)
    const { sessions, deliveries, inboxes, workers, waiters } = this
    this.reach = new Reach({ sessions, deliveries, inboxes, workers, waiters })
    this.waking = new Waking(parts, workers, this.reach, this.briefs)
    this.runs = new Runs(parts, this.workers, ids)
    this.claims = new Claims(parts, name, options.hooks?.path)
    this.notices = new Notices({ ...parts, world, seen: (agent) => seenOf(this, agent) })
    endRevoked(this.store, this.sessions, this.hub)
    this.saidTo = new SaidTo(this.store)
    this.search = new Search({ store: this.store, engine: this.engine, hub: this.hub, reads, path: searchPath })
  }

  get id(): string {
    return this.store.meta('id') as string
  }

  /** Who is there on this machine, as others may be told. */
  present(): AgentHere[] {
    return this.reach.present().map((agent) => {
      // Who tells its agents of one that lives here knows no more than this: one that is busy or asks is not idle.
      const status = agent.status === 'idle' && seenOf(this, agent.name) !== 'idle' ? 'active' : agent.status
      return { ...agent, status, waits: this.waits.told(agent.name) }
    })
  }

  /** What the other machines of a shared workspace may know and ask. */
  #shown({ allows }: Sharing) {
    return {
      carryOut: (machine: string, question: unknown) =>
        carryOut({ approvals: this.approvals, wishes: this.workers.wishes }, allows, machine, question),
      here: this.sessions,
      present: () => this.present(),
      isInUse: (agent: string) => isInUse(this.store.view, this.sessions, agent),
    }
  }

  /** Ends what an earlier daemon of this machine has left. */
  async settle(): Promise<void> {
    await this.actions.begin()
    await this.runs.reports.begin()
    await this.approvals.begin()
    this.notices.begin()
  }

  /** The first opening makes `#general`, the broadcast and the key, which is answered this once. `isNew`: nobody has been told a key yet. */
  async begin(keep: (workspaceId: string, key: string) => void, isNew = false): Promise<string | undefined> {
    await this.settle()
    // One that is new and has an id was cut off after it got one: the key of then may not have been kept.
    if (this.store.meta('id') !== undefined) return isNew ? this.rotateKey(keep) : undefined
    const id = this.ids('w')
    const key = newSecret('rk')
    // Kept before it is valid: a key that was made but never kept would lock the owner out.
    keep(id, key)
    const input = { id, keyHash: hashOf(key) }
    const reply = await this.engine.submit({ rule: 'workspace.begin', input, by: daemonName, cause: 'begin' })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return key
  }

  /** The former key and every session that has shown it end with the commit. Kept before it is valid, as at the beginning. */
  async rotateKey(keep: (workspaceId: string, key: string) => void): Promise<string> {
    const key = newSecret('rk')
    keep(this.id, key)
    const input = { keyHash: hashOf(key) }
    const cause = this.ids('d')
    const reply = await this.engine.submit({ rule: 'workspace.rotate-key', input, by: daemonName, cause })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return key
  }

  agentOfToken(token: string): string | undefined {
    const found = this.store.queries.token(hashOf(token))
    if (found?.until !== undefined && !isAhead(found.until, this.clock.now(), dayTokenMs)) return undefined
    return found?.agent
  }

  /** Of its key and all its tokens. */
  credentialHashes(): string[] {
    return [this.store.meta('key') ?? '', ...this.store.queries.tokenHashes()]
  }

  isKey(key: string): boolean {
    return isSecret(key, this.store.meta('key'))
  }

  /** `why` is what the sessions are told that are still there. */
  close(why?: RefusalError): void {
    this.notices.close()
    for (const session of this.sessions.all()) this.sessions.end(session, why)
    this.waiters.close()
    this.outbox.close()
    this.claims.close()
    this.approvals.stop()
    this.engine.close(why?.refusal ?? refusal('daemon.stopping'))
    this.search.close()
    this.store.close()
  }
}
