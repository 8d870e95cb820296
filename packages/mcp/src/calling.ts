// Answering one tools/call: input checked, tool run, errors as text that says the mend, and a line for mail that waits.

import type { Turn } from '@agent-relay/sdk'
import { RelayError } from '@agent-relay/sdk'
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { type ToolClient, TurnClient } from './client.ts'
import type { Desk } from './desk.ts'
import type { Tool } from './tools/tool.ts'

/** Hosts give up on a silent call after about a minute. */
const progressMs = 15_000
const sourcesShown = 3

/** What one agent has been told already; outlives a single request on the stateless era. */
export interface Memory {
  /** The newest message that a hint has spoken of, by role on a lift; elsewhere the session is one agent, under ''. */
  hinted: Map<string, number>
}

/** What belongs to the answer of one call, besides the tool and its arguments. */
export interface Answering {
  turn: Turn
  desk: Desk
  memory: Memory
  context: ServerContext
  /** The tool that hands out what waits; without one nothing is said of it. */
  inboxTool: string | undefined
}

export async function callTool(tool: Tool, args: unknown, answering: Answering): Promise<CallToolResult> {
  const { turn, desk, context } = answering
  const session = new TurnClient(turn, context.mcpReq.signal, desk)
  const input = tool.input.safeParse(args ?? {})
  if (!input.success) {
    const why = input.error.issues.map(({ path, message }) =>
      path.length > 0 ? `${path.join('.')}: ${message}` : message,
    )
    const message = `Invalid input for ${tool.name}: ${why.join('; ')}`
    return failureOf(tool, new RelayError(message, { code: 'input.invalid' }))
  }
  const progress = showProgress(context)
  try {
    const role = tool.role?.(input.data)
    const client = role === undefined ? session : session.as(role)
    const { text, structured, isError } = await tool.run(client, input.data)
    const hint = tool.showsInbox ? '' : await hintFor(client, role ?? '', answering)
    const result: CallToolResult = { content: contentOf(tool, text, hint), structuredContent: structured as never }
    return isError ? { ...result, isError } : result
  } catch (error) {
    return failureOf(tool, error as Error)
  } finally {
    progress.stop()
  }
}

/** Where the text may be JSON the line stands by itself, so that it stays JSON. */
function contentOf({ hasEnvelope, isJson }: Tool, text: string, hint: string): CallToolResult['content'] {
  if (hint === '' || !(hasEnvelope || isJson))
    return [{ type: 'text', text: hint === '' ? text : `${text}\n\n${hint}` }]
  return [
    { type: 'text', text },
    { type: 'text', text: hint },
  ]
}

/** The text says the mend; where results are structured, so are errors. What is no refusal is ours to mend. */
export function failureOf(tool: Tool | undefined, error: Error): CallToolResult {
  const message = error instanceof RelayError ? error.message : `The relay failed: ${error.message}`
  const failure: CallToolResult = { content: [{ type: 'text', text: `Error: ${message}` }], isError: true }
  if (!tool?.hasEnvelope) return failure
  const code = (error instanceof RelayError ? error.code : undefined) ?? 'fault'
  return { ...failure, structuredContent: { ok: false, error: { code, message } } }
}

/** `2 unread: Alice, #build. Call relay_inbox.`, once for each batch of mail: repeating it would only cost context. */
async function hintFor(client: ToolClient, role: string, { memory, inboxTool }: Answering): Promise<string> {
  if (inboxTool === undefined) return ''
  try {
    const { total, sources, newest } = await client.count()
    if (total === 0 || newest <= (memory.hinted.get(role) ?? 0)) return ''
    memory.hinted.set(role, newest)
    const names = Object.keys(sources)
    const shown = names.slice(0, sourcesShown).join(', ') + (names.length > sourcesShown ? ', …' : '')
    return `${total} unread: ${shown}. Call ${inboxTool}.`
  } catch {
    // The answer itself is what counts.
    return ''
  }
}

/** At once, which opens the stream of an HTTP answer, and then every quarter of a minute; only for those who asked. */
function showProgress({ mcpReq }: ServerContext): { stop(): void } {
  const token = mcpReq._meta?.progressToken
  if (token === undefined) return { stop() {} }
  let progress = 0
  const show = () => {
    mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken: token, progress: progress++ } })
      .catch(() => {})
  }
  show()
  const timer = setInterval(show, progressMs)
  timer.unref?.()
  return { stop: () => clearInterval(timer) }
}
