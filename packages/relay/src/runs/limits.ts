// What one run of the built-in loop may use, and how patient the loop is. Named in one place; a test may make them smaller.

import { limits } from '@agent-relay/sdk/protocol'

export interface RunLimits {
  /** Requests to the model. */
  turnsMax: number
  /** In and out, as the model counts them. */
  tokensMax: number
  msMax: number
  /** One request: a model that has not finished by then is given up. */
  requestMsMax: number
  /** How often a request is made in all if it fails in a temporary way ... */
  triesMax: number
  /** ... the second time after this long, each further time after twice as long. */
  retryMs: number
  /** How often in a row a model that neither calls a tool nor says that it is done is asked to continue ... */
  nudgesMax: number
  /** ... first after this long, since a message may arrive meanwhile, then after twice as long, and so on. */
  nudgeMs: number
  /** A project's MCP server must have started by then. */
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
