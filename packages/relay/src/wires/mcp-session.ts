// One MCP session inside the daemon: an agent's client in process, and the MCP server on top of that client. The stdio pipe and HTTP both open such sessions.

import type { ClientInfo, RegisteredAgent, RegistrationProfile, ServerOptions } from '@agent-relay/mcp'
import { RelayError } from '@agent-relay/sdk'
import { type Turn, WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { clis } from '@agent-relay/sdk/internal/clis'
import { type Hello, limits, type Welcome } from '@agent-relay/sdk/protocol'
import { errorFrom } from '@agent-relay/sdk/wire'
import { register } from '../broker/admission.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import { parseInput } from '../broker/operation-input.ts'
import { giveProvisionalName } from '../broker/presence/provisional-names.ts'
import { dayTokenMs } from '../broker/sessions/credentials.ts'
import type { Session } from '../broker/sessions/session.ts'
import type { SessionOrigin } from '../broker/sessions/standing.ts'
import type { Workspace } from '../broker/workspace.ts'
import { toRefusal } from '../core/refusal-error.ts'
import { version } from '../machine/version.ts'
import { InProcessLink } from './in-process.ts'
import { RoleSessions } from './roles.ts'

/** The MCP package, loaded with the first MCP session: a daemon that serves only programs stays small. */
export const loadMcp = () => {
  mcp ??= import('@agent-relay/mcp')
  return mcp
}
let mcp: Promise<typeof import('@agent-relay/mcp')> | undefined

/** By which way an MCP session was opened, and how its client gets a name. */
export interface McpOrigin extends Omit<SessionOrigin, 'kind'> {
  /** Whether a client without a name gets a provisional one, which is stored only when that is needed. */
  readonly isProvisional?: boolean
  /** The provisional name that an earlier daemon gave the client. */
  readonly givenName?: string
}

export interface McpSession {
  client: WorkspaceClient
  link: InProcessLink
  /** The options of the MCP server that depend on the session. */
  options: Pick<
    ServerOptions,
    'version' | 'agentName' | 'introduce' | 'register' | 'roles' | 'onInitialized' | 'onCall'
  >
  /** Opens the turn of one `tools/call`: the calls to the relay that together answer it. */
  turn(id: string): Turn
  /** Frees the messages that the session was handed: its client seems gone, and another session of the agent may take them. */
  releaseHandedMessages(): void
}

/**
 * If the daemon itself has opened a session for this client's program, which a person started, ends that session and returns its stored name: one program is
 * one agent.
 */
function takeOverName({ sessions }: Workspace, session: Session): string | undefined {
  const opened = sessions.sessionOpenedFor(session)
  if (!opened) return undefined
  // A provisional name is not stored, and is free again once its session ends.
  const stored = opened.provisional ? undefined : opened.agent
  sessions.end(opened)
  return stored
}

/** Returns the toolset for a client that asks for none: `lift` on the daemon of `agent-relay lift`, otherwise undefined for the default. */
export function defaultToolset({ daemon }: Dispatch): string | undefined {
  return daemon.roles && 'lift'
}

/**
 * Opens an MCP session. `onAgent` is called with the agent that the session acts as: at once if HELLO named the agent, otherwise when the client has introduced
 * itself. With `givenName` the name is provisional; `onAgent` is called again when that name is stored.
 */
export async function openMcpSession(
  dispatch: Dispatch,
  { isProvisional = false, givenName, ...origin }: McpOrigin,
  hello: Hello,
  onAgent: (agent: Pick<Welcome, 'agent' | 'token'> & { given?: string }) => void = () => {},
): Promise<McpSession> {
  const { workspace, daemon } = dispatch
  const { session, welcome } = await dispatch.openSession({ ...origin, kind: 'model' }, hello)
  const link = new InProcessLink(dispatch, session, welcome)
  const client = new WorkspaceClient(connectorForOnce(link), { autoConnect: false })
  await client.connect()
  const { agent, token } = link.welcome
  if (agent !== undefined) onAgent({ agent, token })
  const introduce: ServerOptions['introduce'] = async (info) => {
    if (session.agent !== undefined) return recordCli(workspace, client, info)
    const wanted = agentNameFrom(info?.name)
    const former = takeOverName(workspace, session)
    if (isProvisional && former === undefined) {
      const name = givenName ?? wanted.name
      const named = giveProvisionalName(workspace, session, { ...wanted, name }, onAgent)
      onAgent({ given: named })
      return client.actsAs({ agent: named })
    }
    onAgent(await client.call('agent.register', { ...wanted, name: former ?? wanted.name }))
    workspace.sessions.markNameGiven(session)
  }
  const register: ServerOptions['register'] = async (profile, info) => {
    const cli = cliOf(info)
    if (origin.isStateless) return registerForTheDay(dispatch, session, { cli, ...profile })
    const former = session.agent
    // A client that was named `Ada-2`, because `Ada` was taken, may ask for `Ada` again: it keeps `Ada-2`.
    const name = former?.replace(/-\d+$/, '') === profile.name ? former : profile.name
    const described = { cli, ...profile, name }
    const { token, ...registered } = await client.call('agent.register', described)
    onAgent({ agent: registered.agent, token })
    return registered
  }
  // The client's claim about its CLI counts on the owner's own socket only: nobody else starts a CLI on this machine.
  const isOwn = origin.door === 'owner'
  const onInitialized: ServerOptions['onInitialized'] = (info, tools) =>
    workspace.sessions.markInitialized(session, isOwn && info ? agentNameFrom(info.name).cli : undefined, tools)
  const onCall: ServerOptions['onCall'] = ({ threadId }) => {
    if (isOwn && typeof threadId === 'string' && threadId.length <= limits.idCharsMax)
      workspace.sessions.setCalledThread(session, threadId)
  }
  const own = () => (session.isNameGiven ? undefined : session.agent)
  const roles = daemon.roles && new RoleSessions(dispatch, daemon.roles, own)
  void link.closed.then(() => roles?.close())
  return {
    client,
    link,
    options: { version, agentName: agent, introduce, register, roles: daemon.roles, onInitialized, onCall },
    turn: (id) => (roles ? roles.turn(id, link.turn(id)) : link.turn(id)),
    releaseHandedMessages: () => {
      if (session.ended.aborted) return
      for (const each of [session, ...(roles?.sessions ?? [])])
        void dispatch.releaseLost(each, [...each.handedMessages])
    },
  }
}

/**
 * Registers a stateless client: it gets the name that it wants, with a token that proves the name for a day. A session without an agent stays without one,
 * since other clients use it too. A session that acts as an agent may only be given another token of that agent.
 */
export async function registerForTheDay(
  dispatch: Dispatch,
  session: Session,
  profile: RegistrationProfile & { cli?: string },
): Promise<RegisteredAgent> {
  const { workspace } = dispatch
  try {
    const input = parseInput('agent.register', profile)
    const { door } = session.standing
    const tokenUntil = workspace.clock.now() + dayTokenMs
    const named =
      session.agent === undefined ? (await dispatch.openSession({ door, kind: 'model' }, {})).session : session
    try {
      const { agent, id, token } = await register(workspace, named, input, { tokenUntil })
      return { agent, id, agentToken: token }
    } finally {
      if (named !== session) workspace.sessions.end(named)
    }
  } catch (error) {
    throw errorFrom(toRefusal(error))
  }
}

/** Records the CLI of an agent that came with a name of its own, so that others see which CLI it is. A worker's CLI is known from its start. */
async function recordCli({ store }: Workspace, client: WorkspaceClient, info: ClientInfo): Promise<void> {
  const name = client.agentName as string
  const cli = cliOf(info)
  if (cli === undefined || store.view.agent(name)?.cli === cli || store.view.workers.byName(name)) return
  // A failure is ignored: the agent has its name, and the CLI is only for display.
  await client.call('agent.register', { name, cli }).catch(() => {})
}

/** Makes a connector that works once: the session is the connection, and when it ends, this client does not open another. */
function connectorForOnce(link: InProcessLink) {
  let isUsed = false
  return async () => {
    if (isUsed) throw new RelayError('the session has ended')
    isUsed = true
    return link
  }
}

function cliOf(info: ClientInfo): string | undefined {
  return info && agentNameFrom(info.name).cli
}

/** Makes a readable agent name from the MCP client's own name, such as `claude-code` or `codex`. Registration adds a number to a name that is taken. */
export function agentNameFrom(clientName = 'agent'): { name: string; cli: string } {
  const plain = clientName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-mcp-client.*$|^-+|-+$/g, '')
  const name = plain.slice(0, 40) || 'agent'
  return { name, cli: clis.find((cli) => name.includes(cli.name))?.name ?? name }
}
