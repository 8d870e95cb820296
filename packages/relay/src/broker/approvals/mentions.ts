// What others have said to somebody since they last wrote in each conversation. The texts of channels are many and never change: for each reader one
// is looked at once as long as the workspace is open, and after that only what is new. What counts is decided in core/needs.ts.

import type { Need } from '@agent-relay/sdk/protocol'
import { directMembers } from '../../core/conversations.ts'
import { asksOf } from '../../core/needs.ts'
import type { Steps } from '../../core/steps.ts'
import type { MessageHead } from '../../core/view.ts'
import type { Place } from '../../store/need-rows.ts'
import type { Store } from '../../store/store.ts'

export interface Said {
  head: MessageHead
  kind: Need['kind']
}

/** What is known of a channel for one reader: of its messages above `above` and up to `through`, what those ask of them that ask anything. */
interface Looked {
  above: number
  through: number
  readonly asking: Map<number, Need['kind']>
}

/** Of a channel, messages that are looked at in one step. */
const perStep = 64
/** Those who have asked last. For others all of it is looked at again. */
const readersMax = 100

export class Mentions {
  readonly #store: Pick<Store, 'needs' | 'queries'>
  /** By reader, and by the key of the channel. */
  readonly #looked = new Map<string, Map<number, Looked>>()

  constructor(store: Pick<Store, 'needs' | 'queries'>) {
    this.#store = store
  }

  /** Newest first in each conversation. Open questions in pairs and groups are found elsewhere. */
  *since(reader: string, isEverywhere: boolean): Steps<Said[]> {
    const said: Said[] = []
    for (const place of yield* this.#store.needs.places(reader, isEverywhere)) {
      const isDirect = directMembers(place.name).length > 0
      said.push(...(isDirect ? this.#inPair(place, reader) : yield* this.#inChannel(place, reader)))
      yield
    }
    return said
  }

  #inPair(place: Place, reader: string): Said[] {
    return this.#store.needs.direct(place, reader).flatMap((head) => this.#asking(reader, head))
  }

  *#inChannel(place: Place, reader: string): Steps<Said[]> {
    const looked = this.#lookedAt(place, reader)
    const { above, lastN } = place
    // Each step says how far it has come before another reader's or session's may go on.
    while (looked.through < lastN) {
      const high = Math.min(lastN, looked.through + perStep)
      this.#look(place, reader, looked, looked.through, high)
      looked.through = high
      yield
    }
    while (looked.above > above) {
      const low = Math.max(above, looked.above - perStep)
      this.#look(place, reader, looked, low, looked.above)
      looked.above = low
      yield
    }
    const since = [...looked.asking].filter(([n]) => n > above).sort(([a], [b]) => b - a)
    return since.flatMap(([n, kind]) => {
      // One that was pruned is gone.
      const head = this.#store.needs.at(place, n)
      return head ? [{ head, kind }] : []
    })
  }

  #look(place: Place, reader: string, { asking }: Looked, low: number, high: number): void {
    for (const named of this.#store.needs.naming(place, reader, low, high))
      for (const { head, kind } of this.#asking(reader, named)) asking.set(head.n, kind)
  }

  #asking(reader: string, head: MessageHead): Said[] {
    const kind = asksOf(reader, head, () => this.#store.queries.whole(head).body)
    return kind === undefined ? [] : [{ head, kind }]
  }

  #lookedAt({ key, first, lastN }: Place, reader: string): Looked {
    const channels = this.#looked.get(reader) ?? new Map<number, Looked>()
    this.#looked.delete(reader)
    this.#looked.set(reader, channels)
    const [oldest] = this.#looked.keys()
    if (this.#looked.size > readersMax) this.#looked.delete(oldest as string)
    const looked = channels.get(key) ?? { above: lastN, through: lastN, asking: new Map() }
    channels.set(key, looked)
    if (looked.above < first) {
      looked.above = first
      looked.through = Math.max(looked.through, first)
      for (const n of looked.asking.keys()) if (n <= first) looked.asking.delete(n)
    }
    return looked
  }
}
