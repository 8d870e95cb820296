// A session: one live connection that acts as one agent. It is readonly here; sessions.ts alone gives it a name, and nobody changes its standing.

import { clisWith } from '@agent-relay/sdk/internal/clis'
import { type MailTools, relayMailTools } from '@agent-relay/sdk/protocol'
import type { Standing } from './standing.ts'

export interface Session {
  /** Made from its ticket by a hash: others may see it in facts, and cannot continue the session with it. */
  readonly id: string
  /** Whoever shows it in HELLO continues the session. Only the session's own client is told. */
  readonly ticket: string
  /** What it may do, fixed when it opened. */
  readonly standing: Standing
  /** The agent it acts as; set by registration, never by a claim in an input. */
  readonly agent?: string
  /** It did not choose its name, and may take another instead. */
  readonly isNameGiven: boolean
  /** Its name was given to it and is not stored yet. */
  readonly provisional?: Provisional
  /** The credentials that it has shown: when one is revoked, the session ends. */
  readonly shown: Shown
  /** It continues an earlier session, under whose id messages may be held. */
  readonly isResumed: boolean
  /** Calls of the session that it continues whose answers were lost. */
  readonly unanswered: readonly string[]
  /** The process that started it; told by itself, and believed on the owner's own socket only. */
  readonly host?: number
  /** The process that the client claims to be; person.ts checks it. */
  readonly process?: number
  /** The working directory of that process; believed on that socket only, too. */
  readonly directory?: string
  /** Its MCP client has said that it is initialized. */
  readonly isInitialized: boolean
  /** The CLI that its MCP client belongs to, as that client calls itself. */
  readonly cli?: string
  /** How its model reads and answers mail, if it has tools for that. */
  readonly mailTools?: MailTools
  /** The conversation inside Codex that the session's tool calls come from, as they say. */
  readonly codexThread?: string
  /** Before its first call: the one that fits, as far as can be told. */
  readonly likelyThread?: string
  /** Messages in answers that have left: they count as read at the next call. */
  readonly handed: Set<string>
  readonly lastCall: Moment
  /** Ends with the session: its waits and watches stop. Its reason is a RefusalError where the session was ended by us. */
  readonly ended: AbortSignal
}

/** One that acts as an agent and whose host is known. */
export type HostedSession = Session & { readonly agent: string; readonly host: number }

export function hostedAmong(sessions: Session[]): HostedSession[] {
  return sessions.filter((each): each is HostedSession => each.agent !== undefined && each.host !== undefined)
}

/** Of an agent with these sessions: where one of them has the toolset `relay`, or nothing is known, that. */
export function mailToolsOf(sessions: Iterable<Session>): MailTools {
  const known = [...sessions].flatMap(({ mailTools }) => mailTools ?? [])
  return known.find(({ inbox }) => inbox === relayMailTools.inbox) ?? known[0] ?? relayMailTools
}

const sharedClis = new Set<string | undefined>(clisWith('sharesServer').map(({ name }) => name))

/**
 * The agent that one of these processes started, the nearest first; of several the last that came. Where one process has many conversations, the
 * conversation has to fit as well, or nobody is meant.
 */
export function agentAt(sessions: Session[], hosts: readonly number[], thread?: string): string | undefined {
  const hosted = hostedAmong(sessions)
  const nearest = hosts.find((host) => hosted.some((session) => session.host === host))
  const there = hosted.filter(({ host }) => host === nearest)
  const isShared = there.some(({ cli }) => sharedClis.has(cli)) && new Set(there.map(({ agent }) => agent)).size > 1
  if (!isShared) return there.at(-1)?.agent
  if (thread === undefined) return undefined
  const calledFrom = there.findLast(({ codexThread }) => codexThread === thread)
  const isLikely = ({ codexThread, likelyThread }: Session) => codexThread === undefined && likelyThread === thread
  return (calledFrom ?? there.findLast(isLikely))?.agent
}

/** What a session says of itself when it opens. */
export interface Traits {
  keyHash?: string
  /** The ticket of the session that it continues. */
  resume?: string
  unanswered?: readonly string[]
  host?: number
  process?: number
  directory?: string
}

/** One moment by both clocks: `at` to be shown, `steady` to count from. */
export interface Moment {
  at: number
  steady: number
}

/** A name without an agent in the tables; see presence/provisional-names.ts. */
export interface Provisional {
  id: string
  profile: { name: string; cli?: string }
  /** The last messages to everybody when it came: what is said after them is in its inbox. */
  heardFrom: { general: number; broadcast: number }
  /** It is being stored. */
  settling?: Promise<Stored>
  /** Called with what it needs to come back as the same agent. */
  onStored?(stored: Stored): void
}

type Stored = { agent: string; token?: string }

export interface Shown {
  readonly keyHash?: string
  readonly tokenHashes: Set<string>
}
