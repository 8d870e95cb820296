// Sends a message, with everything around the rule: other workspaces, recipients who are away, and waiting for the reply.

import { limits, type Message, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { addressOfReply } from '../../core/messages.ts'
import { RefusalError, refusalOf } from '../../core/refusal-error.ts'
import type { MessageHead } from '../../core/view.ts'
import { type Asking, causeOf, type WorkspaceCore } from '../call.ts'
import {
  absenceOf,
  absenceOfAll,
  isThere,
  notReached,
  outOfReach,
  type Reachable,
  unreachableAs,
} from '../presence/availability.ts'
import { type CallScope, suggestingWorkspaces, withinReach } from '../presence/other-workspaces.ts'
import type { Awaited, Patience, Wait, Waits } from '../presence/waits.ts'
import { assertMayWriteTo, awaitedFrom, outward, resolved, sendWide } from './addresses.ts'
import type { Outbox } from './outbox.ts'

type Output = OutputOf<'message.send'>

type Sending = WorkspaceCore & Reachable & { waits: Waits; outbox: Outbox }
type Scope = CallScope<Sending>

/** Maximum number of messages between two models in a minute: two that answer each other immediately reach it. People and programs have no such limit. */
export const pairPerMinuteMax = 40

export async function send(scope: Scope, asking: Asking, input: ParsedInputOf<'message.send'>): Promise<Output> {
  const { workspace } = scope
  const neighbours = withinReach(scope, asking.session)
  const address = addressFor(scope, asking, input)
  const to = address instanceof Promise ? await address : address
  const wait = input.wait && workspace.waits.open(asking.by, to)
  try {
    const { output, awaited } = await store(workspace, neighbours, asking, { ...input, to })
    if (!wait) return output
    const { timeoutMs } = input.wait as { timeoutMs?: number }
    const absence = await watchAbsence(workspace, neighbours, wait, awaited)
    const patience = {
      timeoutMs: timeoutMs ?? limits.waitMsDefault,
      expectsBack: timeoutMs !== undefined,
      absence,
      away: () => awayNow(workspace, to, absence),
    }
    const reply = await workspace.waits.reply(wait, awaited, patience, asking.abandoned)
    await handOut(workspace, asking, reply)
    asking.handed = [reply.id]
    return { ...output, reply }
  } finally {
    if (wait) workspace.waits.close(wait)
  }
}

function addressFor(scope: Scope, { session, by }: Asking, input: ParsedInputOf<'message.send'>) {
  const { workspace } = scope
  return resolved(input.to ?? answered(workspace, by, input), workspace, withinReach(scope, session))
}

/** Sends a message, or keeps it on this machine (in the outbox) until it can be sent. A message to another workspace is never kept. */
export async function sendOrQueue(
  scope: Scope,
  asking: Asking,
  input: ParsedInputOf<'message.queue'>,
): Promise<OutputOf<'message.queue'>> {
  const { outbox } = scope.workspace
  const to = await addressFor(scope, asking, input)
  if (outward(to)) return { sent: await send(scope, asking, input) }
  if (!outbox.isWaiting(asking.by)) {
    try {
      return { sent: await send(scope, asking, input) }
    } catch (error) {
      if (!outbox.mayWait(refusalOf(error))) throw error
    }
  }
  return { queued: outbox.put(asking, { ...input, to }) }
}

/** Returns a function that tells the absence of the awaited agent. An agent in another workspace is looked at once, here, and not followed. */
async function watchAbsence(
  workspace: Sending,
  neighbours: Scope['neighbours'],
  { by, on }: Wait,
  { conversation, afterN: n }: Awaited,
): Promise<Patience['absence']> {
  const address = on === undefined ? undefined : outward(on)
  if (!address) {
    const { queries } = workspace.store
    return () => absenceOfAll(workspace, on === undefined ? queries.recipients({ conversation, n, from: by }) : [on])
  }
  const found = await neighbours.visit(address.workspace, (other) => absenceOf(other, address.rest))
  return () => found
}

/**
 * Finds the address of a reply that names none. The address may be in another workspace, so it is found before the rule decides; the rows that it is read from
 * never change.
 */
function answered({ store }: Sending, by: string, { replyTo = '' }: ParsedInputOf<'message.send'>): string | string[] {
  const address = addressOfReply(store.view, by, replyTo)
  if ('refusal' in address) throw new RefusalError(address.refusal)
  return address.to
}

/** A message with its full address. */
type Addressed = ParsedInputOf<'message.send'> & { to: string | string[] }

async function store(
  workspace: Sending,
  neighbours: Scope['neighbours'],
  asking: Asking,
  input: Addressed,
): Promise<{ output: Output; awaited: Awaited }> {
  const { session, by } = asking
  const { thread } = input
  if (outward(input.to)) {
    // On the owner's socket nothing is awaited before the send: the sender's next message must not overtake this one.
    if (session.standing.door !== 'owner') await assertMayWriteTo(session, workspace, neighbours, input.to as string)
    const awaited = awaitedFrom(workspace, by, input.to as string)
    const output = await sendWide(workspace, neighbours, asking, input)
    return { output, awaited: { ...awaited, id: output.id, thread } }
  }
  const { wait: _, ...message } = input
  const reply = await workspace.engine.submit({
    rule: 'message.send',
    input: session.standing.kind === 'model' ? { ...message, pairPerMinuteMax } : message,
    by,
    ...causeOf(asking),
    session: session.id,
  })
  if ('refusal' in reply)
    throw new RefusalError(await suggestingWorkspaces(session, workspace, neighbours, reply.refusal))
  const { id: sent, to } = reply.outcome as { id: string; to: string | string[] }
  const output = { id: sent, seq: reply.seq, to, ...absentOf(workspace, to) }
  if (!input.wait) return { output, awaited: { id: sent, conversation: '', afterSeq: 0, afterN: 0 } }
  const { conversation, seq: afterSeq, n: afterN } = workspace.store.view.message(sent) as MessageHead
  return { output, awaited: { id: sent, conversation, afterSeq, afterN, thread } }
}

/** Lists the absent direct recipients. Members of a channel are left out: each would cost a look, and the sender did not name them. */
function absentOf(workspace: Sending, to: string | string[]): Pick<Output, 'away' | 'unreachable' | 'notReached'> {
  const names = typeof to === 'string' ? (to.startsWith('#') || to === '*' ? [] : [to]) : to
  const lost = names.flatMap((name) => {
    const place = outOfReach(workspace, name)
    return place ? [unreachableAs(name, place)] : []
  })
  const isLost = (name: string) => lost.some((each) => each.name === name)
  const away = names.filter((name) => !isThere(workspace, name) && !isLost(name))
  const shut = names.flatMap((name) => notReached(workspace, name))
  return { away, ...(lost.length > 0 && { unreachable: lost }), ...(shut.length > 0 && { notReached: shut }) }
}

/** Lists the absent recipients at the end of a wait; a channel or another workspace counts if nobody in it could answer. */
function awayNow(workspace: Sending, to: string | string[], absence: Patience['absence']): string[] {
  if (outward(to)) return absence() ? [to as string] : []
  const named = absentOf(workspace, to).away
  return named.length > 0 ? named : (absence()?.names ?? [])
}

/** Hands out a reply that ended a wait, like any other message: it counts as offered now, and as read at the next call. */
async function handOut({ engine }: Sending, { session, by, id }: Asking, reply: Message): Promise<void> {
  const input = { messages: [reply.id], route: 'wait' as const }
  await engine.submit({ rule: 'inbox.offer', input, by, cause: `${id}/reply`, session: session.id })
}
