// Limits of one run of the built-in agent loop: how much the run may use, and how patient the loop is. A test may make them smaller.

import { limits } from '@agent-relay/sdk/protocol'

export interface RunLimits {
  /** Maximum number of requests to the model in one run. */
  turnsMax: number
  /** Maximum number of tokens in one run, input and output together, as the model counts them. */
  tokensMax: number
  msMax: number
  /** Time limit of one request to the model; a request that has not finished by then is given up. */
  requestMsMax: number
  /** Maximum number of attempts of one request to the model that fails in a temporary way, the first attempt included. */
  triesMax: number
  /** Delay before the second attempt of a request; it doubles with each further attempt. */
  retryMs: number
  /** How often in a row a model is asked to continue if it neither calls a tool nor reports completion. */
  nudgesMax: number
  /** Wait before a silent model is first asked to continue, since a message may arrive meanwhile; the wait doubles each time. */
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

/** How long the loops of running runs may take to end when the daemon stops. */
export const loopsCloseMs = 1_000
