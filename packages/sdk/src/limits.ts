// The limits that concern only the client; each name ends with its unit. Limits on which client and daemon must agree are in protocol/limits.ts.

export interface ClientLimits {
  /** The wait before the first attempt to reconnect; each further wait is about twice as long. */
  backoffMsMin: number
  /** The longest wait between attempts to reconnect. */
  backoffMsMax: number
  /** How long after the loss of the connection calls wait for the daemon before they fail. A restart takes well under a second. */
  callAwayMs: number
  /** A call that was sent this many times and lost with its connection each time is not sent again: the call itself may be what kills the daemon. */
  callTriesMax: number
  /** How many ids of shown messages are remembered, to recognise repeats. A repeat comes within ten minutes after the message was offered, or not at all. */
  shownMax: number
  /** How long shown messages may wait until they are marked as read in one call. */
  readBatchMs: number
  /** Maximum number of messages that one call marks as read. */
  readBatchMax: number
  /** How long the inbox watch goes on after the last 'message' listener was removed, because a program that uses `once` adds the next one soon. */
  followGraceMs: number
  /** How long `disconnect` waits until the daemon has stored the last read marks. */
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

/** How long the daemon may take to answer HELLO. A daemon answers at once; a program that accepts the connection and stays silent is no daemon. */
export const welcomeTimeoutMs = 5_000
/** How long after our end of a connection was closed the other end may take to close too; then the connection counts as gone. */
export const closeTimeoutMs = 1_000
