// tools/list and tools/call of one MCP server: the toolset's own tools, and the actions that the agent may call. A call's input is checked, its
// tool run, an error answered as text that says the fix, and a line added for mail that waits.

import { RelayError } from '@agent-relay/sdk'
import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { issuesText, messageFor, type RefusalReader, refusal } from '@agent-relay/sdk/protocol'
import { errorFrom } from '@agent-relay/sdk/wire'
import type { CallToolResult, RequestId, Server, ServerContext } from '@modelcontextprotocol/server'
import { type SessionActions, type ToolClient, TurnClient } from './client.ts'
import type { Naming } from './naming.ts'
import { ActionWatch } from './push.ts'
import { shownValue } from './text.ts'
import {
  type ActionScope,
  actionCall,
  actionScope,
  listActions,
  unknownTool,
  whenShownChanges,
} from './tools/actions.ts'
import { type Tool, withRoles, withToken } from './tools/tool.ts'

/** Interval of progress reports: hosts give up on a silent call after about a minute. */
const progressMs = 15_000
const sourcesShown = 3

/** The hints that one agent has been given; in the stateless era it outlives a single request. */
export interface Memory {
  /** The newest message that a hint has mentioned, by role on a lift; elsewhere the session is one agent, under ''. */
  hinted: Map<string, number>
}

/** The surroundings of one call's answer, besides the tool and its arguments. */
export interface Answering {
  turn: Turn
  sessionActions: SessionActions
  memory: Memory
  context: ServerContext
  /** All tools of the agent: a refusal names those that help. */
  tools: readonly Tool[]
}

export async function callTool(tool: Tool, args: unknown, answering: Answering): Promise<CallToolResult> {
  const { turn, sessionActions, context } = answering
  const session = new TurnClient(turn, context.mcpReq.signal, readerWith(answering.tools), sessionActions)
  const input = tool.input.safeParse(args ?? {})
  if (!input.success) {
    const message = `Invalid input for ${tool.name}: ${issuesText(input.error.issues)}`
    return failureOf(tool, new RelayError(message, { code: 'input.invalid' }), answering.tools)
  }
  const progress = showProgress(context)
  try {
    const client = tool.role ? session.as(tool.role(input.data)) : session
    const shown = await runTool(tool, client, input.data)
    const hint = await hintFor(tool, client, client.role ?? '', answering)
    const result: CallToolResult = { content: contentOf(shown, hint) }
    return shown.isError ? { ...result, isError: true } : result
  } catch (error) {
    return failureOf(tool, error as Error, answering.tools)
  } finally {
    progress.stop()
  }
}

/** The answer's content blocks, and whether the first of them is JSON. */
interface Shown {
  blocks: string[]
  isJson: boolean
  isError: boolean
}

/** Runs a tool. Every tool's answer passes through here on its way to a model, over MCP or in a run. */
export async function runTool(tool: Tool, client: ToolClient, input: unknown): Promise<Shown> {
  const answer = await tool.run(client, input)
  if (typeof answer === 'string') return { blocks: [cleanForModel(answer)], isJson: false, isError: false }
  const { isError = false } = answer
  const isJson = 'json' in answer
  const first = isJson ? JSON.stringify(shownValue(answer.json)) : cleanForModel(answer.text)
  return { blocks: answer.note === undefined ? [first] : [first, cleanForModel(answer.note)], isJson, isError }
}

/** The content blocks. Behind JSON the hint has a block of its own, so that the JSON parses. Copilot CLI joins blocks with nothing between them. */
function contentOf({ blocks, isJson }: Shown, hint: string): CallToolResult['content'] {
  const hinted = isJson ? [...blocks, hint] : [...blocks.slice(0, -1), `${blocks.at(-1)}\n\n${hint}`]
  const [first = '', ...rest] = hint === '' ? blocks : hinted
  return [first, ...rest.map((text) => `\n${text}`)].map((text) => ({ type: 'text', text }))
}

/** An error as an answer, whose text says the fix; it is an envelope where results are. An error that is not a refusal is a fault of the relay. */
export function failureOf(tool: Tool | undefined, error: Error, tools: readonly Tool[]): CallToolResult {
  const isKnown = error instanceof RelayError
  const message = cleanForModel(isKnown ? messageFor(readerWith(tools), error) : `The relay failed: ${error.message}`)
  const code = (error instanceof RelayError ? error.code : undefined) ?? 'fault'
  const text = tool?.hasEnvelope ? JSON.stringify({ ok: false, error: { code, message } }) : `Error: ${message}`
  return { content: [{ type: 'text', text }], isError: true }
}

/** The agent as a reader of refusals, with the names of its tools. */
export function readerWith(tools: readonly Tool[]): RefusalReader {
  return { hasTool: (name) => tools.some((tool) => tool.name === name) }
}

