// Finds out whether a permission dialog of Claude Code was answered in its terminal. Claude Code does not report this, so the file looks for the
// result of the tool call in the session's transcript, and for the running command among Claude Code's child processes. Without either, the dialog
// counts as open.

import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'

interface PermittedCall {
  tool: string
  input: Record<string, unknown>
  transcript: string | undefined
  host: number | undefined
}

/** How many bytes at the end of the transcript are read: the tool call is in its last lines. */
const tailBytes = 512 * 1024
/** Matches the result that Claude Code records for a tool call that the person refused. */
const refusalPattern = /doesn't want to (?:proceed|take this action)|rejected|interrupted by user/i

export class ClaudeTerminalWatch {
  readonly #call: PermittedCall
  /** Ids of the tool calls that had a result in the transcript before the dialog opened. */
  #earlierResults: ReadonlySet<string> | undefined
  /** Child processes that Claude Code had before the dialog opened: none of them runs the command in question. */
  readonly #earlierChildren: ReadonlySet<string>
  #size = -1

  constructor(call: PermittedCall) {
    this.#call = call
    this.#earlierChildren = new Set(this.#children())
    this.#resultInTranscript()
    // Without a transcript there were no earlier results.
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
      // Does not block if the path is another kind of file, such as a fifo.
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

  /** Whether the command is running: a new child process of Claude Code has the whole command in its arguments. */
  #isRunning(): boolean {
    const { command } = this.#call.input
    if (typeof command !== 'string') return false
    const plain = command.trim()
    // How a shell's arguments quote such a command is not known, so only the transcript can show that the command was allowed.
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

/** Whether one of the arguments is the command, or contains it in quotes or after `eval`. A longer command that contains this one does not count. */
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

/** Yields the content blocks of all messages in the text, which has one JSON message on each line. */
function* blocksIn(text: string): Generator<TranscriptBlock> {
  for (const line of text.split('\n')) {
    if (!line.includes('tool_')) continue
    try {
      const { message } = JSON.parse(line) as { message?: { content?: unknown } }
      if (Array.isArray(message?.content)) yield* message.content as TranscriptBlock[]
    } catch {
      // Skips a line that is not JSON: the first line may be cut off, and the last one still being written.
    }
  }
}
