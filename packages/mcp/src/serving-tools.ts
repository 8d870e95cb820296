// tools/list and tools/call of one MCP server: the toolset's own tools, and the actions that the agent may call.

import { RelayError, type Turn, type WorkspaceClient } from '@agent-relay/sdk'
import type { RequestId, Server, ServerContext } from '@modelcontextprotocol/server'
import { ActionWatch, actionCall, listActions, servesActions } from './action-tools.ts'
import { type Answering, callTool, failureOf, type Memory } from './calling.ts'
import type { Desk } from './desk.ts'
import type { Naming } from './naming.ts'
import { listed, type Tool, withToken } from './tools/tool.ts'

export interface ToolService {
  tools: readonly Tool[]
  naming: Naming
  desk: Desk
  memory: Memory
  openTurn(rpcId: RequestId): Turn
  /** Tells when the answer to a request has left. Without it an answer counts as gone when it is made. */
  onSent?(listener: (rpcId: RequestId) => void): void
  /** Every call may show an agent's token: the tools say so. */
  takesToken: boolean
}

export function serveTools(server: Server, client: WorkspaceClient, service: ToolService): void {
  const { tools, takesToken } = service
  const hasActions = servesActions(tools)
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  const find = (name: string): Tool | undefined => {
    // Dots are for people and other protocols; in a list of tools some hosts cannot take them.
    const own = names.get(name) ?? names.get(name.replaceAll('.', '_'))
    return own ?? (hasActions ? actionCall(name) : undefined)
  }
  const answer = answering(client, service)

  server.setRequestHandler('tools/list', async () => {
    const all = tools.map(listed)
    if (hasActions) all.push(...(await listActions(client)))
    return { tools: takesToken ? all.map(withToken) : all }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = find(params.name)
    if (!tool) return failureOf(undefined, new RelayError(`Unknown tool: ${params.name}`))
    return answer(tool, params.arguments, context)
  })
}

/** Runs a tool in a turn of its own, for the agent that the session acts as. */
function answering(client: WorkspaceClient, service: ToolService) {
  const { naming, desk, memory, openTurn, onSent, tools, takesToken } = service
  const turns = new Map<RequestId, Turn>()
  onSent?.((id) => {
    turns.get(id)?.answered()
    turns.delete(id)
  })
  const inboxTool = tools.find(({ showsInbox }) => showsInbox)?.name
  return async (tool: Tool, args: unknown, context: ServerContext) => {
    const { id, signal } = context.mcpReq
    try {
      // A token that is none is refused by every tool, also by one that asks for none.
      if (!tool.isForAnyone || takesToken) await naming.introduced()
      // On the stateless wire nobody stays nobody. A toolset without structured errors leaves it to each operation to say so.
      if (tool.hasEnvelope && !tool.isForAnyone && client.agentName === undefined) throw noAgent()
    } catch (error) {
      return failureOf(tool, error as Error)
    }
    const turn = openTurn(id)
    const asked: Answering = { turn, desk, memory, context, inboxTool }
    const result = await callTool(tool, args, asked)
    // A call that was given up gets no answer, so none will ever have left.
    if (signal.aborted) turn.lost()
    else if (onSent) turns.set(id, turn)
    else turn.answered()
    return result
  }
}

function noAgent(): RelayError {
  const message = 'No agent is named. Call register_agent first, and pass the agent_token it answers.'
  return new RelayError(message, { code: 'agent.required' })
}

/** Tells the host when the list has changed: actions came or went, or the session acts as another agent now. */
export function tellOfActions(server: Server, client: WorkspaceClient, naming: Naming): ActionWatch {
  const watch = new ActionWatch(client, () => void server.sendToolListChanged().catch(() => {}))
  naming.onNamed(() => {
    client.call('action.list', {}).then(
      ({ actions }) => actions.length > 0 && watch.changed(),
      () => {},
    )
  })
  return watch
}
