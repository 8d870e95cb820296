// Writes journal events as lines of a file, one event per line. The dashboard's recorder saves and opens such files, and so do `agent-relay workspace export`
// and `import`.

import type { RelayEvent } from '../protocol/events.ts'
import type { Message } from '../protocol/words.ts'

/**
 * The fields that contain texts of people and agents, or what they wanted to run. A recording with `isBare` replaces them by their length; names, times and
 * causes stay.
 */
const written = new Set([
  ...['body', 'text', 'summary', 'reason', 'description', 'task', 'note'],
  ...['input', 'words', 'label', 'command', 'args'],
])

/** Writes an event as a line of a recording. `isBare` leaves out the texts of people and agents, for a report that strangers read. */
export function recordingLine(event: RelayEvent | Message, isBare: boolean): string {
  const bare = (key: string, value: unknown): unknown => {
    if (!written.has(key)) return value
    if (Array.isArray(value)) return [`(${value.length} words)`]
    return typeof value === 'string' ? `(${value.length} characters)` : value
  }
  return `${JSON.stringify(event, isBare ? bare : undefined)}\n`
}
