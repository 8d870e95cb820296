// A stretch of a journal as a file: one event a line. The page's recorder saves and opens such files, and so do `agent-relay workspace export` and
// `import`.

import type { RelayEvent } from '../protocol/events.ts'
import type { Message } from '../protocol/words.ts'

/** Fields with the texts of people and agents, and with what they wanted to run. Names, times and causes stay in a bare recording. */
const written = new Set([
  ...['body', 'text', 'summary', 'reason', 'description', 'task', 'note'],
  ...['input', 'words', 'label', 'command', 'args'],
])

/** An event as a line of a recording. `isBare`: without the texts of people and agents, for a report that strangers read. */
export function recordingLine(event: RelayEvent | Message, isBare: boolean): string {
  const bare = (key: string, value: unknown): unknown => {
    if (!written.has(key)) return value
    if (Array.isArray(value)) return [`(${value.length} words)`]
    return typeof value === 'string' ? `(${value.length} characters)` : value
  }
  return `${JSON.stringify(event, isBare ? bare : undefined)}\n`
}
