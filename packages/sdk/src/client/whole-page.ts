// Reads a whole page of results in as many calls as needed: the daemon ends a long read early and returns a cursor, so an answer with few results does not mean
// that there are no more.

import { limits } from '../protocol/limits.ts'
import type { CallName, InputOf, OutputOf } from '../protocol/operations.ts'

interface CallingClient {
  call<O extends CallName>(op: O, input: InputOf<O>): Promise<OutputOf<O>>
}

/** Searches messages until `limit` are found or none is left. `next` in the answer is the cursor to continue from. */
export function searchMessages(
  client: CallingClient,
  input: InputOf<'message.search'>,
): Promise<OutputOf<'message.search'>> {
  const { limit = limits.searchMessagesDefault } = input
  return wholePage(limit, input.before, (before, rest) =>
    client.call('message.search', { ...input, before, limit: rest }),
  )
}

export function threadMessages(
  client: CallingClient,
  input: InputOf<'message.thread'>,
): Promise<OutputOf<'message.thread'>> {
  const { limit = limits.threadMessagesDefault } = input
  return wholePage(limit, input.after, (after, rest) => client.call('message.thread', { ...input, after, limit: rest }))
}

async function wholePage<C, P extends { messages: { body: string }[]; next?: C }>(
  limit: number,
  start: C | undefined,
  ask: (from: C | undefined, limit: number) => Promise<P>,
): Promise<P> {
  const messages: { body: string }[] = []
  for (let from = start; ; ) {
    const page = await ask(from, limit - messages.length)
    messages.push(...page.messages)
    if (page.next === undefined || isFull(messages, limit)) return { ...page, messages }
    from = page.next
  }
}

/** Lists events, oldest first, as a single page: without `since` the newest events, with `since` those after it. */
export async function listEvents(client: CallingClient, input: InputOf<'event.list'>): Promise<OutputOf<'event.list'>> {
  const { limit = limits.eventsPageDefault } = input
  const isUpward = input.since !== undefined
  let [events, { since, before }]: [OutputOf<'event.list'>['events'], InputOf<'event.list'>] = [[], input]
  let [next, pruned]: [number?, number?] = []
  for (;;) {
    const page = await client.call('event.list', { ...input, since, before, limit: limit - events.length })
    events = isUpward ? [...events, ...page.events] : [...page.events, ...events]
    next = isUpward ? page.next : (next ?? page.next)
    const hasMore = isUpward
      ? page.more && (before === undefined || page.next < before - 1)
      : page.earlier !== undefined
    const shown = events.flatMap(({ message }) => message ?? [])
    pruned ??= page.pruned
    if (!hasMore || events.length >= limit || isFull(shown, limit))
      return { ...page, events, next, ...(pruned === undefined ? {} : { pruned }) }
    if (isUpward) since = page.next
    else before = page.earlier
  }
}

/** Whether a page is full: it has `limit` messages, or the bodies are so long that one more call may exceed the size of an answer. */
function isFull(messages: readonly { body: string }[], limit: number): boolean {
  const chars = messages.reduce((sum, { body }) => sum + body.length, 0)
  return messages.length >= limit || chars >= limits.pageBytesMax / 2
}
