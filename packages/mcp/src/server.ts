// The MCP server over any client of the relay. It does not know its transport: stdio, HTTP (MCP 2024, 2025 or 2026), or memory.

import type { Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import { serverInfo } from '@agent-relay/sdk/internal/no-daemon-answers'
import { type MailTools, relayMailTools, workspaceMailTools } from '@agent-relay/sdk/protocol'
import {
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server'
import { type HintMemory, notifyOfActionChanges, serveTools } from './calling.ts'
import { type SessionServices, TurnClient } from './client.ts'
import { instructionsFor } from './instructions.ts'
import { AgentNaming, type AgentNamingOptions, type ClientInfo } from './naming.ts'
import { getProtocolPrompt, protocolPrompt } from './prompt.ts'
import { EventPusher, pushMessagesToClaude, ResourceSubscriptions } from './push.ts'
import { defaultProgramName, RelayClient } from './relay-client.ts'
import { resources } from './resources.ts'
import { actionScopeOf } from './tools/actions.ts'
import type { Tool } from './tools/tool.ts'
import { toolsOf } from './tools/toolsets.ts'

export interface ServerOptions extends AgentNamingOptions {
  version: string
  /** The tools of the session's toolsets. */
  tools?: readonly Tool[]
  /** The names of the roles of a lift; unset outside a lift. */
  roles?: readonly string[]
  /** The agent's name, if it is known before the client has introduced itself. */
  agentName?: string
  /** Opens the turn of one tools/call. By default the turn's calls go over the client, each with an id of its own. */
  openTurn?(rpcId: RequestId): Turn
  /** Adds a listener that is called when the answer to a request has been sent. If unset, an answer counts as sent as soon as it is made. */
  onSent?(listener: (rpcId: RequestId) => void): void
  /** Whether messages are pushed to the model over Claude Code's channel (push.ts). */
  hasPush?: boolean
  /** Whether every call stands alone (MCP 2026) and may carry an agent's token. Then http/stateless.ts notifies the host of changes between calls. */
  isStateless?: boolean
  /** Whether a client is there to take a notification now. Default: always. */
  canPush?(): boolean
  hintMemory?: HintMemory
  /** Called when the client has been initialized, with the names of the session's tools for messages. */
  onInitialized?(client: ClientInfo, tools: MailTools | undefined): void
  /** Called for every tool call, with the `_meta` object of its request. */
  onCall?(meta: Record<string, unknown>): void
}

/** Without a client, the server connects to the running daemon that discovery finds, as the agent RELAY_AGENT_NAME or `mcp-PID`. */
export function createServer(): Promise<Server>
export function createServer(client: WorkspaceClient, options: ServerOptions): Server
export function createServer(client?: WorkspaceClient, options?: ServerOptions): Server | Promise<Server> {
  return client && options ? buildServer(client, options) : connectServer(process.env)
}

async function connectServer(env: Env): Promise<Server> {
  const agentName = setting(env, 'RELAY_AGENT_NAME') ?? defaultProgramName()
  const client = new RelayClient({ agentName, token: setting(env, 'RELAY_AGENT_TOKEN'), autoConnect: false })
  await client.connect()
  const { daemonVersion: version } = await client.call('workspace.status', {})
  const server = buildServer(client, {
    version,
    agentName: client.agentName,
    tools: toolsOf(setting(env, 'RELAY_TOOLS')),
  })
  let leaving: Promise<void> | undefined
  const leave = () => (leaving ??= client.disconnect())
  const { onclose } = server
  server.onclose = () => {
    onclose?.()
    void leave()
  }
  // `onclose` is called only if a transport was connected. So `close` itself disconnects the client.
  const close = server.close.bind(server)
  server.close = () => close().finally(leave)
  return server
}

function buildServer(client: WorkspaceClient, options: ServerOptions): Server {
  const { version, tools = toolsOf(), roles, agentName, hasPush = false, isStateless = false } = options
  const server = new Server(serverInfo(version), {
    instructions: instructionsFor({ agentName, hasPush, tools, roles }),
    capabilities: {
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      ...(hasPush ? { experimental: { 'claude/channel': {} } } : {}),
    },
  })
  const naming = new AgentNaming(options, () => server.getClientVersion())
  const events = new EventPusher(client, (event) => server.notification(event), options.canPush ?? (() => true))
  const sessionServices: SessionServices = {
    register: (profile) => naming.register(profile),
    subscribe: async (filter) => !isStateless && events.start(filter),
  }
  serveTools(server, client, {
    tools,
    naming,
    sessionServices,
    hintMemory: options.hintMemory ?? { newestHinted: new Map() },
    openTurn: options.openTurn ?? clientTurns(client),
    onSent: options.onSent,
    onCall: options.onCall,
    takesToken: isStateless && choosesName(tools),
    roles,
  })
  servePrompts(server)
  const subscriptions = serveResources(server, client, naming, !isStateless)
  const scope = isStateless ? undefined : actionScopeOf(tools)
  const actions = scope && notifyOfActionChanges(server, client, naming, scope)
  if (hasPush) naming.onNamed(once(() => void pushMessagesToClaude(client, (event) => server.notification(event))))
  server.oninitialized = () => {
    actions?.start()
    options.onInitialized?.(server.getClientVersion(), mailToolsAmong(tools))
    // An agent that may choose its name gets an automatic one only when it needs one; a caller that names its role in each call needs none.
    if (client.agentName === undefined && (choosesName(tools) || tools.every(({ role }) => role))) return
    // If the name is refused, the next tool call says why.
    naming.ensureNamed().catch(() => {})
  }
  server.onclose = () => {
    subscriptions.clear()
    events.stop()
    actions?.stop()
  }
  return server
}

function choosesName(tools: readonly Tool[]): boolean {
  return tools.some(({ name }) => name === 'register_agent')
}

function servePrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: [protocolPrompt] }))
  server.setRequestHandler('prompts/get', ({ params }) => {
    if (params.name !== protocolPrompt.name)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`)
    const text = getProtocolPrompt()
    return {
      description: 'Agent Relay protocol documentation',
      messages: [{ role: 'user', content: { type: 'text', text } }],
    }
  })
}

function serveResources(
  server: Server,
  client: WorkspaceClient,
  naming: AgentNaming,
  hasSubscriptions: boolean,
): ResourceSubscriptions {
  server.setRequestHandler('resources/list', () => ({ resources: resources.map((resource) => resource.listing) }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const resource = resources.find((each) => each.listing.uri === uri)
    if (!resource) throw new ResourceNotFoundError(uri, `Unknown resource: ${uri}`)
    await naming.ensureNamed()
    // Reading a resource opens no turn, since it does not show that the last answer was received.
    const text = await resource.read(new TurnClient(clientTurns(client)('resource')))
    return { contents: [{ uri, mimeType: resource.listing.mimeType, text }] }
  })
  const subscriptions = new ResourceSubscriptions(client, {
    resourceUpdated: (uri) => void server.sendResourceUpdated({ uri }).catch(() => {}),
  })
  if (!hasSubscriptions) return subscriptions
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    await naming.ensureNamed()
    // A resource that does not exist yet may be subscribed: it has no updates until it exists.
    subscriptions.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.remove(uri)
    return {}
  })
  return subscriptions
}

/** Makes turns whose calls go through the client, each with an id of its own. The next call shows that the last answer was received. */
function clientTurns(client: WorkspaceClient): (rpcId: RequestId) => Turn {
  return () => ({ call: (op, input, signal) => client.call(op, input, { signal }), answered() {}, lost() {} })
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

/** The names of the session's tools for messages: those of the toolset `relay` if it has them, else those of `workspace`. */
function mailToolsAmong(tools: readonly Tool[]): MailTools | undefined {
  return [relayMailTools, workspaceMailTools].find(({ inbox }) => tools.some(({ name }) => name === inbox))
}
