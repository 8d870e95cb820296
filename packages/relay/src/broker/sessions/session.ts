// A session: one live connection that acts as one agent. This type is read-only; sessions.ts alone gives a session a name, and nothing changes its standing
// (rights).

import { clisWith } from '@agent-relay/sdk/internal/clis'
import { type MailTools, relayMailTools } from '@agent-relay/sdk/protocol'
import type { Standing } from './standing.ts'

export interface Session {
  /** The session's id, a hash of its ticket: others may see the id in facts, and cannot continue the session with it. */
  readonly id: string
  /** The secret by which a client that reconnects continues the session (shown in HELLO). Only the session's own client is told. */
  readonly ticket: string
  /** The session's rights, fixed when it opened. */
  readonly standing: Standing
  /** The agent that the session acts as; set by registration, never taken from a call's input. Unset if it acts as none. */
  readonly agent?: string
  /** Whether the daemon gave the session its name. The session may replace such a name by its own choice. */
  readonly isNameGiven: boolean
  /** The session's provisional name; set while that name is not stored yet. */
  readonly provisional?: ProvisionalName
  /** The credentials that the session has shown: when one is revoked, the session ends. */
  readonly shownCredentials: ShownCredentials
  /** Whether the session continues an earlier one, for whose id messages may still be reserved in the database. */
  readonly isResumed: boolean
  /** The ids of the earlier session's calls whose answers its client never got. */
  readonly unanswered: readonly string[]
  /** The id of the process that started the client, as the client says; believed on the owner's own socket only. */
  readonly host?: number
  /** The id of the process that the client claims to be; person.ts checks the claim. */
  readonly process?: number
  /** The working directory of `process`; believed on the owner's own socket only. */
  readonly directory?: string
  /** Whether the session's MCP client has finished its initialization. */
  readonly isInitialized: boolean
  /** The CLI of the session's MCP client, as the client calls itself. */
  readonly cli?: string
  /** The tools by which the session's model reads and answers messages; unset if it has none. */
  readonly mailTools?: MailTools
  /** The conversation that the session's tool calls name as theirs, for a CLI of which one process has many conversations. */
  readonly calledThread?: string
  /** The conversation that the session most likely belongs to, for the time before its first tool call names one. */
  readonly likelyThread?: string
  /** The ids of messages in answers that were sent: they count as read at the session's next call. */
  readonly handedMessages: Set<string>
  readonly lastCall: ClockReadings
  /** Aborted when the session ends: its waits and watches stop. The reason is a RefusalError if the daemon ended the session. */
  readonly ended: AbortSignal
}

/** A session that acts as an agent and whose host, the process that started its client, is known. */
export type HostedSession = Session & { readonly agent: string; readonly host: number }

export function hostedSessions(sessions: Session[]): HostedSession[] {
  return sessions.filter((each): each is HostedSession => each.agent !== undefined && each.host !== undefined)
}

/**
 * Returns the names of the tools by which the agent of these sessions reads and answers messages: the tools of toolset `relay` if one session has them, or if
 * none says what it has.
 */
export function mailToolsOf(sessions: Iterable<Session>): MailTools {
  const known = [...sessions].flatMap(({ mailTools }) => mailTools ?? [])
  return known.find(({ inbox }) => inbox === relayMailTools.inbox) ?? known[0] ?? relayMailTools
}

/** CLIs of which one process has many conversations. */
export const clisWithManyConversations: ReadonlySet<string | undefined> = new Set(
  clisWith('sharesServer').map(({ name }) => name),
)

/**
 * Finds the agent whose client one of these processes has started, the nearest process first; of several agents, the last to connect. If one process has many
 * conversations, the conversation must match too.
 */
export function agentOfProcesses(sessions: Session[], hosts: readonly number[], thread?: string): string | undefined {
  const hosted = hostedSessions(sessions)
  const nearest = hosts.find((host) => hosted.some((session) => session.host === host))
  const there = hosted.filter(({ host }) => host === nearest)
  const isShared =
    there.some(({ cli }) => clisWithManyConversations.has(cli)) && new Set(there.map(({ agent }) => agent)).size > 1
  if (!isShared) return there.at(-1)?.agent
  if (thread === undefined) return undefined
  const calledFrom = there.findLast(({ calledThread }) => calledThread === thread)
  const isLikely = ({ calledThread, likelyThread }: Session) => calledThread === undefined && likelyThread === thread
  return (calledFrom ?? there.findLast(isLikely))?.agent
}

/** What the client says about a session when it opens. */
export interface SessionTraits {
  keyHash?: string
  /** The ticket of the session to continue. */
  resume?: string
  unanswered?: readonly string[]
  host?: number
  process?: number
  directory?: string
}

/** One moment by both clocks: `at` is the wall clock's time, to be shown; `steady` the monotonic clock's, to count from. */
export interface ClockReadings {
  at: number
  steady: number
}

/** A name that the daemon gave a session and that no agent in the database has yet; see presence/provisional-names.ts. */
export interface ProvisionalName {
  id: string
  profile: { name: string; cli?: string }
  /** The numbers of the last messages in #general and in the broadcast when the session opened: later messages are in its inbox. */
  heardFrom: { general: number; broadcast: number }
  /** Set while the provisional name is being stored. */
  storing?: Promise<StoredName>
  /** Called when the name is stored, with the agent's name and the token by which the client can reconnect as the same agent. */
  onStored?(stored: StoredName): void
}

type StoredName = { agent: string; token?: string }

export interface ShownCredentials {
  readonly keyHash?: string
  readonly tokenHashes: Set<string>
}
