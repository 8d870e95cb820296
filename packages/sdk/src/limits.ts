// The limits on the client's own side; each name ends with its unit. Limits on which client and daemon must agree are in protocol/limits.ts.

export interface ClientLimits {
  /** The first wait before a reconnect; each further wait is about twice as long. */
  backoffMsMin: number
  /** The longest wait before a reconnect. */
  backoffMsMax: number
  /** How long calls wait for a lost daemon before they fail. A restart takes well under a second. */
  callAwayMs: number
  /** A call that was lost with this many connections is not sent again: the call itself may be what kills the daemon. */
  callTriesMax: number
  /** How many ids of shown messages are remembered, to recognise repeats. A repeat comes within ten minutes after the message was offered, or not at all. */
  shownMax: number
  /** How long shown messages may wait until they are marked as read together. */
  readBatchMs: number
  /** The most shown messages that are marked as read at once. */
  readBatchMax: number
  /** How long the inbox is still followed after the last listener has left: the next `once` may follow soon. */
  followGraceMs: number
  /** How long closing the client waits for the last read marks to be stored. */
  goodbyeMs: number
}

export const clientLimits: Readonly<ClientLimits> = {
  backoffMsMin: 50,
  backoffMsMax: 2_000,
  callAwayMs: 10_000,
  callTriesMax: 20,
  shownMax: 10_000,
  readBatchMs: 20,
  readBatchMax: 200,
  followGraceMs: 1_000,
  goodbyeMs: 1_000,
}

/** How long the answer to HELLO may take. A daemon answers at once; a program that accepts the connection and says nothing is not a daemon. */
export const welcomeTimeoutMs = 5_000
/** A connection whose other end does not close in turn counts as gone after this time. */
export const closeTimeoutMs = 1_000
