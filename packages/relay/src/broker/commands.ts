// How the parts of the broker submit commands: for a call, which is told of a refusal by an exception, and for the daemon itself.

import { daemonName } from '@agent-relay/sdk/protocol'
import type { RuleInput, RuleName } from '../core/decide.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type CallContext, causeOf, type WorkspaceCore } from './call.ts'
import type { CommandReply } from './engine.ts'

/** The reply to a command that was not refused. */
export type AcceptedReply = Exclude<CommandReply, { refusal: unknown }>

/** Returns the reply to a command; throws its refusal. */
export function acceptedReplyOrThrow(reply: CommandReply): AcceptedReply {
  if ('refusal' in reply) throw new RefusalError(reply.refusal)
  return reply
}

/** Submits the command of a call, under the call's id; throws a refusal. */
export async function submitCall<R extends RuleName>(
  { engine }: Pick<WorkspaceCore, 'engine'>,
  asking: Pick<CallContext, 'by' | 'id' | 'digest'>,
  rule: R,
  input: RuleInput<R>,
): Promise<AcceptedReply> {
  return acceptedReplyOrThrow(await engine.submit({ rule, input, by: asking.by, ...causeOf(asking) }))
}

/** Submits a command of the daemon itself. */
export function submitByDaemon<R extends RuleName>(
  { engine, ids }: Pick<WorkspaceCore, 'engine' | 'ids'>,
  rule: R,
  input: RuleInput<R>,
): Promise<CommandReply> {
  return engine.submit({ rule, input, by: daemonName, cause: ids('d') })
}

/** Sends an agent a message of the daemon itself. `cause`: the command's id, under which the message is sent once. */
export function tellAgent(
  { engine }: Pick<WorkspaceCore, 'engine'>,
  to: string,
  body: string,
  cause: string,
): Promise<CommandReply> {
  return engine.submit({ rule: 'message.send', input: { to, body, kind: 'status' }, by: daemonName, cause })
}
