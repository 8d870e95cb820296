// One MCP session inside the daemon: an agent's client in process, and the MCP server over it. The stdio pipe and HTTP both open these.

import type { ClientInfo, Profile, Registered, ServerOptions } from '@agent-relay/mcp'
import { RelayError } from '@agent-relay/sdk'
import { type Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { clis } from '@agent-relay/sdk/internal/clis'
import { type Hello, limits, type Welcome } from '@agent-relay/sdk/protocol'
import { errorFrom } from '@agent-relay/sdk/wire'
import { register } from '../broker/admission.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import { parse } from '../broker/operation-input.ts'
import { nameProvisionally } from '../broker/presence/provisional-names.ts'
import { dayTokenMs } from '../broker/sessions/credentials.ts'
import type { Session } from '../broker/sessions/session.ts'
import type { Entrance } from '../broker/sessions/standing.ts'
import type { Workspace } from '../broker/workspace.ts'
import { refusalOf } from '../core/refusal-error.ts'
import { version } from '../machine/version.ts'
import { InProcessLink } from './in-process.ts'
import { RoleSessions } from './roles.ts'

/** Loaded with the first MCP session: a daemon that serves only programs stays small. */
export const loadMcp = () => {
  mcp ??= import('@agent-relay/mcp')
  return mcp
}
let mcp: Promise<typeof import('@agent-relay/mcp')> | undefined

/** How the client of an MCP session comes in. */
export interface McpEntrance extends Omit<Entrance, 'kind'> {
  /** A client without a name is given one that is stored only when it is needed. */
  readonly isProvisional?: boolean
  /** The name that a former daemon has given it so. */
  readonly given?: string
}

export interface McpSession {
  client: WorkspaceClient
  link: InProcessLink
  /** The server's options as far as the session decides them. */
  options: Pick<
    ServerOptions,
    'version' | 'agentName' | 'introduce' | 'register' | 'roles' | 'onInitialized' | 'onCall'
  >
  /** The turn of one tools/call. */
  turn(id: string): Turn
  /** Its client seems gone: another session of the agent may take the messages it was handed. */
  letGo(): void
}

/** The agent that its program is already, by a session that the daemon opened for it. That one ends: one program is one agent. */
function leftBy({ sessions }: Workspace, session: Session): string | undefined {
  const opened = sessions.openedFor(session)
  if (!opened) return undefined
  // A name that was given and is not stored is nobody's once its session ends.
  const stored = opened.provisional ? undefined : opened.agent
  sessions.end(opened)
  return stored
}

/** The toolset of a client that asks for none. */
export function toolsetOf({ daemon }: Dispatch): string | undefined {
  return daemon.roles && 'lift'
}

/**
 * `onAgent` is called with the agent that the session acts as: at once if HELLO named one, else when the client has introduced itself. `given`:
 * under a name that is not stored yet; it is called again when it is.
 */
export async function openMcpSession(
  dispatch: Dispatch,
  { isProvisional = false, given, ...entrance }: McpEntrance,
  hello: Hello,
  onAgent: (agent: Pick<Welcome, 'agent' | 'token'> & { given?: string }) => void = () => {},
): Promise<McpSession> {
  const { workspace, daemon } = dispatch
  const { session, welcome } = await dispatch.hello({ ...entrance, kind: 'model' }, hello)
  const link = new InProcessLink(dispatch, session, welcome)
  const client = new WorkspaceClient(onlyOnce(link), { autoConnect: false })
  await client.connect()
  const { agent, token } = link.welcome
  if (agent !== undefined) onAgent({ agent, token })
  const introduce: ServerOptions['introduce'] = async (info) => {
    if (session.agent !== undefined) return tellCli(workspace, client, info)
    const wanted = nameAfter(info?.name)
    const former = leftBy(workspace, session)
    if (isProvisional && former === undefined) {
      const name = given ?? wanted.name
      const named = nameProvisionally(workspace, session, { ...wanted, name }, onAgent)
      onAgent({ given: named })
      return client.actsAs({ agent: named })
    }
    onAgent(await client.call('agent.register', { ...wanted, name: former ?? wanted.name }))
    workspace.sessions.nameIsGiven(session)
  }
  const register: ServerOptions['register'] = async (profile, info) => {
    const cli = cliOf(info)
    if (entrance.isStateless) return registerForTheDay(dispatch, session, { cli, ...profile })
    const former = session.agent
    // Asked again after it was numbered: `Ada` for `Ada-2` is the same wish.
    const name = former?.replace(/-\d+$/, '') === profile.name ? former : profile.name
    const described = { cli, ...profile, name }
    const { token, ...registered } = await client.call('agent.register', described)
    onAgent({ agent: registered.agent, token })
    return registered
  }
  // Believed on the owner's own socket only: nobody else starts a CLI here.
  const isOwn = entrance.door === 'owner'
  const onInitialized: ServerOptions['onInitialized'] = (info, tools) =>
    workspace.sessions.initialized(session, isOwn && info ? nameAfter(info.name).cli : undefined, tools)
  const onCall: ServerOptions['onCall'] = ({ threadId }) => {
    if (isOwn && typeof threadId === 'string' && threadId.length <= limits.idCharsMax)
      workspace.sessions.calledFrom(session, threadId)
  }
  const own = () => (session.isNameGiven ? undefined : session.agent)
  const roles = daemon.roles && new RoleSessions(dispatch, daemon.roles, own)
  void link.closed.then(() => roles?.close())
  return {
    client,
    link,
    options: { version, agentName: agent, introduce, register, roles: daemon.roles, onInitialized, onCall },
    turn: (id) => (roles ? roles.turn(id, link.turn(id)) : link.turn(id)),
    letGo: () => {
      if (session.ended.aborted) return
      for (const each of [session, ...(roles?.sessions ?? [])]) void dispatch.lost(each, [...each.handed])
    },
  }
}

/**
 * For a client without a session: the name that it wants, with a token that proves it for a day. Nobody's session stays nobody's: others
 * call over it too. An agent's own session may only be given another token of its own.
 */
export async function registerForTheDay(
  dispatch: Dispatch,
  session: Session,
  profile: Profile & { cli?: string },
): Promise<Registered> {
  const { workspace } = dispatch
  try {
    const input = parse('agent.register', profile)
    const { door } = session.standing
    const tokenUntil = workspace.clock.now() + dayTokenMs
    const named = session.agent === undefined ? (await dispatch.hello({ door, kind: 'model' }, {})).session : session
    try {
      const { agent, id, token } = await register(workspace, named, input, { tokenUntil })
      return { agent, id, agentToken: token }
    } finally {
      if (named !== session) workspace.sessions.end(named)
    }
  } catch (error) {
    throw errorFrom(refusalOf(error))
  }
}

/** An agent that came with a name of its own: others see which CLI it runs in. A worker's is known from its start. */
async function tellCli({ store }: Workspace, client: WorkspaceClient, info: ClientInfo): Promise<void> {
  const name = client.agentName as string
  const cli = cliOf(info)
  if (cli === undefined || store.view.agent(name)?.cli === cli || store.view.workers.byName(name)) return
  // The name is what counts.
  await client.call('agent.register', { name, cli }).catch(() => {})
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

function cliOf(info: ClientInfo): string | undefined {
  return info && nameAfter(info.name).cli
}

/** A readable name from what the client calls itself: `claude-code`, `codex`. Taken ones get a number. */
export function nameAfter(clientName = 'agent'): { name: string; cli: string } {
  const plain = clientName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-mcp-client.*$|^-+|-+$/g, '')
  const name = plain.slice(0, 40) || 'agent'
  return { name, cli: clis.find((cli) => name.includes(cli.name))?.name ?? name }
}
