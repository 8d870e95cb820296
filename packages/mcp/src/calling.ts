// tools/list and tools/call of one MCP server: the toolset's own tools, and the actions that the agent may call. A call's input is checked, its
// tool run, an error answered as text that says the fix, and a line added for mail that waits.

import { RelayError } from '@agent-relay/sdk'
import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { issuesText, messageFor, type RefusalReader, refusal } from '@agent-relay/sdk/protocol'
import { errorFrom } from '@agent-relay/sdk/wire'
import type { CallToolResult, RequestId, Server, ServerContext } from '@modelcontextprotocol/server'
import { type SessionServices, type ToolClient, TurnClient } from './client.ts'
import type { AgentNaming } from './naming.ts'
import { ActionWatch } from './push.ts'
import { cleanValueForModel } from './text.ts'
import {
  type ActionScope,
  actionScopeOf,
  listActions,
  shownActionsNotifier,
  toolForAction,
  unknownToolText,
} from './tools/actions.ts'
import { type Tool, withRoleNames, withTokenArgument } from './tools/tool.ts'

/** Interval of progress reports: hosts give up on a silent call after about a minute. */
const progressMs = 15_000
const hintSourcesMax = 3

/** Memory of the hints that one agent has been given. In the stateless protocol the memory outlives a single request. */
export interface HintMemory {
  /** The newest message that a hint has mentioned, by role. Outside a lift the session is one agent, under the key ''. */
  newestHinted: Map<string, number>
}

/** The context in which one tool call is answered, besides the tool and its arguments. */
export interface ToolCallContext {
  turn: Turn
  sessionServices: SessionServices
  hintMemory: HintMemory
  context: ServerContext
  /** All tools of the agent: a refusal names those that help. */
  tools: readonly Tool[]
}

export async function callTool(tool: Tool, args: unknown, answering: ToolCallContext): Promise<CallToolResult> {
  const { turn, sessionServices, context } = answering
  const session = new TurnClient(turn, context.mcpReq.signal, refusalReaderFor(answering.tools), sessionServices)
  const input = tool.input.safeParse(args ?? {})
  if (!input.success) {
    const message = `Invalid input for ${tool.name}: ${issuesText(input.error.issues)}`
    return failedCallResult(tool, new RelayError(message, { code: 'input.invalid' }), answering.tools)
  }
  const progress = showProgress(context)
  try {
    const client = tool.role ? session.actingAs(tool.role(input.data)) : session
    const shown = await runTool(tool, client, input.data)
    const hint = await hintFor(tool, client, client.role ?? '', answering)
    const result: CallToolResult = { content: contentBlocks(shown, hint) }
    return shown.isError ? { ...result, isError: true } : result
  } catch (error) {
    return failedCallResult(tool, error as Error, answering.tools)
  } finally {
    progress.stop()
  }
}

/** The answer's content blocks, and whether the first of them is JSON. */
interface RenderedAnswer {
  blocks: string[]
  isJson: boolean
  isError: boolean
}

/** Runs a tool. Every tool's answer passes through here on its way to a model, over MCP or in a run. */
export async function runTool(tool: Tool, client: ToolClient, input: unknown): Promise<RenderedAnswer> {
  const answer = await tool.run(client, input)
  if (typeof answer === 'string') return { blocks: [cleanForModel(answer)], isJson: false, isError: false }
  const { isError = false } = answer
  const isJson = 'json' in answer
  const first = isJson ? JSON.stringify(cleanValueForModel(answer.json)) : cleanForModel(answer.text)
  return { blocks: answer.note === undefined ? [first] : [first, cleanForModel(answer.note)], isJson, isError }
}

/**
 * Returns the content blocks of an answer and its hint. Behind JSON the hint has a block of its own, so that the JSON can be parsed. Further blocks begin
 * with a line break, because Copilot CLI joins blocks with nothing between them.
 */
function contentBlocks({ blocks, isJson }: RenderedAnswer, hint: string): CallToolResult['content'] {
  const hinted = isJson ? [...blocks, hint] : [...blocks.slice(0, -1), `${blocks.at(-1)}\n\n${hint}`]
  const [first = '', ...rest] = hint === '' ? blocks : hinted
  return [first, ...rest.map((text) => `\n${text}`)].map((text) => ({ type: 'text', text }))
}

/**
 * Returns an error as the result of a tool call, with the fix in its text: as an envelope, if the tool's results are envelopes. An error that is not a
 * refusal is reported as a fault of the relay.
 */
export function failedCallResult(tool: Tool | undefined, error: Error, tools: readonly Tool[]): CallToolResult {
  const isKnown = error instanceof RelayError
  const message = cleanForModel(
    isKnown ? messageFor(refusalReaderFor(tools), error) : `The relay failed: ${error.message}`,
  )
  const code = (error instanceof RelayError ? error.code : undefined) ?? 'fault'
  const text = tool?.hasEnvelope ? JSON.stringify({ ok: false, error: { code, message } }) : `Error: ${message}`
  return { content: [{ type: 'text', text }], isError: true }
}

/** Returns the agent as a reader of refusals: the fix in a refusal names only tools that the agent has. */
export function refusalReaderFor(tools: readonly Tool[]): RefusalReader {
  return { hasTool: (name) => tools.some((tool) => tool.name === name) }
}

