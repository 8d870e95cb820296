// The contracts for waking sessions that people started: such a session, and the mail that is held for it.

import type { InboxMessage, Route } from '@agent-relay/sdk/protocol'

/** An MCP session of a CLI that a person started, on the owner's own socket. */
export interface OwnSession {
  readonly id: string
  readonly agent: string
  /** The process that started our MCP server, and its working directory. */
  readonly host?: number
  readonly directory?: string
  /** The conversation, where one process of the CLI has many; known from the first tool call on. */
  readonly calledThread?: string
  /** The tool by which the session's model answers. */
  readonly sendTool?: string
}

/** Limits of the mail that one text for a model holds. */
export interface MailRoom {
  /** The bytes of all bodies together. */
  bytesMax?: number
  limit?: number
  /** Younger mail is left for now: a hook may still take it. */
  graceMs?: number
}

/** Mail that is held while it is put before a model, so that no other route shows it too. Exactly one of the two methods is called. */
export interface HeldMail {
  readonly messages: readonly InboxMessage[]
  /** The program has taken the mail: it is offered by this route now, and read at the agent's next call. */
  offered(route: Route): Promise<void>
  /** The program has not taken the mail: it goes by another route. */
  release(): void
}

export interface OpenedMail extends HeldMail {
  /** The brief that goes before the messages; empty if none is due. */
  readonly opening: string
}
