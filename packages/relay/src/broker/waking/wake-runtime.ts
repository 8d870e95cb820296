// The contract between the broker and what wakes the sessions that people started: which sessions these are, the mail that waits for one, and
// what became of it.

import type { Agent, InboxMessage, Route } from '@agent-relay/sdk/protocol'

/** An MCP session of a CLI that a person started, on the owner's own socket. */
export interface OwnSession {
  readonly id: string
  readonly agent: string
  /** The process that started our MCP server, and its working directory. */
  readonly host?: number
  readonly directory?: string
  /** The conversation inside Codex, known from the first tool call on. */
  readonly codexThread?: string
  /** The tool by which its model answers. */
  readonly sendTool?: string
}

/** How much mail one text for a model may hold: the bytes of its bodies, and how many. `graceMs`: a younger one may still be taken by a hook. */
export interface MailRoom {
  bytesMax?: number
  limit?: number
  graceMs?: number
}

/** Mail that is held while it is put before a model, so that no other way shows it too. Exactly one of the two is called. */
export interface HeldMail {
  readonly messages: readonly InboxMessage[]
  /** The program has taken it: it is offered by this route now, and read at the agent's next call. */
  offered(route: Route): Promise<void>
  /** The program has not: it goes another way. */
  release(): void
}

/** With the brief, if one is due: it goes before the messages. */
export interface OpenedMail extends HeldMail {
  readonly opening: string
}

export interface WakeLedger {
  /** Sessions of this CLI, without those of our own workers. */
  sessionsOf(cli: string): OwnSession[]
  /** A hint that some of them came, went or made their first call. */
  onSessions(cli: string, listener: () => void): () => void
  /** A hint that mail came; `isFor` tells whether it is in an agent's inbox. */
  onMail(listener: (isFor: (agent: string) => boolean) => void): () => void
  /** At most so many. Undefined where nothing waits that was not put before the agent already. */
  hold(session: OwnSession, limit?: number): Promise<OpenedMail | undefined>
  /** The session's memory was cut: its agent is told its situation with what is put before it next. */
  wasCompacted(session: OwnSession): void
  /** What lists of agents say of it: what its program does, and why it cannot be reached by its program's own door. */
  shows(session: OwnSession, word: { doing?: Agent['doing']; note?: string }): void
  /** From now on the agent is woken by a message, until the function that is returned is called. */
  wakes(agent: string): () => void
}
