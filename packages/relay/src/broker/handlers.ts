// The table of handlers: for each operation the function that answers it. The compiler finds a missing handler. dispatch.ts decides before whether a session
// may ask the operation.

import {
  type CallName,
  limits,
  type OutputOf,
  type OwnerCallName,
  type ParsedInputOf,
  type WatchName,
} from '@agent-relay/sdk/protocol'
import { refuseUnknownChannel } from '../core/channels.ts'
import type { RuleInput, RuleName } from '../core/decide.ts'
import { isHeldBySession, refuseUnseenBefore } from '../core/inbox.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { seesAll } from '../core/sight.ts'
import type { Steps } from '../core/steps.ts'
import { register } from './admission.ts'
import { dismissNeed, listNeeds } from './approvals/needs.ts'
import { actorOf, type CallContext, causeOf, isCallByHook, type Watch, type WatchItemSink } from './call.ts'
import { acceptedReplyOrThrow } from './commands.ts'
import type { CommandReply } from './engine.ts'
import type { ReadTimeLimit } from './long-reads.ts'
import {
  listConversations,
  listMail,
  listMessages,
  listOwedAnswers,
  listReceipts,
  listThread,
} from './messages/history.ts'
import { submitMarkRead } from './messages/inbox.ts'
import { sendMessage, sendOrQueue } from './messages/sending.ts'
import { listAgents } from './presence/agent-list.ts'
import { wantsSessionEvents, withSessionEvents } from './presence/connected.ts'
import { listMachines } from './presence/machine-list.ts'
import { assertPerson, identifyCaller } from './sessions/person.ts'
import type { Session } from './sessions/session.ts'
import { listSpend } from './workers/spend.ts'
import type { DaemonCallScope } from './workspace.ts'

/** Names of the calls that a workspace answers; the daemon itself answers all other calls (daemon/control-socket.ts). */
export type WorkspaceCall = Exclude<CallName, OwnerCallName>

/** Answers one call: at once, later, or in steps if the answer may take long. */
export type Handler<O extends WorkspaceCall> = (
  context: DaemonCallScope,
  asking: CallContext,
  input: ParsedInputOf<O>,
  pace: ReadTimeLimit,
) => OutputOf<O> | Promise<OutputOf<O>> | Steps<OutputOf<O>>

/** Begins one watch, which sends items to the sink until it is stopped. */
export type WatchHandler<O extends WatchName> = (
  context: DaemonCallScope,
  session: Session,
  input: ParsedInputOf<O>,
  sink: WatchItemSink,
) => Watch

