// Sending, with everything around the rule: other workspaces, who is away, and waiting for the reply.

import { limits, type Message, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { answerAddress } from '../core/messages.ts'
import type { MessageHead } from '../core/view.ts'
import { RefusalError } from '../refusal-error.ts'
import { awaitedFrom, mustReach, type Neighbours, outward, resolved, sendWide, withinReach } from './addresses.ts'
import type { Answer, Asking } from './call.ts'
import type { Surroundings } from './surroundings.ts'
import type { Awaited } from './waits.ts'
import type { Workspace } from './workspace.ts'

type Output = OutputOf<'message.send'>

/** Two models that answer each other at once reach this in a minute; people and programs have no such limit. */
export const pairPerMinuteMax = 40

export async function send(
  surroundings: Surroundings,
  asking: Asking,
  input: ParsedInputOf<'message.send'>,
): Promise<Answer<Output>> {
  const { workspace } = surroundings
  const neighbours = withinReach(surroundings, asking.session)
  const to = resolved(input.to ?? answered(workspace, asking.by, input), workspace, neighbours)
  const wait = input.wait && workspace.waits.open(asking.by, to)
  try {
    const { output, awaited } = await store(workspace, neighbours, asking, { ...input, to })
    if (!wait) return { output }
    const timeoutMs = input.wait?.timeoutMs ?? limits.waitMsDefault
    const reply = await workspace.waits.reply(wait, awaited, timeoutMs, asking.abandoned)
    await handOut(workspace, asking, reply)
    return { output: { ...output, reply }, handed: [reply.id] }
  } finally {
    if (wait) workspace.waits.close(wait)
  }
}

/** Asked ahead of the rule, since the answer may lie in another workspace. What it reads never changes. */
function answered(
  { store }: Workspace,
  by: string,
  { replyTo = '' }: ParsedInputOf<'message.send'>,
): string | string[] {
  const address = answerAddress(store.view, by, replyTo)
  if ('refusal' in address) throw new RefusalError(address.refusal)
  return address.to
}

/** With the address that is meant. */
type Addressed = ParsedInputOf<'message.send'> & { to: string | string[] }

async function store(
  workspace: Workspace,
  neighbours: Neighbours,
  { session, by, id }: Asking,
  input: Addressed,
): Promise<{ output: Output; awaited: Awaited }> {
  const { thread } = input
  if (outward(input.to)) {
    mustReach(session, workspace, neighbours, input.to as string)
    const awaited = awaitedFrom(workspace, by, input.to as string)
    const output = await sendWide(workspace, neighbours, by, input, id)
    return { output, awaited: { ...awaited, id: output.id, thread } }
  }
  const { wait: _, ...message } = input
  const reply = await workspace.engine.submit({
    rule: 'message.send',
    input: session.isModel ? { ...message, pairPerMinuteMax } : message,
    by,
    cause: id,
    session: session.id,
  })
  if ('refusal' in reply) throw new RefusalError(reply.refusal)
  const { id: sent, to } = reply.outcome as { id: string; to: string | string[] }
  const output = { id: sent, seq: reply.seq, to, away: awayOf(workspace, to) }
  if (!input.wait) return { output, awaited: { id: sent, conversation: '', afterSeq: 0, afterN: 0 } }
  const { conversation, seq: afterSeq, n: afterN } = workspace.store.view.message(sent) as MessageHead
  return { output, awaited: { id: sent, conversation, afterSeq, afterN, thread } }
}

/** Direct recipients only: who of a channel is away is not the sender's concern, and would cost a look at each member. */
function awayOf({ sessions }: Workspace, to: string | string[]): string[] {
  const names = typeof to === 'string' ? (to.startsWith('#') || to === '*' ? [] : [to]) : to
  return names.filter((name) => !sessions.isLive(name))
}

/** A reply that ended a wait is handed out like any other: offered now, read at the next call. */
async function handOut({ engine }: Workspace, { session, by, id }: Asking, reply: Message): Promise<void> {
  const input = { messages: [reply.id], route: 'wait' as const }
  await engine.submit({ rule: 'inbox.offer', input, by, cause: `${id}/reply`, session: session.id })
}
