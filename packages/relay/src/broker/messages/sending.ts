// Sends a message: finds the recipients, also in other workspaces, tells the sender who is away, and waits for the reply if asked to. The rule in
// core/messages.ts decides.

import {
  limits,
  type Message,
  type NotReached,
  type OutputOf,
  type ParsedInputOf,
  type Unreachable,
} from '@agent-relay/sdk/protocol'
import { addressOfReply } from '../../core/messages.ts'
import { RefusalError, toRefusal } from '../../core/refusal-error.ts'
import type { MessageHead } from '../../core/view.ts'
import { type CallContext, causeOf, type WorkspaceCore } from '../call.ts'
import {
  absenceOf,
  absenceOfAll,
  describeUnreachable,
  findClosedInterfaces,
  isConnected,
  type ReachableWorkspace,
  unreachableMachineOf,
} from '../presence/availability.ts'
import { type CallScope, reachableWorkspaces, suggestWorkspaces } from '../presence/other-workspaces.ts'
import type { AwaitedReply, ReplyWait, ReplyWaitLimits, ReplyWaits } from '../presence/reply-waits.ts'
import { assertMayWriteTo, awaitedReplyFrom, resolveAddress, sendToWorkspaces, workspaceAddress } from './addresses.ts'
import type { Outbox } from './outbox.ts'

type Output = OutputOf<'message.send'>

type SendingWorkspace = WorkspaceCore & ReachableWorkspace & { waits: ReplyWaits; outbox: Outbox }
type SendScope = CallScope<SendingWorkspace>

/** Maximum number of messages between two models in a minute, to stop two that answer each other without end. People and programs have no such limit. */
export const pairPerMinuteMax = 40

export async function sendMessage(
  scope: SendScope,
  asking: CallContext,
  input: ParsedInputOf<'message.send'>,
): Promise<Output> {
  const { workspace } = scope
  const neighbours = reachableWorkspaces(scope, asking.session)
  const address = addressOf(scope, asking, input)
  const to = address instanceof Promise ? await address : address
  const wait = input.wait && workspace.waits.open(asking.by, to)
  try {
    const { output, awaited } = await storeMessage(workspace, neighbours, asking, { ...input, to })
    if (!wait) return output
    const { timeoutMs } = input.wait as { timeoutMs?: number }
    const absence = await watchAbsence(workspace, neighbours, wait, awaited)
    const waitLimits = {
      timeoutMs: timeoutMs ?? limits.waitMsDefault,
      waitsForReturn: timeoutMs !== undefined,
      absence,
      away: () => awayNow(workspace, to, absence),
    }
    const reply = await workspace.waits.waitForReply(wait, awaited, waitLimits, asking.abandoned)
    await offerReply(workspace, asking, reply)
    asking.handedMessages = [reply.id]
    return { ...output, reply }
  } finally {
    if (wait) workspace.waits.close(wait)
  }
}

function addressOf(scope: SendScope, { session, by }: CallContext, input: ParsedInputOf<'message.send'>) {
  const { workspace } = scope
  return resolveAddress(
    input.to ?? addressForReply(workspace, by, input),
    workspace,
    reachableWorkspaces(scope, session),
  )
}

/** Sends a message, or keeps it on this machine (in the outbox) until it can be sent. A message to another workspace of this daemon is never kept. */
export async function sendOrQueue(
  scope: SendScope,
  asking: CallContext,
  input: ParsedInputOf<'message.queue'>,
): Promise<OutputOf<'message.queue'>> {
  const { outbox } = scope.workspace
  const to = await addressOf(scope, asking, input)
  if (workspaceAddress(to)) return { sent: await sendMessage(scope, asking, input) }
  if (!outbox.hasWaiting(asking.by)) {
    try {
      return { sent: await sendMessage(scope, asking, input) }
    } catch (error) {
      if (!outbox.mayWait(toRefusal(error))) throw error
    }
  }
  return { queued: outbox.put(asking, { ...input, to }) }
}

/** Returns a function that says whether the awaited agent is absent, and for how long. An agent in another workspace is looked at only once, now. */
async function watchAbsence(
  workspace: SendingWorkspace,
  neighbours: SendScope['neighbours'],
  { by, on }: ReplyWait,
  { conversation, afterN }: AwaitedReply,
): Promise<ReplyWaitLimits['absence']> {
  const address = on === undefined ? undefined : workspaceAddress(on)
  if (!address) {
    const { queries } = workspace.store
    return () =>
      absenceOfAll(workspace, on === undefined ? queries.recipients({ conversation, n: afterN, from: by }) : [on])
  }
  const found = await neighbours.visit(address.workspace, (other) => absenceOf(other, address.rest))
  return () => found
}

