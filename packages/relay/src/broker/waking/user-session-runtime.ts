// Interfaces for waking CLI sessions that people started themselves: such a session, and the messages that are held (reserved) for it.

import type { InboxMessage, Route } from '@agent-relay/sdk/protocol'

/** An MCP session of a CLI that a person started, on the owner's own socket. */
export interface UserSession {
  readonly id: string
  readonly agent: string
  /** The id of the process that started the session's MCP server, and that process's working directory. */
  readonly host?: number
  readonly directory?: string
  /** The session's conversation, for a CLI of which one process has many; known from the session's first tool call on. */
  readonly calledThread?: string
  /** The tool by which the session's model answers messages. */
  readonly sendTool?: string
}

/** Limits of the messages that one text for a model contains. */
export interface MailLimits {
  /** Maximum number of bytes of all message bodies together. */
  bytesMax?: number
  limit?: number
  /** Minimum age of a message, in milliseconds. Younger messages are left for now, since a hook may still take them. */
  graceMs?: number
}

/** Messages that are held (reserved) while they are shown to a model, so that no other route shows them too. Exactly one of the two methods is called. */
export interface HeldMail {
  readonly messages: readonly InboxMessage[]
  /** Reports that the program has taken the messages: they are offered by this route now, and read at the agent's next call. */
  markOffered(route: Route): Promise<void>
  /** Reports that the program has not taken the messages, so that another route may show them. */
  release(): void
}

export interface MailWithBrief extends HeldMail {
  /** The text of the brief that goes before the messages; empty if none is due. */
  readonly briefText: string
}
