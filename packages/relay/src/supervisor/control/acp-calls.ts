// Collects what an ACP agent says about its tool calls. The agent describes a call in several messages, each with only the new parts, and the message
// that asks for permission may contain the least. A person who decides is shown all parts together.

import { permissionText } from '@agent-relay/sdk/internal/permission-text'
import { limits } from '@agent-relay/sdk/protocol'
import { copyBeginning } from '../../broker/approvals/approval-runtime.ts'
import type { ToolCall } from './acp-schemas.ts'

/** Maximum number of tool calls that are kept; the oldest are dropped first. The text of each may be as long as that of an approval. */
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
  /**
   * A line by which Gemini CLI says that a command runs in the agent's own directory. It is left out: the approval names the directory anyway, and no
   * delegation's pattern would match a command with this line.
   */
  readonly #directoryLine: string

  constructor(cwd: string) {
    this.#directoryLine = `[current working directory ${cwd}]`
  }

  /** Adds a message to what is known of its tool call, and returns the whole call. */
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