/**
 * Returns the hint `2 unread: Alice, #build. Call relay_inbox.`, once for each batch of messages, since a repeated hint would only cost context. After
 * the model's memory was cut, returns the agent's brief, which also says how many messages wait.
 */
async function hintFor(
  { showsInbox }: Tool,
  client: ToolClient,
  role: string,
  { hintMemory, tools }: ToolCallContext,
): Promise<string> {
  // Without a tool that hands out waiting messages there is no hint.
  const inboxTool = tools.find(({ showsInbox }) => showsInbox)?.name
  if (inboxTool === undefined) return ''
  try {
    const { total, sources, newest, briefDue } = await client.count()
    const brief = briefDue ? (await client.call('agent.brief', {})).text : ''
    if (brief !== '') hintMemory.newestHinted.set(role, newest)
    if (brief !== '' || showsInbox) return brief
    if (total === 0 || newest <= (hintMemory.newestHinted.get(role) ?? 0)) return ''
    hintMemory.newestHinted.set(role, newest)
    const names = Object.keys(sources)
    const shown = names.slice(0, hintSourcesMax).join(', ') + (names.length > hintSourcesMax ? ', …' : '')
    return `${total} unread: ${shown}. Call ${inboxTool}.`
  } catch {
    // A failed hint must not lose the answer.
    return ''
  }
}

/** Shows progress at once, which opens the stream of an HTTP answer, and then every 15 seconds; only to clients that asked for progress. */
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
  naming: AgentNaming
  sessionServices: SessionServices
  hintMemory: HintMemory
  openTurn(rpcId: RequestId): Turn
  /** Reports that the answer to a request has left. Without this function an answer counts as gone when it is made. */
  onSent?(listener: (rpcId: RequestId) => void): void
  /** Called for every tool call, with the client's metadata. */
  onCall?(meta: Record<string, unknown>): void
  /** Every call may carry an agent's token, so the tools' schemas have an argument for the token. */
  takesToken: boolean
  /** The roles of a lift. */
  roles?: readonly string[]
}

export function serveTools(server: Server, client: WorkspaceClient, service: ToolService): void {
  const { tools, takesToken, roles } = service
  const scope = actionScopeOf(tools)
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  const find = (name: string): Tool | undefined => {
    // Dots in names are for people and other protocols; some hosts cannot take them in a list of tools.
    const own = names.get(name) ?? names.get(name.replaceAll('.', '_'))
    return own ?? (scope && toolForAction(name, scope))
  }
  const answer = toolCallRunner(client, service)

  server.setRequestHandler('tools/list', async () => {
    const own = tools.map((tool) => withRoleNames(tool, roles))
    const actions = scope === undefined ? [] : await listActions(client, scope)
    // An action may have the name of a tool that only some toolsets have, such as agent_status.
    const all = [...own, ...actions.filter(({ name }) => !names.has(name))]
    return { tools: takesToken ? all.map(withTokenArgument) : all }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    service.onCall?.(context.mcpReq._meta ?? {})
    const tool = find(params.name)
    if (!tool) return failedCallResult(undefined, new RelayError(unknownToolText(params.name)), tools)
    return answer(tool, params.arguments, context)
  })
}

/** Returns the function that runs a tool in a turn of its own, for the agent that the session acts as. */
function toolCallRunner(client: WorkspaceClient, service: ToolService) {
  const { naming, sessionServices, hintMemory, openTurn, onSent, tools, takesToken } = service
  const turns = new Map<RequestId, Turn>()
  onSent?.((id) => {
    turns.get(id)?.answered()
    turns.delete(id)
  })
  return async (tool: Tool, args: unknown, context: ServerContext) => {
    const { id, signal } = context.mcpReq
    try {
      // An invalid token is refused by every tool, also by one that needs no token.
      if (!tool.worksWithoutAgent || takesToken) await naming.ensureNamed()
      // A stateless caller without an agent stays without one. A tool without envelopes leaves the refusal to its operation.
      if (tool.hasEnvelope && !tool.worksWithoutAgent && client.agentName === undefined)
        throw errorFrom(refusal('agent.required'))
    } catch (error) {
      return failedCallResult(tool, error as Error, tools)
    }
    const turn = openTurn(id)
    const call: ToolCallContext = { turn, sessionServices, hintMemory, context, tools }
    const result = await callTool(tool, args, call)
    // A cancelled call gets no answer, so no answer will ever have left.
    if (signal.aborted) turn.lost()
    else if (onSent) turns.set(id, turn)
    else turn.answered()
    return result
  }
}

/** Notifies the host when its list of tools has changed: actions came or went, or the session acts as another agent. */
export function notifyOfActionChanges(
  server: Server,
  client: WorkspaceClient,
  naming: AgentNaming,
  scope: ActionScope,
): ActionWatch {
  const tell = () => void server.sendToolListChanged().catch(() => {})
  const watch = new ActionWatch(client, () => shownActionsNotifier(client, scope, tell))
  naming.onNamed(() => {
    client.call('action.list', { limit: 1 }).then(
      ({ actions }) => actions.length > 0 && watch.noteChange(),
      () => {},
    )
  })
  return watch
}
