// Marks the messages that the person has seen as read, several in one call, and each message once.

import { client } from './connection.ts'

const readBatchMs = 150
const readBatchMax = 500
/** The most ids of marked messages that are remembered; then the list starts empty again, since marking a message twice does no harm. */
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
    // After a failed call the messages are still unread; they are marked when they are next in view.
    for (const id of messages) asked.delete(id)
  }
}
