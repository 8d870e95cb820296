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
  /** A request that failed in a way that may pass is made so often in all ... */
  triesMax: number
  /** ... the second about this much later, each further one after twice as long. */
  retryMs: number
  /** A model that neither calls a tool nor says that it is done is asked to go on so often in a row ... */
  nudgesMax: number
  /** ... at first after this long, since a message may come meanwhile, then after twice as long, and so on. */
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
