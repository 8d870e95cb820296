// Finds the messages to a reader since the reader last wrote in each conversation. Texts of channels are many and never change, so each is read once for a
// reader while the workspace is open. core/needs.ts decides which messages count.

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

/**
 * The part of a channel that was looked through for one reader: its messages above `above` and up to `through`, with the needs (things that wait for a person)
 * that they make.
 */
interface Looked {
  above: number
  through: number
  readonly asking: Map<number, Need['kind']>
}

/** Number of a channel's messages that are read in one step. */
const perStep = 64
/** Maximum number of readers whose progress is remembered, the latest; for other readers everything is read again. */
const readersMax = 100

export class Mentions {
  readonly #store: Pick<Store, 'needs' | 'queries'>
  /** The parts of channels that were looked through, by reader and the channel's key. */
  readonly #looked = new Map<string, Map<number, Looked>>()

  constructor(store: Pick<Store, 'needs' | 'queries'>) {
    this.#store = store
  }

  /** Finds the messages that need the reader, newest first in each conversation. core/open-questions.ts finds the open questions in pairs and groups. */
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
    // Each step stores its progress before another session of the reader may go on.
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
      // The message may have been pruned since it was found.
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
