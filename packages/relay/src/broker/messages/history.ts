// Answers queries about past messages: lists of conversations, the messages of a conversation or thread, one agent's messages, and the receipts of a message.

import {
  type HistoryMessage,
  type InboxMessage,
  limits,
  type Message,
  type OutputOf,
  type ParsedInputOf,
  type Receipt,
} from '@agent-relay/sdk/protocol'
import { refuseUnknownChannel } from '../../core/channels.ts'
import { addressOf, directMembers, isChannel } from '../../core/conversations.ts'
import { homeOnOtherMachine } from '../../core/homes.ts'
import { isHeldBySession, pickPage } from '../../core/inbox.ts'
import { findOpenQuestions } from '../../core/open-questions.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { sees, seesAll } from '../../core/sight.ts'
import type { Steps } from '../../core/steps.ts'
import type { MessageHead, WaitingMessage } from '../../core/view.ts'
import { unreadCountMax } from '../../store/queries.ts'
import type { CallContext, WorkspaceCore } from '../call.ts'
import { ReadTimeBudget, type ReadTimeLimit } from '../long-reads.ts'
import { type CallScope, mayWriteToOtherWorkspaces, workspacesToSearch } from '../presence/other-workspaces.ts'
import type { ReplyWaits } from '../presence/reply-waits.ts'

const [conversationsDefault, historyDefault, mailDefault] = [200, 100, 50]

export function* listConversations(
  { workspace: { store } }: CallScope,
  { session, by }: CallContext,
  { limit = conversationsDefault }: ParsedInputOf<'conversation.list'>,
): Steps<OutputOf<'conversation.list'>> {
  const { history, view, queries } = store
  const [own, ever] = [new Set(queries.conversationsOf(by)), new Set(queries.conversationsEver(by))]
  const seen = yield* history.latestConversations(seesAll(session) ? undefined : new Set([...view.channels(), ...own]))
  const shown: OutputOf<'conversation.list'>['conversations'] = []
  for (const { name, seq } of seen.slice(0, limit)) {
    const members = directMembers(name)
    const joined = own.has(name)
    // Leaves out the last message for a reader that was never in the conversation, and so sees none of its messages.
    const head = seq === 0 || !(ever.has(name) || seesAll(session)) ? undefined : queries.headAt(seq)
    const last = head && sees(view, session, 'message', head) ? head : undefined
    shown.push({
      name,
      members: members.length > 0 ? members : queries.memberCount(name),
      messages: view.lastNumber(name) ?? 0,
      joined,
      unread: joined ? yield* view.inbox.unreadCount(by, unreadCountMax, name) : 0,
      last: last && { ...withoutBody(last), preview: history.bodyPreview(last.seq, limits.lastWordsCharsMax) },
    })
    yield
  }
  return { conversations: shown, more: seen.length - shown.length }
}

export function* listMessages(
  { workspace: { store } }: CallScope,
  { session, by }: CallContext,
  input: ParsedInputOf<'message.list'>,
): Steps<OutputOf<'message.list'>> {
  const { history, view } = store
  const { around, limit = historyDefault } = input
  const middle = around === undefined ? undefined : view.message(around)
  if (around !== undefined && !(middle && sees(view, session, 'message', middle)))
    throw new RefusalError('message.unknown', { message: around })
  const conversation = middle?.conversation ?? (input.conversation as string)
  const last = view.lastNumber(conversation)
  if (last === undefined || !sees(view, session, 'conversation', conversation))
    throw new RefusalError(refuseUnknownChannel(view, conversation).refusal)
  const { lastSeq: seq } = store.journal
  const heads = history.messagesInSpan(conversation, {
    after: middle ? Math.max(0, middle.n - Math.ceil(limit / 2)) : (input.after ?? 0),
    before: input.before ?? last + 1,
    limit,
    bytesMax: limits.pageBytesMax,
    isUpward: middle !== undefined || input.after !== undefined,
    reader: seesAll(session) ? undefined : by,
  })
  const shown: HistoryMessage[] = []
  for (const head of heads) {
    shown.push(history.wholeMessage(head, by))
    yield
  }
  return { conversation, last, seq, messages: shown }
}

export function* listMail(
  { workspace: { store } }: CallScope,
  { session }: CallContext,
  { agent, box, limit = mailDefault }: ParsedInputOf<'agent.mail'>,
): Steps<OutputOf<'agent.mail'>> {
  if (!sees(store.view, session, 'mail', agent))
    throw new RefusalError('auth.denied', { why: `the mail of ${agent} is for ${agent} and the key's holder.` })
  if (!store.view.agent(agent)) throw new RefusalError('agent.unknown', { name: agent, nearest: [] })
  if (box === 'inbox') return yield* store.queries.peek(agent, { limit })
  // Searches for the agent's messages only from when it first joined a conversation: it cannot have sent any before.
  const { lastSeq } = store.journal
  let first = lastSeq + 1
  for (const span of store.visible.spans(agent)) {
    if (span) first = Math.min(first, span.firstSeq)
    yield
  }
  const { waiting, more } = yield* pickPage(
    store.history.messagesSentBy(agent, first - 1, lastSeq),
    { limit },
    () => true,
  )
  const sent: InboxMessage[] = []
  for (const { head } of waiting) {
    const { n: _, offered, read, reactions: __, ...message } = store.history.wholeMessage(head, agent)
    sent.push({ ...message, receipt: read > 0 ? 'read' : offered > 0 ? 'offered' : 'stored' })
    yield
  }
  return { messages: sent, more }
}

