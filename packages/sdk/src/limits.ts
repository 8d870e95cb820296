// Every limit of the client's own side, unit last. Limits that both ends of a wire agree on are in protocol/limits.ts.

export interface ClientLimits {
  /** The first reconnect waits about this long, each further one about twice as long as the one before. */
  backoffMsMin: number
  /** No reconnect waits longer than this. */
  backoffMsMax: number
  /** Calls wait for a lost daemon this long and then fail. A restart takes well under a second. */
  callAwayMs: number
  /** A call that was lost with this many links is not sent again: it may be what kills the daemon. */
  callTriesMax: number
  /** Number of shown messages whose ids are remembered. A repeat comes within the ten minutes of an offer, or not at all. */
  shownMax: number
  /** Shown messages are marked read together, at most this much later. */
  readBatchMs: number
  /** At most this many shown messages are marked read at once. */
  readBatchMax: number
  /** The inbox is followed this much longer after the last listener left: the next `once` may be on its way. */
  followGraceMs: number
  /** A goodbye waits this long for the last read marks to be stored. */
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

/** Limit for the answer to HELLO. A daemon answers at once; one that accepts the connection and says nothing is another program. */
export const welcomeMs = 5_000
/** A connection whose other end does not close in turn counts as gone after this. */
export const lingerMs = 1_000
