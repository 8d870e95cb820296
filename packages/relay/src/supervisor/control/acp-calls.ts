// The tool calls of an ACP agent as they are known so far. An agent describes a call in several messages, each with only the new parts, and the
// message that asks for permission may have the least: a person decides on all of them together.

import { permissionText } from '@agent-relay/sdk/internal/permission-text'
import { limits } from '@agent-relay/sdk/protocol'
import { copyBeginning } from '../../broker/approvals/approval-runtime.ts'
import type { ToolCall } from './acp-schemas.ts'

/** Maximum number of tool calls that are kept; the oldest are dropped first. Each may have a text as long as an approval keeps. */
const knownCallsMax = 32

export interface AcpToolCall {
  id: string
  title: string
  kind: string
  /** The full text of what the call would do. */
  input: string
}

export class AcpToolCalls {
  readonly #calls = new Map<string, AcpToolCall>()
  /** Gemini CLI's line that a command runs in the agent's own directory. An approval's row says the same, and with the line no pattern would match. */
  readonly #directoryLine: string

  constructor(cwd: string) {
    this.#directoryLine = `[current working directory ${cwd}]`
  }

  /** Merges a message into the known tool call, and returns the whole call. */
  merge({ toolCallId, title, kind, rawInput, content }: ToolCall): AcpToolCall {
    const before = this.#calls.get(toolCallId)
    const isNews = hasContent(rawInput) || hasContent(content)
    const told = Array.isArray(content) ? content.filter((each) => textOf(each) !== this.#directoryLine) : content
    const shownTitle = title ?? before?.title
    const asked = { title: shownTitle, input: rawInput, content: told }
    const input = isNews || !before ? permissionText(asked) : before.input
    const call = { id: toolCallId, title: shownTitle ?? '', kind: kind ?? before?.kind ?? '', input }
    this.#calls.delete(toolCallId)
    this.#calls.set(toolCallId, { ...call, input: copyBeginning(input, limits.approvalWholeCharsMax + 1) })
    if (this.#calls.size > knownCallsMax) this.#calls.delete(this.#calls.keys().next().value as string)
    return call
  }

  clear(): void {
    this.#calls.clear()
  }
}

function hasContent(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value != null && value !== ''
}

function textOf(content: unknown): unknown {
  return (content as { content?: { text?: unknown } } | null)?.content?.text
}
