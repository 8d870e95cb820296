// The type of one row in the table of operations, and schemas that several operations share.

import { z } from 'zod'
import { limits } from '../limits.ts'

/**
 * What a caller must at least be to use an operation. anyone: a session that has not said who it is. agent: a session that acts as one agent. holder: a session
 * that also shows the workspace key. owner: the owner of the data directory, on the control socket; such an operation belongs to the daemon, not to a
 * workspace.
 */
export type Who = 'anyone' | 'agent' | 'holder' | 'owner'
/**
 * What a session must at least have shown to use an operation over the network; on the owner's own socket nothing needs to be shown. lift: nothing, even on the
 * port of a lift (a relay of its own for a shared piece of work). open: nothing, on an open port. run: as open, but an input that starts a program needs what
 * `spawn` needs. token: an agent's token. spawn: the key, or a token if policy.spawn allows it. key: the workspace key. never: the operation is not available
 * over any network.
 */
export type Network = 'lift' | 'open' | 'run' | 'token' | 'spawn' | 'key' | 'never'
/** The kinds of operations. command: changes something, and is decided by the engine. query: only reads. watch: keeps sending items until it is ended. */
export type OperationKind = 'command' | 'query' | 'watch'

export interface OperationRule {
  kind: OperationKind
  who: Who
  network: Network
  /**
   * A program of the agent's CLI asks this, such as a hook, and not the model: the call does not show that the agent has come back. by route: where the
   * input's route is one of `hostRoutes`.
   */
  byHost?: 'always' | 'by route'
  /**
   * The call only looks, so that an agent with a provisional name needs no row for it. at inbox: as long as nothing has come that a row is needed for.
   */
  looks?: 'always' | 'at inbox'
  /** Over HTTP the call gets a session of its own: the call binds the session to a name, or other callers of the session could end what the call has opened. */
  ownSession?: true
  summary: string
  input: z.ZodType
  output: z.ZodType
}

export type OperationTable = Record<string, OperationRule>

export const pageSizeSchema = z.number().int().min(1).max(limits.pageMessagesMax)