export const handlers: { readonly [O in WorkspaceCall]: Handler<O> } = {
  'agent.register': ({ workspace }, { session }, input) => register(workspace, session, input),
  'agent.show': ({ workspace: { sessions } }, asking, doing) => {
    const agent = actorOf(asking)
    sessions.setProgramState(agent, { ...sessions.programState(agent), doing })
    return {}
  },
  'agent.revoke': ruleHandler('agent.revoke'),
  'agent.retire': ruleHandler('agent.retire'),
  'agent.list': listAgents,
  'agent.brief': ({ workspace }, asking, input) => workspace.briefs.giveBrief(asking, input),
  'agent.mail': listMail,
  'channel.create': ruleHandler('channel.create'),
  'channel.join': ruleHandler('channel.join'),
  'channel.leave': ruleHandler('channel.leave'),
  'channel.remove': ruleHandler('channel.remove'),
  'channel.list': function* ({ workspace }, { session }) {
    return { channels: yield* workspace.store.queries.channels(session.agent) }
  },
  'conversation.list': listConversations,
  'message.send': sendMessage,
  'message.queue': sendOrQueue,
  'outbox.list': ({ workspace }, asking) => workspace.outbox.list(asking),
  'outbox.drop': ({ workspace }, asking, input) => workspace.outbox.drop(asking, input),
  'message.react': ruleHandler('message.react'),
  'message.list': listMessages,
  'message.thread': listThread,
  'message.search': ({ workspace }, { session }, { limit = limits.searchMessagesDefault, ...asked }, pace) =>
    workspace.search.find(session, { ...asked, limit }, pace),
  'message.receipts': listReceipts,
  'inbox.take': ({ workspace }, asking, input) => workspace.inboxes.take(asking, input),
  'inbox.peek': ({ workspace: { store } }, { by }, input) => {
    const { channel } = input
    if (channel !== undefined && store.view.lastNumber(channel) === undefined)
      throw new RefusalError(refuseUnknownChannel(store.view, channel).refusal)
    const unseen = refuseUnseenBefore(store.view, by, input)
    if (unseen) throw new RefusalError(unseen.refusal)
    return store.queries.peek(by, input)
  },
  'inbox.owed': listOwedAnswers,
  'inbox.count': function* ({ workspace: { store, sessions, clock, briefs } }, { by }) {
    const now = { by, at: clock.now(), world: sessions }
    const counted = yield* store.queries.countWaiting(by, (receipt) => !isHeldBySession(now, receipt))
    return briefs.isDue(by) ? { ...counted, briefDue: true } : counted
  },
  'inbox.read': async ({ workspace }, asking, input) =>
    outcomeOf<'inbox.read'>(
      await submitMarkRead(workspace, { rule: 'inbox.read', input, ...commandFields(asking) }, asking.abandoned),
    ),
  'inbox.offer': async (context, asking, input) => {
    const offered = await ruleHandler('inbox.offer')(context, asking, input)
    if (isCallByHook('inbox.offer', input))
      context.workspace.sessions.recordShownOutsideAnswers(asking.by, input.messages)
    return offered
  },
  'event.list': ({ workspace }, { session }, { limit = limits.eventsPageDefault, ...asked }, pace) =>
    workspace.events.list(session, { ...asked, limit: Math.min(limit, limits.eventsPageMax) }, pace),
  'action.register': ({ workspace }, asking, input) => workspace.actions.register(asking, input),
  'action.withdraw': ruleHandler('action.withdraw'),
  'action.list': ({ workspace }, { by }, input) => workspace.actions.list(by, input),
  'action.invoke': ({ workspace }, asking, input) => workspace.actions.invoke(asking, input),
  'action.answer': ({ workspace }, asking, input) => workspace.actions.answer(asking, input),
  'action.result': ({ workspace }, asking, { invocation }) => workspace.actions.result(asking, invocation),
  'worker.spawn': ({ workspace }, asking, input) => workspace.workers.spawn(asking, input),
  'worker.retry': ({ workspace }, asking, input) => workspace.workers.retry(asking, input),
  'worker.release': ({ workspace }, asking, input) => workspace.workers.wishes.submit('worker.release', asking, input),
  'worker.pause': ({ workspace }, asking, input) => workspace.workers.wishes.submit('worker.pause', asking, input),
  'worker.resume': ({ workspace }, asking, input) => workspace.workers.wishes.submit('worker.resume', asking, input),
  'worker.interrupt': ({ workspace }, asking, input) => workspace.workers.wishes.interrupt(asking, input),
  'worker.type': async ({ workspace, daemon: { agentProcesses: agents } }, asking, input) => {
    // While a dialog is open, only a person may type, since typing answers the dialog.
    if (workspace.approvals.hasOpen(input.name) || (await workspace.workers.isBlocked(asking, input)))
      await assertPerson(identifyCaller(asking.session, agents), agents, { isStrict: true })
    return workspace.workers.type(asking, input)
  },
  'worker.resize': ({ workspace }, asking, input) => workspace.workers.resize(asking, input),
  'worker.list': ({ workspace }, { session }, input) => ({ workers: workspace.workers.list(session, input) }),
  'worker.changes': ({ workspace }, { session }, input) => workspace.workers.worktrees.changes(session, input),
  'worker.diff': ({ workspace }, { session }, input) => workspace.workers.worktrees.diff(session, input),
  'worker.sweep': ({ workspace }, asking, input) => workspace.workers.worktrees.sweep(asking, input),
  'worker.screen': ({ workspace }, asking, input) => workspace.workers.screen(asking, input),
  'run.start': ({ workspace, daemon }, asking, input) => workspace.runs.start(asking, input, daemon.url?.()),
  'run.complete': ({ workspace, daemon }, asking, input) => workspace.runs.complete(asking, input, daemon.url?.()),
  'run.stop': ({ workspace, daemon }, asking, input) => workspace.runs.stop(asking, input, daemon.url?.()),
  'run.status': ({ workspace, daemon }, asking, input) => workspace.runs.status(asking, input, daemon.url?.()),
  'run.list': ({ workspace, daemon }, asking, input) => workspace.runs.list(asking, input, daemon.url?.()),
  'run.contract': ({ workspace }, asking, { run }) => workspace.runs.contract(asking, run),
  'run.payload': ({ workspace }, asking, { run }) => workspace.runs.payload(asking, run),
  'claim.edit': ({ workspace, daemon }, asking, input) =>
    workspace.claims.edit(asking, input, daemon.socketPath(workspace.name)),
  'claim.add': ({ workspace }, asking, input) => workspace.claims.add(asking, input),
  'claim.drop': ({ workspace }, asking, input) => workspace.claims.drop(asking, input),
  'claim.list': ({ workspace, daemon }, { session }) =>
    workspace.claims.list(session, daemon.socketPath(workspace.name)),
  'approval.list': ({ workspace }, { session }) => workspace.approvals.list(session),
  'approval.show': ({ workspace }, { session }, input) => workspace.approvals.show(session, input),
  'approval.ask': ({ workspace }, asking, input) => workspace.approvals.ask(asking, input),
  'approval.settle': ({ workspace }, asking, input) => workspace.approvals.settle(asking, input),
  'approval.answer': ({ workspace, daemon }, asking, input) =>
    workspace.approvals.answer(asking, input, daemon.agentProcesses),
  'need.list': listNeeds,
  'need.dismiss': dismissNeed,
  'notice.ask': ({ workspace }, asking, input) => workspace.notices.ask(asking, input),
  'notice.drop': ruleHandler('notice.drop'),
  'notice.list': ({ workspace }, { by }) => workspace.notices.list(by),
  'spend.list': ({ workspace }, { session }, input) => listSpend(workspace.store, session, input),
  'machine.list': ({ workspace }, asking) => listMachines(workspace, asking),
  'workspace.policy': ({ workspace }) => workspace.store.view.policy(),
  'workspace.set-policy': async (context, asking, input) => {
    const { agentProcesses: agents } = context.daemon
    const { name, isShared } = context.workspace
    if (isShared && typeof input.keepMs === 'number')
      throw new RefusalError('workspace.prune-shared', { workspace: name })
    if (input.approve) await assertPerson(identifyCaller(asking.session, agents), agents, { isStrict: true })
    return ruleHandler('workspace.set-policy')(context, asking, input)
  },
  'workspace.status': workspaceStatus,
}

