// Finds out whether a permission of Claude Code was answered at its terminal. Claude Code tells nobody: the result of the call stands in the session's
// transcript, and a command that runs is a child of the host. A permission is taken for open if neither shows an answer.

import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'

interface PermittedCall {
  tool: string
  input: Record<string, unknown>
  transcript: string | undefined
  host: number | undefined
}

/** The part of the transcript that is read, its end: the call stands in the last lines. */
const tailBytes = 512 * 1024
/** The words in Claude Code's result of a call that the person refused. */
const refusalPattern = /doesn't want to (?:proceed|take this action)|rejected|interrupted by user/i

export class ClaudeTerminalWatch {
  readonly #call: PermittedCall
  /** Results that the transcript had before the question. */
  #earlierResults: ReadonlySet<string> | undefined
  /** Children that the host had before the question: none of them is the command in question. */
  readonly #earlierChildren: ReadonlySet<string>
  #size = -1

  constructor(call: PermittedCall) {
    this.#call = call
    this.#earlierChildren = new Set(this.#children())
    this.#resultInTranscript()
    // A missing transcript holds no result.
    this.#earlierResults ??= new Set()
  }

  terminalAnswer(): 'allow' | 'deny' | undefined {
    return this.#resultInTranscript() ?? (this.#isRunning() ? 'allow' : undefined)
  }

  #resultInTranscript(): 'allow' | 'deny' | undefined {
    const text = this.#readTail()
    if (text === undefined) return undefined
    const { tool, input } = this.#call
    const same = JSON.stringify(input)
    const calls = new Set<string>()
    const results = new Map<string, string>()
    for (const block of blocksIn(text)) {
      if (block.type === 'tool_use' && block.name === tool && JSON.stringify(block.input) === same)
        calls.add(String(block.id))
      if (block.type === 'tool_result') results.set(String(block.tool_use_id), JSON.stringify(block))
    }
    this.#earlierResults ??= new Set(results.keys())
    for (const id of calls) {
      const result = results.get(id)
      if (result !== undefined && !this.#earlierResults.has(id))
        return /"is_error":true/.test(result) && refusalPattern.test(result) ? 'deny' : 'allow'
    }
    return undefined
  }

  /** Reads the end of the transcript; undefined if nothing was added since the last look. */
  #readTail(): string | undefined {
    const { transcript } = this.#call
    if (transcript === undefined) return undefined
    try {
      // Another kind of file at this path must not block us.
      const file = openSync(transcript, constants.O_RDONLY | constants.O_NONBLOCK)
      try {
        const found = fstatSync(file)
        const { size } = found
        if (!found.isFile() || size === this.#size) return undefined
        this.#size = size
        const bytes = Buffer.alloc(Math.min(size, tailBytes))
        readSync(file, bytes, 0, bytes.length, size - bytes.length)
        return bytes.toString('utf8')
      } finally {
        closeSync(file)
      }
    } catch {
      return undefined
    }
  }

  /** Whether the command runs: a new child of the host has the whole command in its arguments. */
  #isRunning(): boolean {
    const { command } = this.#call.input
    if (typeof command !== 'string') return false
    const plain = command.trim()
    // The quoted form of such a command in a shell's arguments is not known, so only the transcript's result tells.
    if (plain === '' || /[\n'"\\]/.test(plain)) return false
    return this.#children().some((pid) => !this.#earlierChildren.has(pid) && containsCommand(argumentsOf(pid), plain))
  }

  #children(): string[] {
    const { host } = this.#call
    if (host === undefined || process.platform !== 'linux') return []
    return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === host)
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Whether the arguments hold the command: alone, in quotes, or behind `eval`. A longer command that contains this one is another. */
function containsCommand(all: readonly string[], command: string): boolean {
  const quoted = [`'${command}'`, `"${command}"`, `eval ${command} \\<`, `eval ${command} <`]
  return all.some((each) => each === command || quoted.some((form) => each.includes(form)))
}

interface TranscriptBlock {
  type?: string
  name?: string
  input?: unknown
  id?: string
  tool_use_id?: string
}

/** The parts of the messages; each line of the text holds one message. */
function* blocksIn(text: string): Generator<TranscriptBlock> {
  for (const line of text.split('\n')) {
    if (!line.includes('tool_')) continue
    try {
      const { message } = JSON.parse(line) as { message?: { content?: unknown } }
      if (Array.isArray(message?.content)) yield* message.content as TranscriptBlock[]
    } catch {
      // The first line was cut, or the last line is still being written.
    }
  }
}
