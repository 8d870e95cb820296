// One open workspace: its store, engine and everything that watches it. Constructed once, in order; closed in reverse.

import { daemonName, type Ids, refusal } from '@agent-relay/sdk/protocol'
import type { Clock } from '../clock.ts'
import { RefusalError } from '../refusal-error.ts'
import { Store } from '../store/store.ts'
import { Actions } from './actions.ts'
import { hashOf, isSecret, newSecret } from './credentials.ts'
import { Deliveries } from './deliveries.ts'
import { Engine } from './engine.ts'
import { Events } from './events.ts'
import { Hub } from './hub.ts'
import { endRevoked } from './revocations.ts'
import { Runs } from './runs.ts'
import { Search } from './search.ts'
import { Sessions } from './sessions.ts'
import { Waits } from './waits.ts'
import { Workers } from './workers.ts'

export interface WorkspaceOptions {
  name: string
  databasePath: string
  searchPath: string
  clock: Clock
  ids: Ids
  onFatal(error: Error): void
  /** What went wrong for one alone; the others go on. */
  onTrouble(error: Error): void
}

export class Workspace {
  readonly name: string
  readonly store: Store
  readonly hub: Hub
  readonly sessions: Sessions
  readonly engine: Engine
  readonly waits: Waits
  readonly events: Events
  readonly deliveries: Deliveries
  readonly search: Search
  readonly actions: Actions
  readonly workers: Workers
  readonly runs: Runs
  readonly clock: Clock
  readonly ids: Ids

  constructor({ name, databasePath, searchPath, clock, ids, onFatal, onTrouble }: WorkspaceOptions) {
    this.name = name
    this.clock = clock
    this.ids = ids
    this.store = new Store(databasePath)
    this.hub = new Hub(onTrouble)
    this.sessions = new Sessions(clock, ids)
    this.engine = new Engine({ store: this.store, hub: this.hub, clock, ids, world: this.sessions, onFatal })
    this.waits = new Waits(this.store, this.hub, this.sessions, clock)
    this.events = new Events(this.store, this.hub)
    const parts = {
      store: this.store,
      engine: this.engine,
      hub: this.hub,
      sessions: this.sessions,
      clock,
      nextCause: () => ids('d'),
    }
    this.deliveries = new Deliveries(parts)
    this.actions = new Actions(parts)
    this.workers = new Workers(parts)
    this.runs = new Runs({ ...parts, workers: this.workers, ids })
    endRevoked(this.store, this.sessions, this.hub)
    this.search = new Search(this.store, this.engine, this.hub, searchPath)
  }

  get id(): string {
    return this.store.meta('id') as string
  }

  /** The first opening makes `#general`, the broadcast and the key, which is answered this once. */
  async begin(keep: (workspaceId: string, key: string) => void): Promise<string | undefined> {
    await this.actions.begin()
    await this.runs.begin()
    if (this.store.meta('id') !== undefined) return undefined
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
    return this.store.queries.agentOfTokenHash(hashOf(token), this.clock.now())
  }

  isKey(key: string): boolean {
    return isSecret(key, this.store.meta('key'))
  }

  /** `why` is what the sessions are told that are still there. */
  close(why?: RefusalError): void {
    for (const session of this.sessions.all()) this.sessions.end(session, why)
    this.engine.close(why?.refusal ?? refusal('daemon.stopping'))
    this.search.close()
    this.store.close()
  }
}
