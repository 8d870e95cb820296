// The type of one row in the table of operations, and schemas that several operations share.

import { z } from 'zod'
import { limits } from '../limits.ts'

/**
 * The least that a caller must be to use an operation. anyone: a session that has not said who it is. agent: a session that acts as one agent. holder: a
 * session that has also shown the workspace key. owner: the owner of the data directory, on the control socket; such an operation is about the daemon and not
 * about one workspace.
 */
export type CallerRank = 'anyone' | 'agent' | 'holder' | 'owner'
/**
 * The least credential that an operation needs over the network; on the owner's own socket none is needed. lift: none, even on the port of a lift (a relay for
 * one piece of work that several sessions share). open: none, on a port that was opened without a key. run: as `open`, but an input that starts a program needs
 * what `spawn` needs. token: an agent's token. spawn: the key, or a token if policy.spawn allows it. key: the workspace key. never: the operation is not
 * available over any network.
 */
export type NetworkCredential = 'lift' | 'open' | 'run' | 'token' | 'spawn' | 'key' | 'never'
/** The kinds of operations. command: changes something. query: only reads. watch: sends items until the client ends it. */
export type OperationKind = 'command' | 'query' | 'watch'

export interface OperationRule {
  kind: OperationKind
  who: CallerRank
  network: NetworkCredential
  /**
   * Set if a program of the agent's CLI, such as a hook, makes this call and not the model, so that the call is no sign that the model is at work again. by
   * route: only if the input's route is one of `hostRoutes`.
   */
  byHook?: 'always' | 'by route'
  /**
   * Set if the operation only reads, so that an agent with a provisional name (one that is not in the database yet) is not stored for it. at inbox: the agent
   * is stored once it has messages.
   */
  needsNoStoredAgent?: 'always' | 'at inbox'
  /**
   * Over HTTP, the call gets a session of its own, because it gives the session a name, or because other callers in the session could end what it has opened.
   */
  ownSession?: true
  summary: string
  input: z.ZodType
  output: z.ZodType
}

export type OperationTable = Record<string, OperationRule>

export const pageSizeSchema = z.number().int().min(1).max(limits.pageMessagesMax)
