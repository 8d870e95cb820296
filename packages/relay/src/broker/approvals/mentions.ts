// Finds messages that need a reader's attention, sent since the reader last wrote in the conversation. Messages in channels are many and never change, so each
// is read once per reader while the workspace is open. core/needs.ts decides which messages count.

import type { Need } from '@agent-relay/sdk/protocol'
import { directMembers } from '../../core/conversations.ts'
import { needKindOf } from '../../core/needs.ts'
import type { Steps } from '../../core/steps.ts'
import type { MessageHead } from '../../core/view.ts'
import type { ConversationToSearch } from '../../store/need-rows.ts'
import type { Store } from '../../store/store.ts'

export interface MessageNeed {
  head: MessageHead
  kind: Need['kind']
}

/**
 * The messages of a channel that were already searched for one reader: those with numbers above `above` and up to `through`. `needsByNumber` has those that
 * need the reader.
 */
interface SearchedPart {
  above: number
  through: number
  readonly needsByNumber: Map<number, Need['kind']>
}

/** Number of a channel's messages that are read in one step, before other work gets its turn. */
const channelMessagesPerStep = 64
/** Maximum number of readers for whom the searched messages are remembered, the latest readers. For others every message is read again. */
const readersMax = 100

export class Mentions {
  readonly #store: Pick<Store, 'needs' | 'queries'>
  /** The searched part of each channel, by the reader's name and then by the channel's database key. */
  readonly #searchedParts = new Map<string, Map<number, SearchedPart>>()

  constructor(store: Pick<Store, 'needs' | 'queries'>) {
    this.#store = store
  }

  /** Finds the messages that need the reader, newest first in each conversation. core/open-questions.ts finds the open questions in pairs and groups. */
  *messagesNeeding(reader: string, isEverywhere: boolean): Steps<MessageNeed[]> {
    const said: MessageNeed[] = []
    for (const place of yield* this.#store.needs.conversationsToSearch(reader, isEverywhere)) {
      const isDirect = directMembers(place.name).length > 0
      said.push(...(isDirect ? this.#inPair(place, reader) : yield* this.#inChannel(place, reader)))
      yield
    }
    return said
  }

  #inPair(place: ConversationToSearch, reader: string): MessageNeed[] {
    return this.#store.needs.directMessages(place, reader).flatMap((head) => this.#needOf(reader, head))
  }

  *#inChannel(place: ConversationToSearch, reader: string): Steps<MessageNeed[]> {
    const looked = this.#searchedPart(place, reader)
    const { afterNumber, lastN } = place
    // Each step stores its progress before it yields, since another session of the same reader may go on with the search.
    while (looked.through < lastN) {
      const high = Math.min(lastN, looked.through + channelMessagesPerStep)
      this.#searchPart(place, reader, looked, looked.through, high)
      looked.through = high
      yield
    }
    while (looked.above > afterNumber) {
      const low = Math.max(afterNumber, looked.above - channelMessagesPerStep)
      this.#searchPart(place, reader, looked, low, looked.above)
      looked.above = low
      yield
    }
    const since = [...looked.needsByNumber].filter(([n]) => n > afterNumber).sort(([a], [b]) => b - a)
    return since.flatMap(([n, kind]) => {
      // The message may have been pruned since it was found.
      const head = this.#store.needs.messageAt(place, n)
      return head ? [{ head, kind }] : []
    })
  }

  #searchPart(
    place: ConversationToSearch,
    reader: string,
    { needsByNumber }: SearchedPart,
    low: number,
    high: number,
  ): void {
    for (const named of this.#store.needs.messagesNaming(place, reader, low, high))
      for (const { head, kind } of this.#needOf(reader, named)) needsByNumber.set(head.n, kind)
  }

  #needOf(reader: string, head: MessageHead): MessageNeed[] {
    const kind = needKindOf(reader, head, () => this.#store.queries.messageWithBody(head).body)
    return kind === undefined ? [] : [{ head, kind }]
  }

  #searchedPart({ key, searchedAfter, lastN }: ConversationToSearch, reader: string): SearchedPart {
    const channels = this.#searchedParts.get(reader) ?? new Map<number, SearchedPart>()
    this.#searchedParts.delete(reader)
    this.#searchedParts.set(reader, channels)
    const [oldest] = this.#searchedParts.keys()
    if (this.#searchedParts.size > readersMax) this.#searchedParts.delete(oldest as string)
    const looked = channels.get(key) ?? { above: lastN, through: lastN, needsByNumber: new Map() }
    channels.set(key, looked)
    if (looked.above < searchedAfter) {
      looked.above = searchedAfter
      looked.through = Math.max(looked.through, searchedAfter)
      for (const n of looked.needsByNumber.keys()) if (n <= searchedAfter) looked.needsByNumber.delete(n)
    }
    return looked
  }
}
