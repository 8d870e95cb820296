// What the parts of a workspace that act by themselves are made of; each takes what it needs of it.

import type { Clock } from '../clock.ts'
import type { Store } from '../store/store.ts'
import type { Engine } from './engine.ts'
import type { Hub } from './hub.ts'
import type { Sessions } from './sessions.ts'

export interface Parts {
  store: Store
  engine: Engine
  hub: Hub
  sessions: Sessions
  clock: Clock
  /** Names a command that nobody asked for. */
  nextCause: () => string
}
