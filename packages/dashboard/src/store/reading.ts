// Marking as read what the person has seen: together, and each message once.

import { client } from './connection.ts'

const restMs = 150
const batchMax = 500
/** Beyond it the memory starts afresh: what is marked twice is marked once. */
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
  setTimeout(() => void flush(), restMs)
}

async function flush(): Promise<void> {
  isPlanned = false
  const messages = waiting.splice(0, batchMax)
  if (waiting.length > 0) plan()
  try {
    await client.call('inbox.read', { messages })
  } catch {
    // They are unread still, and will be seen again.
    for (const id of messages) asked.delete(id)
  }
}