/**
 * The hint `2 unread: Alice, #build. Call relay_inbox.`, once for each batch of mail: repeating it would only cost context. After the model's
 * memory was cut, the brief takes its place and says this too.
 */
async function hintFor(
  { showsInbox }: Tool,
  client: ToolClient,
  role: string,
  { memory, tools }: Answering,
): Promise<string> {
  // Without a tool that hands out waiting messages there is no hint.
  const inboxTool = tools.find(({ showsInbox }) => showsInbox)?.name
  if (inboxTool === undefined) return ''
  try {
    const { total, sources, newest, briefDue } = await client.count()
    const brief = briefDue ? (await client.call('agent.brief', {})).text : ''
    if (brief !== '') memory.hinted.set(role, newest)
    if (brief !== '' || showsInbox) return brief
    if (total === 0 || newest <= (memory.hinted.get(role) ?? 0)) return ''
    memory.hinted.set(role, newest)
    const names = Object.keys(sources)
    const shown = names.slice(0, sourcesShown).join(', ') + (names.length > sourcesShown ? ', …' : '')
    return `${total} unread: ${shown}. Call ${inboxTool}.`
  } catch {
    // A failed hint must not lose the answer.
    return ''
  }
}

/** Shows progress at once, which opens the stream of an HTTP answer, and then every 15 seconds; only to clients that asked for it. */
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

export interface ToolService {
  tools: readonly Tool[]
  naming: Naming
  sessionActions: SessionActions
  memory: Memory
  openTurn(rpcId: RequestId): Turn
  /** Reports that the answer to a request has left. Without this function an answer counts as gone when it is made. */
  onSent?(listener: (rpcId: RequestId) => void): void
  /** Called for every tool call, with the client's metadata. */
  onCall?(meta: Record<string, unknown>): void
  /** Every call may carry an agent's token, so the tools' schemas have an argument for it. */
  takesToken: boolean
  /** The roles of a lift. */
  roles?: readonly string[]
}

export function serveTools(server: Server, client: WorkspaceClient, service: ToolService): void {
  const { tools, takesToken, roles } = service
  const scope = actionScope(tools)
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  const find = (name: string): Tool | undefined => {
    // Dots in names are for people and other protocols; some hosts cannot take them in a list of tools.
    const own = names.get(name) ?? names.get(name.replaceAll('.', '_'))
    return own ?? (scope && actionCall(name, scope))
  }
  const answer = answering(client, service)

  server.setRequestHandler('tools/list', async () => {
    const own = tools.map((tool) => withRoles(tool, roles))
    const actions = scope === undefined ? [] : await listActions(client, scope)
    // An action may have the name of a tool that only some toolsets have, such as agent_status.
    const all = [...own, ...actions.filter(({ name }) => !names.has(name))]
    return { tools: takesToken ? all.map(withToken) : all }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    service.onCall?.(context.mcpReq._meta ?? {})
    const tool = find(params.name)
    if (!tool) return failureOf(undefined, new RelayError(unknownTool(params.name)), tools)
    return answer(tool, params.arguments, context)
  })
}

/** Runs a tool in a turn of its own, for the agent that the session acts as. */
function answering(client: WorkspaceClient, service: ToolService) {
  const { naming, sessionActions, memory, openTurn, onSent, tools, takesToken } = service
  const turns = new Map<RequestId, Turn>()
  onSent?.((id) => {
    turns.get(id)?.answered()
    turns.delete(id)
  })
  return async (tool: Tool, args: unknown, context: ServerContext) => {
    const { id, signal } = context.mcpReq
    try {
      // An invalid token is refused by every tool, also by one that needs no token.
      if (!tool.isForAnyone || takesToken) await naming.introduced()
      // A stateless caller without an agent stays without one. In a toolset without envelopes, each operation says so itself.
      if (tool.hasEnvelope && !tool.isForAnyone && client.agentName === undefined)
        throw errorFrom(refusal('agent.required'))
    } catch (error) {
      return failureOf(tool, error as Error, tools)
    }
    const turn = openTurn(id)
    const asked: Answering = { turn, sessionActions, memory, context, tools }
    const result = await callTool(tool, args, asked)
    // A cancelled call gets no answer, so no answer will ever have left.
    if (signal.aborted) turn.lost()
    else if (onSent) turns.set(id, turn)
    else turn.answered()
    return result
  }
}

/** Tells the host when the list has changed: actions came or went, or the session acts as another agent now. */
export function tellOfActions(
  server: Server,
  client: WorkspaceClient,
  naming: Naming,
  scope: ActionScope,
): ActionWatch {
  const tell = () => void server.sendToolListChanged().catch(() => {})
  const watch = new ActionWatch(client, () => whenShownChanges(client, scope, tell))
  naming.onNamed(() => {
    client.call('action.list', { limit: 1 }).then(
      ({ actions }) => actions.length > 0 && watch.changed(),
      () => {},
    )
  })
  return watch
}
