// Rows of the table of facts (stored events) about messages: sending, delivery and reactions.

import { daemonName, type Fact, type MessageCreated, MessageKind } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { broadcast, directMembers, isChannel, isFromOtherWorkspace, isPair } from '../conversations.ts'
import { type AppendedEntry, type FactRow, type FactRows, homeOfAgent, type Known, noKey } from './row.ts'
import { conversation, count, fields, label, listOf, maybe, oneOf, text } from './shape.ts'

const ofMessage = { message: text, agent: label }
const hold = { session: maybe(text), until: maybe(count) }

const delivery = {
  said: homeOfAgent,
  seen: {
    to: 'agents',
    *who({ agent, message }: { agent: string; message: string }, known: Known) {
      yield agent
      yield known.message(message)?.from
    },
  },
  writes: noKey,
  over: { with: ({ message }: { message: string }) => message },
} as const satisfies Omit<FactRow<{ agent: string; message: string }>, 'shape'>

const reaction = {
  shape: { ...ofMessage, emoji: label },
  said: homeOfAgent,
  seen: { to: 'readers', of: ({ message }: { message: string }) => message },
  writes: ({ message }: { message: string }) => [keys.reactions(message)],
  over: { with: ({ message }: { message: string }) => message },
} as const satisfies FactRow<{ agent: string; message: string; emoji: string }>

export const messageFacts: FactRows<
  | 'message.created'
  | 'delivery.offered'
  | 'delivery.held'
  | 'delivery.released'
  | 'delivery.read'
  | 'deliveries.noted'
  | 'reaction.added'
  | 'reaction.removed'
> = {
  'message.created': {
    shape: {
      id: text,
      conversation,
      n: count,
      from: label,
      kind: oneOf(...MessageKind.options),
      thread: maybe(label),
      replyTo: maybe(text),
    },
    said: maySend,
    seen: { to: 'readers', of: ({ id }) => id },
    writes: ({ conversation }) => [keys.conversation(conversation)],
    over: { with: ({ id }) => id },
  },
  'delivery.offered': { ...delivery, shape: { ...ofMessage, route: label, ...hold } },
  'delivery.held': { ...delivery, shape: { ...ofMessage, session: maybe(text), until: count } },
  'delivery.released': { ...delivery, shape: ofMessage },
  'delivery.read': { ...delivery, shape: ofMessage },
  'deliveries.noted': {
    shape: {
      agent: label,
      machine: label,
      epoch: count,
      through: count,
      receipts: listOf(fields({ message: text, offeredAt: maybe(count), route: maybe(label), readAt: maybe(count) })),
    },
    // A former home machine of the agent may still report deliveries from its time as the home.
    said: ({ agent, machine, epoch }, by) => machine === by.machine && by.homeAt(agent, epoch) === machine,
    // A home machine's report (`deliveries.noted`) covers many deliveries. Watchers see each delivery as its own event; see broker/events.ts.
    seen: {
      to: 'agents',
      *who({ agent, receipts }, known) {
        yield agent
        for (const { message } of receipts) yield known.message(message)?.from
      },
    },
    writes: noKey,
    over: 'never',
  },
  'reaction.added': reaction,
  'reaction.removed': reaction,
}

/**
 * Whether a machine may send this message. Agents believe what the daemon says, so a daemon writes only to agents of its own machine, and to the parent of a
 * run that it ends.
 */
function maySend({ from, conversation, n }: MessageCreated, by: AppendedEntry): boolean {
  const { view } = by
  // The message's id is checked when the entry is applied: checking it here would read the whole workspace.
  if (n !== (view.lastNumber(conversation) ?? 0) + 1) return false
  if (from !== daemonName) return (isFromOtherWorkspace(from) || by.speaksFor(from)) && isIn(conversation, from, by)
  if (!isPair(conversation)) return false
  const [to] = directMembers(conversation).filter((name) => name !== daemonName)
  return to !== undefined && (by.speaksFor(to) || endsRunOf(to, by))
}

/** Whether the sender is in the pair, group or channel, or enters it with this entry. Agents of other workspaces may send into any channel. */
function isIn(conversation: string, from: string, { view, facts }: AppendedEntry): boolean {
  if (!isChannel(conversation)) return conversation === broadcast || directMembers(conversation).includes(from)
  const enters = (fact: Fact) => fact.type === 'channel.joined' && fact.agent === from && fact.channel === conversation
  return isFromOtherWorkspace(from) || view.isMember(from, conversation) || facts.some(enters)
}

function endsRunOf(parent: string, { facts, view }: AppendedEntry): boolean {
  return facts.some(
    (fact) =>
      (fact.type === 'run.completed' || fact.type === 'run.stopped') && view.runs.byId(fact.id)?.parent === parent,
  )
}
