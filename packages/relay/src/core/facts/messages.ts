// Rows of the table of facts (stored events) about messages: sending, delivery and reactions.

import { daemonName, type Fact, type MessageCreated, MessageKind } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { broadcast, directMembers, isChannel, isFromOtherWorkspace, isPair } from '../conversations.ts'
import {
  type AppendedEntry,
  type AudienceLookups,
  type FactRow,
  type FactRows,
  noConflictKeys,
  onlyHomeMachine,
} from './row.ts'
import { hasFields, isConversationName, isCount, isLabel, isListOf, isOneOf, isText, optional } from './shape.ts'

const ofMessage = { message: isText, agent: isLabel }
const hold = { session: optional(isText), until: optional(isCount) }

const delivery = {
  mayAppend: onlyHomeMachine,
  audience: {
    to: 'agents',
    *agentNames({ agent, message }: { agent: string; message: string }, known: AudienceLookups) {
      yield agent
      yield known.message(message)?.from
    },
  },
  changedKeys: noConflictKeys,
  prunableWhen: { withMessage: ({ message }: { message: string }) => message },
} as const satisfies Omit<FactRow<{ agent: string; message: string }>, 'shape'>

const reaction = {
  shape: { ...ofMessage, emoji: isLabel },
  mayAppend: onlyHomeMachine,
  audience: { to: 'readers', messageId: ({ message }: { message: string }) => message },
  changedKeys: ({ message }: { message: string }) => [conflictKeys.reactions(message)],
  prunableWhen: { withMessage: ({ message }: { message: string }) => message },
} as const satisfies FactRow<{ agent: string; message: string; emoji: string }>

export const messageFacts: FactRows<
  `message.${string}` | `delivery.${string}` | `deliveries.${string}` | `reaction.${string}`
> = {
  'message.created': {
    shape: {
      id: isText,
      conversation: isConversationName,
      n: isCount,
      from: isLabel,
      kind: isOneOf(...MessageKind.options),
      thread: optional(isLabel),
      replyTo: optional(isText),
    },
    mayAppend: maySend,
    audience: { to: 'readers', messageId: ({ id }) => id },
    changedKeys: ({ conversation }) => [conflictKeys.conversation(conversation)],
    prunableWhen: { withMessage: ({ id }) => id },
  },
  'delivery.offered': { ...delivery, shape: { ...ofMessage, route: isLabel, ...hold } },
  'delivery.held': { ...delivery, shape: { ...ofMessage, session: optional(isText), until: isCount } },
  'delivery.released': { ...delivery, shape: ofMessage },
  'delivery.read': { ...delivery, shape: ofMessage },
  'deliveries.noted': {
    shape: {
      agent: isLabel,
      machine: isLabel,
      epoch: isCount,
      through: isCount,
      receipts: isListOf(
        hasFields({
          message: isText,
          offeredAt: optional(isCount),
          route: optional(isLabel),
          readAt: optional(isCount),
        }),
      ),
    },
    // A former home machine of the agent may still report deliveries from its time as the home.
    mayAppend: ({ agent, machine, epoch }, by) => machine === by.machine && by.homeAt(agent, epoch) === machine,
    // A home machine's report (`deliveries.noted`) covers many deliveries. Watchers see each delivery as its own event; see broker/events.ts.
    audience: {
      to: 'agents',
      *agentNames({ agent, receipts }, known) {
        yield agent
        for (const { message } of receipts) yield known.message(message)?.from
      },
    },
    changedKeys: noConflictKeys,
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
