// Limits of one run of the built-in agent loop: how much the run may use, and how often and how long the loop waits or retries. A test may make them
// smaller.

import { limits } from '@agent-relay/sdk/protocol'

export interface RunLimits {
  /** Maximum number of requests to the model in one run. */
  turnsMax: number
  /** Maximum number of tokens in one run, input and output together, as the model counts them. */
  tokensMax: number
  msMax: number
  /** Timeout of one request to the model. */
  requestMsMax: number
  /** Maximum number of attempts of one request to the model that fails in a temporary way, the first attempt included. */
  triesMax: number
  /** Delay before the second attempt of a request; it doubles with each further attempt. */
  retryMs: number
  /** Maximum number of times in a row that a model is asked to continue because it has neither called a tool nor reported completion. */
  nudgesMax: number
  /** Delay before a model that has called no tool is asked to continue, since a message for it may arrive meanwhile; the delay doubles each time. */
  nudgeMs: number
  /** Timeout for the start of a project's MCP server. */
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

/** Maximum time for the loops of unfinished runs to end when the daemon stops. */
export const loopsCloseMs = 1_000
