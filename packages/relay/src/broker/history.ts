// Looking back: which conversations there are, what was said in one, and one agent's mail. Members see their own, the key's holder all.

import { type InboxMessage, limits, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { addressOf, directMembers, isChannel } from '../core/conversations.ts'
import { page } from '../core/inbox.ts'
import { canSee } from '../core/messages.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Asking } from './call.ts'
import type { Workspace } from './workspace.ts'

const [conversationsDefault, historyDefault, mailDefault] = [200, 100, 50]
/** Counting further helps nobody. */
const unreadCountMax = 1_000

export function conversations(
  { store }: Workspace,
  { session, by }: Asking,
  { limit = conversationsDefault }: ParsedInputOf<'conversation.list'>,
): OutputOf<'conversation.list'> {
  const { history, view } = store
  const own = new Set(store.queries.conversationsOf(by))
  const seen = history.latest().filter(({ name }) => session.isHolder || isChannel(name) || own.has(name))
  const shown = seen.slice(0, limit).map(({ name, seq }) => {
    const members = directMembers(name)
    const joined = own.has(name)
    const head = seq === undefined || !(session.isHolder || joined) ? undefined : store.queries.headAt(seq)
    return {
      name,
      members: members.length > 0 ? members : history.memberCount(name),
      messages: view.lastNumber(name) ?? 0,
      joined,
      unread: joined ? view.unreadCount(by, unreadCountMax, name) : 0,
      last: head && { ...withoutBody(head), preview: history.preview(head.seq, limits.lastWordsCharsMax) },
    }
  })
  return { conversations: shown, more: seen.length - shown.length }
}

export function messages(
  { store }: Workspace,
  { session, by }: Asking,
  input: ParsedInputOf<'message.list'>,
): OutputOf<'message.list'> {
  const { history, view } = store
  const { around, limit = historyDefault } = input
  const middle = around === undefined ? undefined : view.message(around)
  if (around !== undefined && (!middle || !(session.isHolder || canSee(view, by, middle))))
    throw new RefusalError('message.unknown', { message: around })
  const conversation = middle?.conversation ?? (input.conversation as string)
  const last = view.lastNumber(conversation)
  const mayKnow = session.isHolder || isChannel(conversation) || directMembers(conversation).includes(by)
  if (last === undefined || !mayKnow)
    throw new RefusalError('channel.unknown', { channel: conversation, channels: view.channels() })
  const after = middle ? Math.max(0, middle.n - Math.ceil(limit / 2)) : (input.after ?? 0)
  const heads = history.span(conversation, {
    after,
    before: input.before ?? last + 1,
    limit,
    bytesMax: limits.pageBytesMax,
    isUpward: middle !== undefined || input.after !== undefined,
  })
  const seen = heads.filter((head) => session.isHolder || canSee(view, by, head))
  return { conversation, last, seq: store.journal.lastSeq, messages: seen.map((head) => history.whole(head, by)) }
}

export function mail(
  { store }: Workspace,
  { session, by }: Asking,
  { agent, box, limit = mailDefault }: ParsedInputOf<'agent.mail'>,
): OutputOf<'agent.mail'> {
  if (agent !== by && !session.isHolder)
    throw new RefusalError('auth.denied', { why: `the mail of ${agent} is for ${agent} and the key's holder.` })
  if (!store.view.agent(agent)) throw new RefusalError('agent.unknown', { name: agent, nearest: [] })
  if (box === 'inbox') return store.queries.peek(agent, { limit })
  const { waiting, more } = page(store.history.sent(agent, store.journal.lastSeq, limit), { limit }, () => true)
  const sent = waiting.map(({ head }): InboxMessage => {
    const { n: _, offered, read, reactions: __, ...message } = store.history.whole(head, agent)
    return { ...message, receipt: read > 0 ? 'read' : offered > 0 ? 'offered' : 'stored' }
  })
  return { messages: sent, more }
}

function withoutBody(head: NonNullable<ReturnType<Workspace['store']['view']['message']>>) {
  const { id, seq, at, conversation, from, kind, thread, replyTo } = head
  return {
    id,
    seq,
    ts: new Date(at).toISOString(),
    from,
    to: addressOf(conversation, from),
    kind,
    ...(isChannel(conversation) ? { channel: conversation } : {}),
    ...(thread === undefined ? {} : { thread }),
    ...(replyTo === undefined ? {} : { replyTo }),
  }
}
