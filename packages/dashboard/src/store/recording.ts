// Saves a range of the journal as a file with one event per line, as `agent-relay workspace export --events` does, and opens such a file on any page.

import { limits, parseJson, type RelayEvent, recordingLine } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'

export interface OpenedRecording {
  name: string
  events: readonly RelayEvent[]
}

/** The opened file, which the recorder shows in place of this workspace's journal. Undefined if no file is open. */
export const openedRecording = new Cell<OpenedRecording | undefined>(undefined)

/** The largest file that is opened: more would fill the page's memory. */
const [fileBytesMax, fileEventsMax] = [64 * 1024 * 1024, 200_000]

/** The events as the text of a recording file. `isBare` leaves out what people and agents have written, for a report that strangers read. */
export function recordingText(events: readonly RelayEvent[], isBare: boolean): string {
  return events.map((event) => recordingLine(event, isBare)).join('')
}

/** Opens a recording file. Throws an error whose text tells people what is wrong with the file. */
export async function openRecording(file: File): Promise<void> {
  if (file.size > fileBytesMax) throw new Error('This file is too large: a recording has at most 64 MB.')
  const lines = (await file.text()).split('\n').filter((line) => line.trim() !== '')
  if (lines.length > fileEventsMax) throw new Error('This file is too long: a recording has at most 200,000 events.')
  const events = lines.map(eventOf)
  const isWhole = (event: RelayEvent | undefined): event is RelayEvent => event !== undefined
  if (events.length === 0 || !events.every(isWhole))
    throw new Error(
      'This is not a recording: each of its lines must be an event, as `agent-relay events --json` prints.',
    )
  openedRecording.set({ name: file.name, events: [...events].sort((a, b) => a.seq - b.seq) })
}

/**
 * Reads one line of a recording; undefined if the line is no event. The file may come from anybody, so the type and length of every field that a view reads are
 * checked.
 */
function eventOf(line: string): RelayEvent | undefined {
  const event = parsed(line)
  if (!isRecord(event) || !isRecord(event.fact) || !Number.isSafeInteger(event.seq)) return undefined
  const { type, by, ts, message } = event
  if (!isName(type) || !isName(by) || !isTime(ts)) return undefined
  const isWhole = type === 'message.created' ? isMessage(message) : message === undefined
  return isWhole ? (event as unknown as RelayEvent) : undefined
}

function isMessage(message: unknown): boolean {
  if (!isRecord(message)) return false
  const { id, from, body, kind, ts, seq, to, channel, thread, replyTo } = message
  const isPlaced = isPlace(to) || (Array.isArray(to) && to.length <= limits.groupAgentsMax && to.every(isName))
  const isOptional = [thread, replyTo].every((part) => part === undefined || isName(part))
  const isTold = [id, from, kind].every(isName) && isText(body, limits.bodyBytesMax) && isTime(ts)
  return isTold && isPlaced && isOptional && Number.isSafeInteger(seq) && (channel === undefined || isPlace(channel))
}

const isText = (value: unknown, charsMax: number): value is string =>
  typeof value === 'string' && value.length <= charsMax
const isName = (value: unknown): value is string => isText(value, limits.idCharsMax)
const isPlace = (value: unknown): value is string => isText(value, limits.conversationCharsMax)
const isTime = (value: unknown): value is string => isName(value) && !Number.isNaN(Date.parse(value))

/** Parses a line as JSON; undefined if the line is not JSON, or nests deeper than any event does. */
function parsed(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
