// Marks the messages that the person has seen as read: several together, and each message once.

import { client } from './connection.ts'

const readBatchMs = 150
const readBatchMax = 500
/** Beyond this many the list of marked messages starts again: marking a message twice does no harm. */
const askedMax = 10_000
const asked = new Set<string>()
const waiting: string[] = []
let isPlanned = false

export function markRead(ids: readonly string[]): void {
  const fresh = ids.filter((id) => !asked.has(id))
  if (fresh.length === 0) return
  if (asked.size > askedMax) asked.clear()
  for (const id of fresh) asked.add(id)
  waiting.push(...fresh)
  plan()
}

function plan(): void {
  if (isPlanned) return
  isPlanned = true
  setTimeout(() => void flush(), readBatchMs)
}

async function flush(): Promise<void> {
  isPlanned = false
  const messages = waiting.splice(0, readBatchMax)
  if (waiting.length > 0) plan()
  try {
    await client.call('inbox.read', { messages })
  } catch {
    // The messages are still unread, and will be marked when they are seen again.
    for (const id of messages) asked.delete(id)
  }
}
