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
import { unknownChannel } from '../core/channels.ts'
import type { RuleInput, RuleName } from '../core/decide.ts'
import { isHeld, unseenBefore } from '../core/inbox.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { seesAll } from '../core/sight.ts'
import type { Steps } from '../core/steps.ts'
import { register } from './admission.ts'
import { dismiss, needs } from './approvals/needs.ts'
import { type Asking, actorOf, causeOf, isByHost, type Sink, type Watch } from './call.ts'
import type { Reply } from './engine.ts'
import type { Pace } from './long-reads.ts'
import { conversations, mail, messages, owed, receipts, thread } from './messages/history.ts'
import { submitRead } from './messages/inbox.ts'
import { send, sendOrQueue } from './messages/sending.ts'
import { agents } from './presence/agent-list.ts'
import { asksForSessions, withSessions } from './presence/connected.ts'
import { machines } from './presence/machine-list.ts'
import { assertPerson, speakerOf } from './sessions/person.ts'
import type { Session } from './sessions/session.ts'
import { listSpend } from './workers/spend.ts'
import type { Context } from './workspace.ts'

/** Names of the calls that a workspace answers; the daemon itself answers all other calls (daemon/control-socket.ts). */
export type WorkspaceCall = Exclude<CallName, OwnerCallName>

/** Answers one call: at once, later, or in steps if the answer may take long. */
export type Handler<O extends WorkspaceCall> = (
  context: Context,
  asking: Asking,
  input: ParsedInputOf<O>,
  pace: Pace,
) => OutputOf<O> | Promise<OutputOf<O>> | Steps<OutputOf<O>>

/** Begins one watch, which sends items to the sink until it is stopped. */
export type Follower<O extends WatchName> = (
  context: Context,
  session: Session,
  input: ParsedInputOf<O>,
  sink: Sink,
) => Watch

