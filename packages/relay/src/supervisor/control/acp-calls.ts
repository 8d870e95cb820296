// The tool calls of an ACP agent as they are known so far. An agent tells of a call in several messages, each with what is new alone, and the one
// that asks for permission may have the least: what a person decides on is made of all of them.

import { askedText } from '@agent-relay/sdk/internal/asked'
import { limits } from '@agent-relay/sdk/protocol'
import { beginningOf } from '../../broker/approvals/approval-runtime.ts'
import type { ToolCall } from './acp-words.ts'

/** The calls that are kept, the oldest going first. Each may have a text as long as an approval keeps. */
const knownCallsMax = 32

export interface KnownCall {
  id: string
  title: string
  kind: string
  /** What it would do, in full. */
  input: string
}

export class AcpCalls {
  readonly #calls = new Map<string, KnownCall>()
  /** As Gemini CLI says that a command runs where the agent is anyway. It says no more than the row of an approval does, and would fit no pattern. */
  readonly #here: string

  constructor(cwd: string) {
    this.#here = `[current working directory ${cwd}]`
  }

  /** With what this message adds. */
  known({ toolCallId: id, title, kind, rawInput, content }: ToolCall): KnownCall {
    const before = this.#calls.get(id)
    const isNews = isSome(rawInput) || isSome(content)
    const told = Array.isArray(content) ? content.filter((each) => textOf(each) !== this.#here) : content
    const input =
      isNews || !before ? askedText({ title: title ?? before?.title, input: rawInput, content: told }) : before.input
    const call = { id, title: title ?? before?.title ?? '', kind: kind ?? before?.kind ?? '', input }
    this.#calls.delete(id)
    this.#calls.set(id, { ...call, input: beginningOf(input, limits.approvalWholeCharsMax + 1) })
    if (this.#calls.size > knownCallsMax) this.#calls.delete(this.#calls.keys().next().value as string)
    return call
  }

  clear(): void {
    this.#calls.clear()
  }
}

function isSome(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value != null && value !== ''
}

function textOf(content: unknown): unknown {
  return (content as { content?: { text?: unknown } } | null)?.content?.text
}
