// The queries: each reads the tables and the live sessions, and answers in the protocol's words.

import {
  type Agent,
  type CallName,
  limits,
  type OutputOf,
  type ParsedInputOf,
  type Receipt,
} from '@agent-relay/sdk/protocol'
import { isHeld, page } from '../core/inbox.ts'
import { canSee } from '../core/messages.ts'
import { RefusalError } from '../refusal-error.ts'
import { mayWriteAbroad } from './addresses.ts'
import type { Asking } from './call.ts'
import { conversations, mail, messages } from './history.ts'
import type { Surroundings } from './surroundings.ts'
import type { Workspace } from './workspace.ts'

type QueryName = Extract<
  CallName,
  | 'agent.list'
  | 'channel.list'
  | 'message.thread'
  | 'message.search'
  | 'message.receipts'
  | 'conversation.list'
  | 'message.list'
  | 'agent.mail'
  | 'inbox.peek'
  | 'inbox.count'
  | 'action.list'
  | 'action.result'
  | 'worker.list'
  | 'worker.screen'
  | 'run.status'
  | 'run.list'
  | 'run.contract'
  | 'run.payload'
  | 'event.list'
  | 'workspace.status'
  | 'workspace.policy'
>
type Handlers = {
  [Q in QueryName]: (
    surroundings: Surroundings,
    asking: Asking,
    input: ParsedInputOf<Q>,
  ) => OutputOf<Q> | Promise<OutputOf<Q>>
}

const threadDefault = 100
const searchDefault = 20
const eventsDefault = 100

const handlers: Handlers = {
  'agent.list': ({ workspace, neighbours }, { session }, { project, includeIdle = true, includeOffline = false }) => {
    const isHome = project === undefined || project === workspace.name
    const asked = isHome ? workspace : session.door === 'owner' ? neighbours.find(project) : undefined
    if (!asked) throw new RefusalError('workspace.unknown', { workspace: project })
    // Chosen before they are described: there may be thousands that are away, and each would be counted in vain.
    const isShown = ({ name }: { name: string }) => {
      const status = asked.sessions.statusOf(name)
      return status === 'active' || (status === 'idle' ? includeIdle : includeOffline)
    }
    const shown = [...asked.store.view.agents()].filter(isShown).map(({ name }) => describe(asked, name))
    return { agents: shown.sort((a, b) => (b.lastCallAt ?? '').localeCompare(a.lastCallAt ?? '')) }
  },
  'channel.list': ({ workspace }, { session }) => ({ channels: workspace.store.queries.channels(session.agent) }),
  'message.thread': ({ workspace }, { session, by }, { thread, limit = threadDefault }) => {
    const { queries, view } = workspace.store
    const seen = queries.thread(thread).filter(({ head }) => session.isHolder || canSee(view, by, head))
    const { waiting, more } = page(seen, { limit }, () => true)
    return { messages: waiting.map(({ head }) => queries.whole(head)), more }
  },
  'message.search': ({ workspace }, { session }, { text, from, channel, limit = searchDefault }) =>
    workspace.search.find(session, text, { from, channel }, limit),
  'message.receipts': ({ workspace, neighbours }, { session, by }, { message }) => {
    const head = workspace.store.view.message(message)
    if (head && (session.isHolder || canSee(workspace.store.view, by, head))) {
      return { message, receipts: workspace.store.queries.receipts(head) }
    }
    const abroad = mayWriteAbroad(session) ? receiptsAbroad(workspace, neighbours.all(), by, message) : []
    if (abroad.length === 0) throw new RefusalError('message.unknown', { message })
    return { message, receipts: abroad }
  },
  'conversation.list': ({ workspace }, asking, input) => conversations(workspace, asking, input),
  'message.list': ({ workspace }, asking, input) => messages(workspace, asking, input),
  'agent.mail': ({ workspace }, asking, input) => mail(workspace, asking, input),
  'inbox.peek': ({ workspace }, { by }, input) => {
    const { channel } = input
    if (channel !== undefined && workspace.store.view.lastNumber(channel) === undefined) {
      throw new RefusalError('channel.unknown', { channel, channels: workspace.store.view.channels() })
    }
    return workspace.store.queries.peek(by, input)
  },
  'inbox.count': ({ workspace: { store, sessions, clock } }, { by }) => {
    const now = { at: clock.now(), world: sessions }
    return store.queries.waiting(by, (receipt) => !isHeld(now, receipt))
  },
  'action.list': ({ workspace }, { by }) => workspace.actions.list(by),
  'action.result': ({ workspace }, asking, { invocation }) => workspace.actions.result(asking, invocation),
  'worker.list': ({ workspace }, _, { all = false }) => ({ workers: workspace.workers.list(all) }),
  'worker.screen': ({ workspace }, asking, input) => workspace.workers.screen(asking, input),
  'run.status': ({ workspace, daemon }, asking, { runs }) => workspace.runs.status(asking, runs, daemon.url?.()),
  'run.list': ({ workspace, daemon }, asking, input) => workspace.runs.list(asking, input, daemon.url?.()),
  'run.contract': ({ workspace }, asking, { run }) => workspace.runs.asked(asking, run),
  'run.payload': ({ workspace }, asking, { run }) => workspace.runs.payload(asking, run),
  'event.list': ({ workspace }, { session }, { since = 0, types, limit = eventsDefault }) =>
    workspace.events.list(session, since, types, Math.min(limit, limits.eventsPageMax)),
  'workspace.policy': ({ workspace }) => workspace.store.view.policy(),
  'workspace.status': ({ workspace, daemon }, { session }) => ({
    workspace: workspace.name,
    workspaceId: workspace.id,
    socketPath: daemon.socketPath(workspace.name),
    url: daemon.url?.(),
    daemonVersion: daemon.version,
    uptimeMs: workspace.clock.now() - daemon.startedAt,
    agent: session.agent,
    agents: workspace.store.queries.agentCount(),
    sessions: workspace.sessions.size,
    messages: workspace.store.queries.messageCount(),
    seq: workspace.store.journal.lastSeq,
    lagMs: daemon.lag(),
    residentMb: Math.round(process.memoryUsage.rss() / 1e6),
  }),
}

export function ask(surroundings: Surroundings, op: CallName, asking: Asking, input: never): unknown {
  const handler = handlers[op as QueryName]
  if (!handler) throw new RefusalError('operation.unknown', { operation: op })
  return handler(surroundings, asking, input)
}

function describe({ store, sessions, waits, workers }: Workspace, name: string): Agent {
  const { id, type, cli, model, parent, handle, role } = store.view.agent(name) as NonNullable<
    ReturnType<typeof store.view.agent>
  >
  const lastCallAt = sessions.lastCallAt(name)
  const wait = waits.of(name)
  return {
    id,
    name,
    type,
    cli,
    model,
    parent,
    handle,
    role,
    status: sessions.statusOf(name),
    waitingFor: wait && { agent: wait.on as string, since: new Date(wait.since).toISOString() },
    unread: store.queries.unreadCount(name),
    lastCallAt: lastCallAt === undefined ? undefined : new Date(lastCallAt).toISOString(),
    worker: workers.stateOf(name),
  }
}

/** A message sent to other workspaces is stored there; its sender may know how it fared, and nothing else. */
function receiptsAbroad(home: Workspace, all: Workspace[], by: string, message: string): Receipt[] {
  return all.flatMap(({ name, store }) => {
    const head = store.view.message(message)
    if (head?.from !== `${home.name}:${by}`) return []
    return store.queries.receipts(head).map((receipt) => ({ ...receipt, agent: `${name}:${receipt.agent}` }))
  })
}
