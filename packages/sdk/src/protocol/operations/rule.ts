// The rule for one operation in the table, and what several operations share.

import { z } from 'zod'
import { limits } from '../limits.ts'

/**
 * The least that a caller must be. anyone: a session that has not said who it is. agent: acts as one agent. holder: also shows the workspace key. owner: the
 * data directory's owner, on the control socket; such an operation belongs to the daemon, not to a workspace.
 */
export type Who = 'anyone' | 'agent' | 'holder' | 'owner'
/**
 * The least that a session must have shown to ask for an operation over the network; on the owner's own socket nothing needs to be shown. lift: nothing, even
 * on a lift's port. open: nothing, on an open port. run: as open, but an input that starts a program needs what `spawn` needs. token: an agent's token. spawn:
 * the key, or a token where policy.spawn allows it. key: the workspace key. never: no network can ask for it.
 */
export type Network = 'lift' | 'open' | 'run' | 'token' | 'spawn' | 'key' | 'never'
/** The kinds of operations. command: changes something, through the engine. query: reads. watch: keeps sending until it is ended. */
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

export const page = z.number().int().min(1).max(limits.pageMessagesMax)
