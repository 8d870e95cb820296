// Finds out from the transcript of a Claude Code session whether the session's model was given a message. The session writes each message that it
// gives to its model into the transcript, with the id under which we sent it. A message that waits in the session, or is held there, is written in
// another form or not at all.

import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tryOrUndefined } from '../../machine/try-or-undefined.ts'

const chunkBytes = 1024 * 1024
/** Maximum number of bytes read in one search: a transcript may grow by megabytes a minute, and other work must get its turn. */
const lookBytesMax = 16 * chunkBytes
/** Maximum length of a line that is kept; a longer line contains a picture or a file, and no message. */
const entryBytesMax = 4 * chunkBytes

/** Number of bytes at the transcript's end that are searched for messages of an earlier daemon. */
const tailBytes = 4 * chunkBytes

export interface TranscriptFinding {
  /** Whether the model was given the message. */
  isGiven: boolean
  /** Whether the message waits in the session for the end of the turn. */
  isQueued: boolean
}

export class ClaudeTranscript {
  readonly #home: string
  readonly #sessionId: string
  #path: string | undefined
  #at = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor(home: string, sessionId: string) {
    this.#home = home
    this.#sessionId = sessionId
    this.#path = this.#find()
  }

  /** Moves the reading position to the transcript's present end. */
  skipToEnd(): undefined {
    if (this.#path !== undefined) this.#at = statSync(this.#path).size
  }

  /** Finds out whether earlier sent messages, named by their ids, were given to the model or wait in the session. */
  findEarlier(messages: readonly string[]): 'given' | 'queued' | undefined {
    this.skipToEnd()
    this.#at = Math.max(0, this.#at - tailBytes)
    const { isGiven, isQueued } = this.search('', messages)
    return isGiven ? 'given' : isQueued ? 'queued' : undefined
  }

  /**
   * Searches the transcript's new lines for a text that was sent to the session, by the text's id (`textId`) or by the ids of the relay's messages in
   * it.
   */
  search(textId: string, messages: readonly string[]): TranscriptFinding {
    const shown: TranscriptFinding = { isGiven: false, isQueued: false }
    this.#path ??= this.#find()
    if (this.#path === undefined) return shown
    try {
      for (const line of this.#read(this.#path)) {
        if (!line.includes('cross-session-message')) continue
        shown.isGiven ||= isGiven(line, textId, messages)
        shown.isQueued ||= isQueued(line, messages)
      }
    } catch {
      // The transcript was moved or cannot be read any more, so the next search looks for its path again.
      this.#path = undefined
    }
    return shown
  }

  #read(path: string): string[] {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const found: string[] = []
    try {
      const stats = fstatSync(file)
      if (!stats.isFile()) return []
      for (let left = lookBytesMax; left > 0 && this.#at < stats.size; left -= chunkBytes) {
        const bytes = Buffer.alloc(Math.min(chunkBytes, stats.size - this.#at))
        const count = readSync(file, bytes, 0, bytes.length, this.#at)
        if (count === 0) break
        this.#at += count
        found.push(...this.#lines(bytes.subarray(0, count)))
      }
    } finally {
      closeSync(file)
    }
    return found
  }

  /** Returns the complete lines among these bytes; an incomplete last line is kept for the next call. */
  #lines(bytes: Buffer): string[] {
    const all = Buffer.concat([this.#rest, bytes])
    const end = all.lastIndexOf('\n')
    const rest = all.subarray(end + 1)
    this.#rest = rest.length > entryBytesMax ? Buffer.alloc(0) : rest
    return end < 0 ? [] : all.subarray(0, end).toString('utf8').split('\n')
  }

  /**
   * Looks for the session's transcript in all folders: Claude Code names them after the directory in which the conversation began, by a rule of its
   * own.
   */
  #find(): string | undefined {
    try {
      const projects = join(this.#home, 'projects')
      const paths = readdirSync(projects).map((folder) => join(projects, folder, `${this.#sessionId}.jsonl`))
      return paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    } catch {
      return undefined
    }
  }
}

interface Origin {
  kind?: unknown
  msg_id?: unknown
  body?: unknown
}

interface TranscriptLine {
  type?: unknown
  operation?: unknown
  content?: unknown
  origin?: Origin
  attachment?: { origin?: Origin }
}

function isGiven(line: string, textId: string, messages: readonly string[]): boolean {
  const { origin, attachment } = parseLine(line)
  const { kind, msg_id: id, body } = origin ?? attachment?.origin ?? {}
  return kind === 'peer' && (id === textId || hasAll(body, messages))
}

function isQueued(line: string, messages: readonly string[]): boolean {
  const { type, operation, content } = parseLine(line)
  return type === 'queue-operation' && operation === 'enqueue' && hasAll(content, messages)
}

/** Whether the text has the ids of all these messages. */
function hasAll(text: unknown, messages: readonly string[]): boolean {
  return typeof text === 'string' && messages.every((id) => text.includes(`[${id}]`))
}

function parseLine(line: string): TranscriptLine {
  return tryOrUndefined(() => JSON.parse(line) as TranscriptLine | null) ?? {}
}