export const watchHandlers: { readonly [O in WatchName]: WatchHandler<O> } = {
  'inbox.follow': ({ workspace }, session, { since }, sink) => workspace.deliveries.follow(session, since, sink),
  'action.follow': ({ workspace }, session, _, sink) => workspace.actions.follow(session, sink),
  'worker.follow': ({ workspace }, session, { name }, sink) => workspace.workers.follow(session, name, sink),
  'event.follow': (
    { workspace: { events, store, sessions, clock } },
    session,
    { since = store.journal.lastSeq, types, newest },
    sink,
  ) => {
    // Only the holder of the workspace's key may learn how many events were left out: most of them may be invisible to anyone else.
    const isGlance = newest !== undefined && seesAll(session)
    const follow = (to: WatchItemSink) =>
      isGlance ? events.glance(session, since, types, newest, to) : events.follow(session, since, types, to)
    return wantsSessionEvents(types) ? withSessionEvents(sessions, () => clock.now(), sink, follow) : follow(sink)
  },
}

export function isWorkspaceCall(op: string): op is WorkspaceCall {
  return Object.hasOwn(handlers, op)
}

export function isWatch(op: string): op is WatchName {
  return Object.hasOwn(watchHandlers, op)
}

/** Operations whose rule in core/ takes the operation's input unchanged. */
type PlainOperation = {
  [O in WorkspaceCall & RuleName]: ParsedInputOf<O> extends RuleInput<O> ? O : never
}[WorkspaceCall & RuleName]

/** Makes a handler that submits the input to the rule of the same name, and answers with the rule's outcome. */
function ruleHandler<O extends PlainOperation>(rule: O) {
  return async (
    { workspace: { engine } }: DaemonCallScope,
    asking: CallContext,
    input: ParsedInputOf<O>,
  ): Promise<OutputOf<O>> =>
    outcomeOf<O>(await engine.submit({ rule, input: input as RuleInput<O>, ...commandFields(asking) }))
}

function commandFields(asking: CallContext) {
  return { by: actorOf(asking), ...causeOf(asking), session: asking.session.id }
}

function outcomeOf<O extends WorkspaceCall>(reply: CommandReply): OutputOf<O> {
  return acceptedReplyOrThrow(reply).outcome as OutputOf<O>
}

function* workspaceStatus(
  { workspace, daemon }: DaemonCallScope,
  { session }: CallContext,
): Steps<OutputOf<'workspace.status'>> {
  const { store, sessions, outbox, name, id } = workspace
  const messages = yield* store.queries.messageCount(store.journal.lastSeq)
  const { keepMs } = store.view.policy()
  return {
    workspace: name,
    workspaceId: id,
    socketPath: daemon.socketPath(name),
    url: daemon.url?.(),
    daemonVersion: daemon.version,
    uptimeMs: daemon.uptimeMs(),
    agent: session.agent,
    agents: store.queries.agentCount(),
    sessions: sessions.size,
    messages,
    ...(keepMs === undefined ? {} : { keepMs }),
    bytes: daemon.fileBytes?.(name),
    ...(outbox.count > 0 ? { queued: outbox.count } : {}),
    seq: store.journal.lastSeq,
    lagMs: daemon.lag(),
    residentMb: Math.round(process.memoryUsage.rss() / 1e6),
  }
}
