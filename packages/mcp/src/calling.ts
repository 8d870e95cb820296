// Serves tools/list and tools/call of one MCP server: its built-in tools, and the actions that other programs offer. A call's input is checked and
// its tool run; an error becomes text that says how to fix it. The answer ends with a hint if unread messages wait.

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

/** What one agent has been told by hints about unread messages. In the stateless protocol (MCP 2026), this memory outlives a single request. */
export interface HintMemory {
  /**
   * The number of the newest message that a hint has mentioned, by the agent's role in a lift (`agent-relay lift`). Outside a lift, the only map key
   * is ''.
   */
  newestHinted: Map<string, number>
}

/** The context in which one tool call is answered, besides the tool and its arguments. */
export interface ToolCallContext {
  turn: Turn
  sessionServices: SessionServices
  hintMemory: HintMemory
  context: ServerContext
  /** All tools of the agent. A refusal suggests only tools of this list. */
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

/** Runs a tool and cleans its answer for a model. Used by the MCP server, and by the loop that carries out runs. */
export async function runTool(tool: Tool, client: ToolClient, input: unknown): Promise<RenderedAnswer> {
  const answer = await tool.run(client, input)
  if (typeof answer === 'string') return { blocks: [cleanForModel(answer)], isJson: false, isError: false }
  const { isError = false } = answer
  const isJson = 'json' in answer
  const first = isJson ? JSON.stringify(cleanValueForModel(answer.json)) : cleanForModel(answer.text)
  return { blocks: answer.note === undefined ? [first] : [first, cleanForModel(answer.note)], isJson, isError }
}

/**
 * Returns the content blocks of an answer with the hint about unread messages. After JSON the hint is a separate block, so that the JSON can be
 * parsed. All blocks but the first begin with a line break, because Copilot CLI joins blocks without a separator.
 */
function contentBlocks({ blocks, isJson }: RenderedAnswer, hint: string): CallToolResult['content'] {
  const hinted = isJson ? [...blocks, hint] : [...blocks.slice(0, -1), `${blocks.at(-1)}\n\n${hint}`]
  const [first = '', ...rest] = hint === '' ? blocks : hinted
  return [first, ...rest.map((text) => `\n${text}`)].map((text) => ({ type: 'text', text }))
}

/**
 * Turns an error into the result of a tool call: a text that says how to fix it, or, for a tool with `hasEnvelope`, `{ok: false, error}`. An error
 * that is not a RelayError is reported as a failure of the relay.
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

/** Describes the agent for the wording of refusals: a fix names only tools that the agent has. */
export function refusalReaderFor(tools: readonly Tool[]): RefusalReader {
  return { hasTool: (name) => tools.some((tool) => tool.name === name) }
}

/**
 * Returns the hint `2 unread: Alice, #build. Call relay_inbox.`, once for each batch of messages, since a repeated hint would only fill the context.
 * After the model's context was compacted or cleared, returns the agent's brief instead: a summary of its situation, which also counts the waiting
 * messages.
 */
async function hintFor(
  { showsInbox }: Tool,
  client: ToolClient,
  role: string,
  { hintMemory, tools }: ToolCallContext,
): Promise<string> {
  // The hint names the tool that hands out messages, so without such a tool there is no hint.
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
    // If the hint fails, the tool's answer is still returned.
    return ''
  }
}

/** Sends a progress notification at once, which opens the stream of an HTTP answer, and then every 15 seconds; only if the client asked for progress. */
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
  /** Adds a listener that is called when the answer to a request has been sent. If unset, an answer counts as sent as soon as it is made. */
  onSent?(listener: (rpcId: RequestId) => void): void
  /** Called for every tool call, with the `_meta` object of its request. */
  onCall?(meta: Record<string, unknown>): void
  /** Whether each call may carry an agent's token; the schema of every tool then has an argument for it. */
  takesToken: boolean
  /** The names of the roles of a lift; unset outside a lift. */
  roles?: readonly string[]
}

export function serveTools(server: Server, client: WorkspaceClient, service: ToolService): void {
  const { tools, takesToken, roles } = service
  const scope = actionScopeOf(tools)
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  const find = (name: string): Tool | undefined => {
    // Accepts a dotted name, such as `relay.send` for `relay_send`. Dotted names are not listed, since some hosts cannot handle a dot in a tool's
    // name.
    const own = names.get(name) ?? names.get(name.replaceAll('.', '_'))
    return own ?? (scope && toolForAction(name, scope))
  }
  const answer = toolCallRunner(client, service)

  server.setRequestHandler('tools/list', async () => {
    const own = tools.map((tool) => withRoleNames(tool, roles))
    const actions = scope === undefined ? [] : await listActions(client, scope)
    // A tool wins over an action of the same name. Such an action is possible, because a tool such as agent_status is in some toolsets only.
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

/**
 * Returns the function that runs one tool call as the session's agent. Each call is a turn: messages handed out in it count as received when its
 * answer has been sent.
 */
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
      // Where calls carry tokens, every tool refuses an invalid one, even a tool that works without an agent.
      if (!tool.worksWithoutAgent || takesToken) await naming.ensureNamed()
      // A stateless caller that has named no agent still has none here, so a tool with an envelope refuses it. Other tools leave the refusal to the
      // operation that they call.
      if (tool.hasEnvelope && !tool.worksWithoutAgent && client.agentName === undefined)
        throw errorFrom(refusal('agent.required'))
    } catch (error) {
      return failedCallResult(tool, error as Error, tools)
    }
    const turn = openTurn(id)
    const call: ToolCallContext = { turn, sessionServices, hintMemory, context, tools }
    const result = await callTool(tool, args, call)
    // A cancelled call is never answered, so the messages handed out in it count as not received.
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
