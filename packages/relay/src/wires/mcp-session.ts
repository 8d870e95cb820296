// One MCP session inside the daemon: an agent's client in process, and the MCP server over it. The stdio pipe and HTTP both open these.

import type { ServerOptions } from '@agent-relay/mcp'
import { RelayError, type Turn, WorkspaceClient } from '@agent-relay/sdk'
import type { Hello, Welcome } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { version } from '../version.ts'
import { type Entry, enter } from './entering.ts'
import { InProcessLink } from './in-process.ts'
import { RoleSessions } from './roles.ts'
import { registerForTheDay, takeName } from './taking-names.ts'

/** Loaded with the first MCP session: a daemon that serves programs alone stays small. */
export const loadMcp = () => {
  mcp ??= import('@agent-relay/mcp')
  return mcp
}
let mcp: Promise<typeof import('@agent-relay/mcp')> | undefined

export interface McpSession {
  client: WorkspaceClient
  link: InProcessLink
  /** The server's options as far as the session decides them. */
  options: Pick<ServerOptions, 'version' | 'agentName' | 'introduce' | 'register' | 'roles' | 'onInitialized'>
  /** The turn of one tools/call. */
  turn(id: string): Turn
  /** Its client seems gone: another session of the agent may have what it was handed. */
  letGo(): void
}

/** What a client gets that asks for no toolset. */
export function toolsetOf({ daemon }: Dispatch): string | undefined {
  return daemon.roles && 'lift'
}

/** `onAgent` is told who the session acts as: at once where a name was given, else when the client has introduced itself. */
export async function openMcpSession(
  dispatch: Dispatch,
  entry: Entry,
  hello: Hello,
  onAgent: (agent: Pick<Welcome, 'agent' | 'token'>) => void = () => {},
): Promise<McpSession> {
  const { session, welcome } = await enter(dispatch, entry, hello, true)
  // The key proves whose name it may take, and no more: its holder would hear of everyone's mail, and take a live agent's name as its own.
  session.isHolder = entry.isNobody === true
  const link = new InProcessLink(dispatch, session, welcome)
  const client = new WorkspaceClient(onlyOnce(link), { autoConnect: false })
  await client.connect()
  const { agent, token } = link.welcome
  if (agent !== undefined) onAgent({ agent, token })
  // A name that nobody chose is given up for one that the agent wants.
  let isAutomatic = false
  const introduce: ServerOptions['introduce'] = async (info) => {
    if (session.agent !== undefined) return
    const registered = await client.call('agent.register', nameAfter(info?.name))
    isAutomatic = true
    onAgent(registered)
  }
  const register: ServerOptions['register'] = async (profile, info) => {
    if (entry.isStateless) return registerForTheDay(dispatch, session, profile)
    const described = { cli: nameAfter(info?.name).cli, ...profile }
    const { token, ...registered } = await takeName(dispatch, session, client, described, isAutomatic)
    isAutomatic = false
    onAgent({ agent: registered.agent, token })
    return registered
  }
  const { workspace, daemon } = dispatch
  const onInitialized = () => workspace.sessions.initialized(session)
  const own = () => (isAutomatic ? undefined : session.agent)
  const roles = daemon.roles && new RoleSessions(dispatch, daemon.roles, own)
  void link.closed.then(() => roles?.close())
  return {
    client,
    link,
    options: { version, agentName: agent, introduce, register, roles: daemon.roles, onInitialized },
    turn: (id) => (roles ? roles.turn(id, link.turn(id)) : link.turn(id)),
    letGo: () => {
      if (session.ended.aborted) return
      for (const each of [session, ...(roles?.sessions ?? [])]) void dispatch.lost(each, [...each.handed])
    },
  }
}

/** The session is the connection: when it ends, this client does not open another. */
function onlyOnce(link: InProcessLink) {
  let isUsed = false
  return async () => {
    if (isUsed) throw new RelayError('the session has ended')
    isUsed = true
    return link
  }
}

const knownClis = [
  'claude',
  'codex',
  'gemini',
  'opencode',
  'droid',
  'copilot',
  'qwen',
  'cursor',
  'windsurf',
  'zed',
  'vscode',
]

/** A readable name from what the client calls itself: `claude-code`, `codex`. Taken ones get a number. */
export function nameAfter(clientName = 'agent'): { name: string; cli: string } {
  const plain = clientName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-mcp-client.*$|^-+|-+$/g, '')
  const name = plain.slice(0, 40) || 'agent'
  return { name, cli: knownClis.find((cli) => name.includes(cli)) ?? name }
}