/**
 * Finds the address of a reply that names no recipient. It may be in another workspace, so it must be known before the rule decides. The rows that it is read
 * from never change.
 */
function addressForReply(
  { store }: SendingWorkspace,
  by: string,
  { replyTo = '' }: ParsedInputOf<'message.send'>,
): string | string[] {
  const address = addressOfReply(store.view, by, replyTo)
  if ('refusal' in address) throw new RefusalError(address.refusal)
  return address.to
}

/** The input of a send, in which the recipient is always set. */
type AddressedInput = ParsedInputOf<'message.send'> & { to: string | string[] }

async function storeMessage(
  workspace: SendingWorkspace,
  neighbours: SendScope['neighbours'],
  asking: CallContext,
  input: AddressedInput,
): Promise<{ output: Output; awaited: AwaitedReply }> {
  const { session, by } = asking
  const { thread } = input
  if (workspaceAddress(input.to)) {
    // On the owner's socket the right to write need not be checked, and nothing is awaited: during an `await` the sender's next message could overtake this
    // one.
    if (session.standing.door !== 'owner') await assertMayWriteTo(session, workspace, neighbours, input.to as string)
    const awaited = awaitedReplyFrom(workspace, by, input.to as string)
    const output = await sendToWorkspaces(workspace, neighbours, asking, input)
    return { output, awaited: { ...awaited, id: output.id, thread } }
  }
  const reply = await workspace.engine.submit({
    rule: 'message.send',
    input: session.standing.kind === 'model' ? { ...input, pairPerMinuteMax } : input,
    by,
    ...causeOf(asking),
    session: session.id,
  })
  if ('refusal' in reply) throw new RefusalError(await suggestWorkspaces(session, workspace, neighbours, reply.refusal))
  const { id: sent, to } = reply.outcome as { id: string; to: string | string[] }
  const output = { id: sent, seq: reply.seq, to, ...absentRecipients(workspace, to) }
  if (!input.wait) return { output, awaited: { id: sent, conversation: '', afterSeq: 0, afterN: 0 } }
  const { conversation, seq: afterSeq, n: afterN } = workspace.store.view.message(sent) as MessageHead
  return { output, awaited: { id: sent, conversation, afterSeq, afterN, thread } }
}

/** Lists the absent recipients of a message to agents. Members of a channel are left out: each would cost a look-up, and the sender did not name them. */
function absentRecipients(
  workspace: SendingWorkspace,
  to: string | string[],
): Pick<Output, 'away' | 'unreachable' | 'notReached'> {
  const names = typeof to === 'string' ? (to.startsWith('#') || to === '*' ? [] : [to]) : to
  const [away, lost, shut]: [string[], Unreachable[], NotReached[]] = [[], [], []]
  for (const name of names) {
    const place = unreachableMachineOf(workspace, name)
    if (place) lost.push(describeUnreachable(name, place))
    else if (!isConnected(workspace, name)) away.push(name)
    shut.push(...findClosedInterfaces(workspace, name))
  }
  return { away, ...(lost.length > 0 && { unreachable: lost }), ...(shut.length > 0 && { notReached: shut }) }
}

/**
 * Lists the recipients that are absent at the end of a wait for a reply. Those of a channel or another workspace are listed only if nobody there could answer.
 */
function awayNow(workspace: SendingWorkspace, to: string | string[], absence: ReplyWaitLimits['absence']): string[] {
  if (workspaceAddress(to)) return absence() ? [to as string] : []
  const named = absentRecipients(workspace, to).away
  return named.length > 0 ? named : (absence()?.names ?? [])
}

/** Records that the sender was handed the reply that it waited for: the reply counts as offered now, and as read at the sender's next call. */
async function offerReply(
  { engine }: SendingWorkspace,
  { session, by, id }: CallContext,
  reply: Message,
): Promise<void> {
  const input = { messages: [reply.id], route: 'wait' as const }
  await engine.submit({ rule: 'inbox.offer', input, by, cause: `${id}/reply`, session: session.id })
}