export const handlers: { readonly [O in WorkspaceCall]: Handler<O> } = {
  'agent.register': ({ workspace }, { session }, input) => register(workspace, session, input),
  'agent.show': ({ workspace: { sessions } }, asking, doing) => {
    const agent = actorOf(asking)
    sessions.shows(agent, { ...sessions.shown(agent), doing })
    return {}
  },
  'agent.revoke': byRule('agent.revoke'),
  'agent.retire': byRule('agent.retire'),
  'agent.list': agents,
  'agent.brief': ({ workspace }, asking, input) => workspace.briefs.tell(asking, input),
  'agent.mail': mail,
  'channel.create': byRule('channel.create'),
  'channel.join': byRule('channel.join'),
  'channel.leave': byRule('channel.leave'),
  'channel.remove': byRule('channel.remove'),
  'channel.list': function* ({ workspace }, { session }) {
    return { channels: yield* workspace.store.queries.channels(session.agent) }
  },
  'conversation.list': conversations,
  'message.send': send,
  'message.queue': sendOrQueue,
  'outbox.list': ({ workspace }, asking) => workspace.outbox.list(asking),
  'outbox.drop': ({ workspace }, asking, input) => workspace.outbox.drop(asking, input),
  'message.react': byRule('message.react'),
  'message.list': messages,
  'message.thread': thread,
  'message.search': ({ workspace }, { session }, { limit = limits.searchMessagesDefault, ...asked }, pace) =>
    workspace.search.find(session, { ...asked, limit }, pace),
  'message.receipts': receipts,
  'inbox.take': ({ workspace }, asking, input) => workspace.inboxes.take(asking, input),
  'inbox.peek': ({ workspace: { store } }, { by }, input) => {
    const { channel } = input
    if (channel !== undefined && store.view.lastNumber(channel) === undefined)
      throw new RefusalError(unknownChannel(store.view, channel).refusal)
    const unseen = unseenBefore(store.view, by, input)
    if (unseen) throw new RefusalError(unseen.refusal)
    return store.queries.peek(by, input)
  },
  'inbox.owed': owed,
  'inbox.count': function* ({ workspace: { store, sessions, clock, briefs } }, { by }) {
    const now = { by, at: clock.now(), world: sessions }
    const counted = yield* store.queries.waiting(by, (receipt) => !isHeld(now, receipt))
    return briefs.isDue(by) ? { ...counted, briefDue: true } : counted
  },
  'inbox.read': async ({ workspace }, asking, input) =>
    outcomeOf<'inbox.read'>(
      await submitRead(workspace, { rule: 'inbox.read', input, ...namesOf(asking) }, asking.abandoned),
    ),
  'inbox.offer': async (context, asking, input) => {
    const offered = await byRule('inbox.offer')(context, asking, input)
    if (isByHost('inbox.offer', input)) context.workspace.sessions.paste(asking.by, input.messages)
    return offered
  },
  'event.list': ({ workspace }, { session }, { limit = limits.eventsPageDefault, ...asked }, pace) =>
    workspace.events.list(session, { ...asked, limit: Math.min(limit, limits.eventsPageMax) }, pace),
  'action.register': ({ workspace }, asking, input) => workspace.actions.register(asking, input),
  'action.withdraw': byRule('action.withdraw'),
  'action.list': ({ workspace }, { by }, input) => workspace.actions.list(by, input),
  'action.invoke': ({ workspace }, asking, input) => workspace.actions.invoke(asking, input),
  'action.answer': ({ workspace }, asking, input) => workspace.actions.answer(asking, input),
  'action.result': ({ workspace }, asking, { invocation }) => workspace.actions.result(asking, invocation),
  'worker.spawn': ({ workspace }, asking, input) => workspace.workers.spawn(asking, input),
  'worker.retry': ({ workspace }, asking, input) => workspace.workers.retry(asking, input),
  'worker.release': ({ workspace }, asking, input) => workspace.workers.wishes.give('worker.release', asking, input),
  'worker.pause': ({ workspace }, asking, input) => workspace.workers.wishes.give('worker.pause', asking, input),
  'worker.resume': ({ workspace }, asking, input) => workspace.workers.wishes.give('worker.resume', asking, input),
  'worker.type': async ({ workspace, daemon: { agentProcesses: agents } }, asking, input) => {
    // Typing into a dialog answers it, so only a person may.
    if (workspace.approvals.isOpen(input.name) || (await workspace.workers.isBlocked(asking, input)))
      await assertPerson(speakerOf(asking.session, agents), agents, { isStrict: true })
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
  'run.contract': ({ workspace }, asking, { run }) => workspace.runs.asked(asking, run),
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
  'need.list': needs,
  'need.dismiss': dismiss,
  'notice.ask': ({ workspace }, asking, input) => workspace.notices.ask(asking, input),
  'notice.drop': byRule('notice.drop'),
  'notice.list': ({ workspace }, { by }) => workspace.notices.list(by),
  'spend.list': ({ workspace }, { session }, input) => listSpend(workspace.store, session, input),
  'machine.list': ({ workspace }, asking) => machines(workspace, asking),
  'workspace.policy': ({ workspace }) => workspace.store.view.policy(),
  'workspace.set-policy': async (context, asking, input) => {
    const { agentProcesses: agents } = context.daemon
    if (input.approve) await assertPerson(speakerOf(asking.session, agents), agents, { isStrict: true })
    return byRule('workspace.set-policy')(context, asking, input)
  },
  'workspace.status': status,
}

export const followers: { readonly [O in WatchName]: Follower<O> } = {
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
    const follow = (to: Sink) =>
      isGlance ? events.glance(session, since, types, newest, to) : events.follow(session, since, types, to)
    return asksForSessions(types) ? withSessions(sessions, () => clock.now(), sink, follow) : follow(sink)
  },
}

export function isWorkspaceCall(op: string): op is WorkspaceCall {
  return Object.hasOwn(handlers, op)
}

export function isWatch(op: string): op is WatchName {
  return Object.hasOwn(followers, op)
}

/** Operations whose rule in core/ takes the operation's input unchanged. */
type Plain = {
  [O in WorkspaceCall & RuleName]: ParsedInputOf<O> extends RuleInput<O> ? O : never
}[WorkspaceCall & RuleName]

/** Makes a handler that submits the input to the rule of the same name, and answers with the rule's outcome. */
function byRule<O extends Plain>(rule: O) {
  return async ({ workspace: { engine } }: Context, asking: Asking, input: ParsedInputOf<O>): Promise<OutputOf<O>> =>
    outcomeOf<O>(await engine.submit({ rule, input: input as RuleInput<O>, ...namesOf(asking) }))
}

function namesOf(asking: Asking) {
  return { by: actorOf(asking), ...causeOf(asking), session: asking.session.id }
}

function outcomeOf<O extends WorkspaceCall>(reply: Reply): OutputOf<O> {
  if ('refusal' in reply) throw new RefusalError(reply.refusal)
  return reply.outcome as OutputOf<O>
}

function* status({ workspace, daemon }: Context, { session }: Asking): Steps<OutputOf<'workspace.status'>> {
  const { store, sessions, outbox, name, id } = workspace
  const messages = yield* store.queries.messageCount(store.journal.lastSeq)
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
    ...(outbox.count > 0 ? { queued: outbox.count } : {}),
    seq: store.journal.lastSeq,
    lagMs: daemon.lag(),
    residentMb: Math.round(process.memoryUsage.rss() / 1e6),
  }
}