/** Lists the questions that others have asked this agent and that are still open, as the agent's brief (its summary after a loss of memory) counts them. */
export function* listOwedAnswers(
  { workspace: { store, waits } }: CallScope<WorkspaceCore & { waits: ReplyWaits }>,
  { by }: CallContext,
  { limit = mailDefault }: ParsedInputOf<'inbox.owed'>,
): Steps<OutputOf<'inbox.owed'>> {
  const open = yield* findOpenQuestions(store.view, by, waits.awaitedMessageIds(by))
  const asked = open.filter(({ from }) => from !== by)
  const messages: Message[] = []
  for (const head of asked.slice(0, limit)) {
    const {
      n: _,
      offered: __,
      read: ___,
      reactions: ____,
      receipt: _____,
      ...message
    } = store.history.wholeMessage(head, by)
    messages.push(message)
    yield
  }
  return { messages, more: asked.length - messages.length }
}

/** Lists the messages of a thread that the reader may see. Stops when its time is used up: a thread may be long, and the reader may see little of it. */
export function* listThread(
  { workspace: { store } }: CallScope,
  { session, by }: CallContext,
  { thread: name, after = 0, limit = limits.threadMessagesDefault }: ParsedInputOf<'message.thread'>,
  pace: ReadTimeLimit,
): Steps<OutputOf<'message.thread'>> {
  const { queries } = store
  let reached = after
  let isCut = false
  const source = function* (): Iterable<WaitingMessage | undefined> {
    for (const { seq, waiting } of queries.thread(name, after, seesAll(session) ? undefined : by)) {
      yield waiting
      reached = seq
      isCut = pace.isSpent
      if (isCut) return
    }
  }
  const { waiting, more } = yield* pickPage(source(), { limit }, () => true)
  const shown: Message[] = []
  for (const { head } of waiting) {
    shown.push(queries.messageWithBody(head))
    yield
  }
  if (more > 0) return { messages: shown, more, next: waiting[waiting.length - 1]?.head.seq }
  return isCut ? { messages: shown, more: 1, next: reached } : { messages: shown, more }
}

/** Returns the receipts of a message: its state for each recipient. */
export function listReceipts(
  scope: CallScope,
  asking: CallContext,
  { message }: ParsedInputOf<'message.receipts'>,
): Steps<ReceiptsAnswer> | Promise<ReceiptsAnswer> {
  const { view } = scope.workspace.store
  const head = view.message(message)
  if (head && sees(view, asking.session, 'message', head)) return ownReceipts(scope.workspace, head)
  return receiptsElsewhere(scope, asking, message)
}

type ReceiptsAnswer = OutputOf<'message.receipts'>

function* ownReceipts(workspace: WorkspaceCore, head: MessageHead): Steps<ReceiptsAnswer> {
  const { store, sessions } = workspace
  const receipts = yield* receiptsIn(workspace, head)
  const told = receipts.map((receipt) => {
    const machine = homeOnOtherMachine(store.view, sessions, receipt.agent)?.machine
    return machine === undefined ? receipt : { ...receipt, machine }
  })
  return { message: head.id, receipts: told }
}

function receiptsIn({ store, sessions, clock }: WorkspaceCore, head: MessageHead): Steps<Receipt[]> {
  return store.queries.receipts(head, (by, receipt) =>
    isHeldBySession({ by, at: clock.now(), world: sessions }, receipt),
  )
}

/** Returns the receipts of a message that was sent to other workspaces and is stored there. Only the message's sender gets them. */
async function receiptsElsewhere(
  { workspace: home, neighbours }: CallScope,
  { session, by, abandoned }: CallContext,
  message: string,
): Promise<ReceiptsAnswer> {
  const receipts: Receipt[] = []
  for (const name of mayWriteToOtherWorkspaces(session) ? workspacesToSearch(neighbours) : []) {
    await neighbours.visit(name, async (workspace) => {
      const head = workspace.store.view.message(message)
      if (head?.from !== `${home.name}:${by}`) return
      for (const receipt of await workspace.reads.run(receiptsIn(workspace, head), new ReadTimeBudget(), abandoned))
        receipts.push({ ...receipt, agent: `${name}:${receipt.agent}` })
    })
  }
  if (receipts.length === 0) throw new RefusalError('message.unknown', { message })
  return { message, receipts }
}

function withoutBody(head: MessageHead) {
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
