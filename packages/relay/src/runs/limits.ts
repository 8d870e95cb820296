// Limits of one run of the built-in loop: what it may use, and how patient the loop is. A test may make them smaller.

import { limits } from '@agent-relay/sdk/protocol'

export interface RunLimits {
  /** Requests to the model in one run. */
  turnsMax: number
  /** Input and output tokens together, as the model counts them. */
  tokensMax: number
  msMax: number
  /** Time limit of one request; a model that has not finished by then is given up. */
  requestMsMax: number
  /** Attempts of one request that fails in a temporary way, the first one included. */
  triesMax: number
  /** Delay before the second attempt of a request; it doubles with each further attempt. */
  retryMs: number
  /** How often in a row a model that neither calls a tool nor reports completion is asked to continue. */
  nudgesMax: number
  /** Wait before the first such request to continue, since a message may arrive meanwhile; it doubles each time. */
  nudgeMs: number
  /** Time limit for the start of a project's MCP server. */
  serverStartMs: number
}

export const runLimits: Readonly<RunLimits> = {
  turnsMax: limits.runTurnsMax,
  tokensMax: limits.runTokensMax,
  msMax: limits.runMsMax,
  requestMsMax: 10 * 60_000,
  triesMax: 3,
  retryMs: 1_000,
  nudgesMax: 5,
  nudgeMs: 2_000,
  serverStartMs: 30_000,
}

/** How long running work may take to end when the daemon stops. */
export const closeMs = 1_000
