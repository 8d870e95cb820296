// Sight: who may see what, one rule for each kind of thing. What a reader may not see is answered exactly as if it were not there.
//
// Some reads are too long to ask this rule about everything: they find by an index what the reader can see. Reads of messages use the stays
// (store/visible.ts), reads of events use the rows of `concerns`, which are made from `audienceOf` here.

import type { Fact } from '@agent-relay/sdk/protocol'
import { broadcast, directMembers, isChannel } from './conversations.ts'
import type { ActionRow, ApprovalRow, InvocationRow, MessageHead, RunRow, View, WorkerRow } from './view.ts'

/** Who reads: a session, for example. */
export interface Reader {
  /** Undefined for a reader without a name. */
  readonly agent?: string
  readonly standing: {
    /** holder: it uses the rights of the workspace key. nobody: it has shown nothing, so that anybody may say its name. */
    readonly rank: 'owner' | 'holder' | 'agent' | 'nobody'
  }
}

type RunParties = Pick<RunRow, 'agent' | 'parent'>
type WorkerParties = Pick<WorkerRow, 'name' | 'parent'>

/** Every kind of thing that only some readers may see. */
interface Things {
  /** A message, its reactions and its receipts; a thread is its messages. */
  message: MessageHead
  /** By its name: that there is such a conversation, and how much was said in it. */
  conversation: string
  /** What was sent to and by the agent of this name. */
  mail: string
  /** A fact of the journal, as an event. */
  event: Fact
  /** An action that is offered. */
  action: Pick<ActionRow, 'availableTo' | 'provider'>
  /** The result of one call of an action. */
  result: Pick<InvocationRow, 'caller'>
  /** A run, its contract and its payload. */
  run: RunParties
  /** The status and output of a run. */
  progress: RunParties
  /** A worker and its command line. */
  worker: WorkerParties
  /** A worker's screen. */
  terminal: WorkerParties
  /** What an agent wants to do and may not yet. */
  approval: Pick<ApprovalRow, 'agent'>
  /** What an agent has used of its models. */
  spend: { agent: string }
}

type SightRule<T> = (view: View, reader: Reader, thing: T) => boolean

const rules: { readonly [K in keyof Things]: SightRule<Things[K]> } = {
  message: (view, { agent }, message) => agent !== undefined && isPartyTo(view, agent, message),
  conversation: (_, { agent }, name) =>
    isChannel(name) || name === broadcast || (agent !== undefined && directMembers(name).includes(agent)),
  mail: (_, { agent }, name) => agent === name,
  event: (view, reader, fact) => {
    const audience = audienceOf(fact)
    if (audience.to === 'everyone') return audience.if?.(view, reader, fact) ?? true
    if (audience.to === 'agents') return isAmong(audience.who(fact, view), reader.agent)
    const message = audience.to === 'readers' ? view.message(audience.of(fact)) : undefined
    return message !== undefined && rules.message(view, reader, message)
  },
  action: (_, { agent = '' }, action) => mayCall(action, agent),
  result: (_, { agent }, { caller }) => caller === agent,
  run: (view, reader, run) => isAmong([run.agent, run.parent], reader.agent) || isPerson(view, reader),
  // A reader to whom the policy shows the terminal of the run's agent sees it too.
  progress: (view, reader, run) => rules.run(view, reader, run) || policyShows(view, reader, run.agent),
  worker: (view, reader, worker) =>
    seesPrograms(reader) && (worker.name === reader.agent || isInCharge(view, reader, worker)),
  terminal: (view, reader, worker) =>
    (seesPrograms(reader) && isInCharge(view, reader, worker)) || policyShows(view, reader, worker.name),
  approval: (view, reader, { agent }) => seesPrograms(reader) && isInCharge(view, reader, { parent: agent }),
  spend: (view, reader, { agent }) => seesPrograms(reader) && isInCharge(view, reader, { parent: agent }),
}

export function sees<K extends keyof Things>(view: View, reader: Reader, kind: K, thing: Things[K]): boolean {
  return seesAll(reader) || rules[kind](view, reader, thing)
}

/** The key's holder sees every thing of every kind. */
export function seesAll({ standing }: Reader): boolean {
  return standing.rank === 'holder'
}

/** The holder of the key and people see every run. People do not see every event of runs: finding those would mean reading everybody's events. */
export function seesAllRuns(view: View, reader: Reader): boolean {
  return seesAll(reader) || isPerson(view, reader)
}

/** Workers, their commands and their screens are hidden from a reader that has only said a name, without a credential. */
export function seesPrograms({ standing }: Reader): boolean {
  return standing.rank !== 'nobody'
}

/** Its sender, and everyone who was in the conversation when it was sent. */
export function isPartyTo(view: View, agent: string, message: MessageHead): boolean {
  return message.from === agent || view.isRecipient(agent, message)
}

/** Does the workspace's policy show the reader the terminal of this worker? */
function policyShows(view: View, reader: Reader, name: string): boolean {
  const { agent } = reader
  if (agent === undefined || !seesPrograms(reader)) return false
  const { terminal } = view.policy()
  const shown = Object.hasOwn(terminal, agent) ? terminal[agent] : undefined
  return shown !== undefined && (shown.includes('*') || shown.includes(name))
}

/** The worker's parent, the parent of that one and so on, people, and the key's holder. */
export function isInCharge(view: View, reader: Reader, worker: Pick<WorkerRow, 'parent'>): boolean {
  const { agent } = reader
  if (seesAll(reader) || isPerson(view, reader)) return true
  const passed = new Set<string>()
  for (let above: string | undefined = worker.parent; above !== undefined; above = view.agent(above)?.parent) {
    if (above === agent) return true
    // Two agents may each name the other as parent.
    if (passed.has(above)) return false
    passed.add(above)
  }
  return false
}

/** An action is listed for those who may call it, and nobody else can call it. Its provider always may. */
export function mayCall({ availableTo, provider }: Things['action'], agent: string): boolean {
  return availableTo === undefined || availableTo.includes(agent) || provider === agent
}

function isPerson(view: View, { agent }: Reader): boolean {
  return agent !== undefined && view.agent(agent)?.type === 'human'
}

/**
 * Whom a fact concerns, and so who sees it as an event. holder: the key's holder alone. everyone: anybody, as far as `if` allows. agents: those
 * it is about. readers: those who see its message. The key's holder sees all of them.
 */
export type Audience<F> =
  | { to: 'holder' }
  | { to: 'everyone'; if?: SightRule<F> }
  | { to: 'agents'; who: (fact: F, known: Known) => Iterable<string | undefined> }
  | { to: 'readers'; of: (fact: F) => string }

/** Looks up an agent that a fact concerns but does not name. */
export interface Known {
  message(id: string): { from: string } | undefined
  invocation(id: string): { provider?: string } | undefined
  runs: { byId(id: string): { parent: string } | undefined }
}

const [holder, everyone] = [{ to: 'holder' }, { to: 'everyone' }] as const

/** Everyone is in the broadcast: entering it tells nothing that the registration has not told. */
const exceptBroadcast = {
  to: 'everyone',
  if: (_: View, __: Reader, fact: { channel: string }) => fact.channel !== broadcast,
} as const

const worker = {
  to: 'everyone',
  if: (view: View, reader: Reader, { id }: { id: string }) => {
    const row = view.workers.byId(id)
    return row !== undefined && rules.worker(view, reader, row)
  },
} as const

const approval = {
  to: 'everyone',
  if: (view: View, reader: Reader, fact: { agent: string }) => rules.approval(view, reader, fact),
} as const

const receiverAndSender = {
  to: 'agents',
  *who({ agent, message }: { agent: string; message: string }, known: Known) {
    yield agent
    yield known.message(message)?.from
  },
} as const

const agentAndParent = {
  to: 'agents',
  *who({ id, agent }: { id: string; agent: string }, known: Known) {
    yield agent
    yield known.runs.byId(id)?.parent
  },
} as const

/** What agents have in hand is for all who have shown a credential. */
const claims = { to: 'everyone', if: (_: View, reader: Reader) => seesPrograms(reader) } as const

const agentAndHolders = {
  to: 'agents',
  who: ({ agent, claims: met }: { agent: string; claims: { holder: string }[] }) => [
    agent,
    ...met.map(({ holder }) => holder),
  ],
} as const

const audiences: { readonly [T in Fact['type']]: Audience<Extract<Fact, { type: T }>> } = {
  'workspace.began': holder,
  'workspace.key-issued': holder,
  'workspace.restored': everyone,
  'workspace.policy-set': everyone,
  'agent.registered': everyone,
  'agent.updated': everyone,
  'agent.token-issued': holder,
  'agent.tokens-revoked': { to: 'agents', who: ({ agent }) => [agent] },
  'agent.retired': everyone,
  // It holds the agent's task.
  'agent.briefed': { to: 'everyone', if: (_, reader, { agent }) => seesPrograms(reader) && reader.agent === agent },
  'agent.homed': everyone,
  // Shown as the deliveries that it tells; see broker/events.ts.
  'deliveries.noted': {
    to: 'agents',
    *who({ agent, receipts }, known) {
      yield agent
      for (const { message } of receipts) yield known.message(message)?.from
    },
  },
  'channel.created': everyone,
  'channel.joined': exceptBroadcast,
  'channel.left': exceptBroadcast,
  'channel.removed': everyone,
  'conversation.opened': { to: 'agents', who: ({ members }) => members },
  'message.created': { to: 'readers', of: ({ id }) => id },
  'delivery.offered': receiverAndSender,
  'delivery.held': receiverAndSender,
  'delivery.released': receiverAndSender,
  'delivery.read': receiverAndSender,
  'reaction.added': { to: 'readers', of: ({ message }) => message },
  'reaction.removed': { to: 'readers', of: ({ message }) => message },
  'action.registered': { to: 'everyone', if: (view, reader, action) => rules.action(view, reader, action) },
  'action.withdrawn': everyone,
  'action.invoked': { to: 'agents', who: ({ caller, provider }) => [caller, provider] },
  'action.completed': {
    to: 'agents',
    *who({ id, caller }, known) {
      yield caller
      yield known.invocation(id)?.provider
    },
  },
  'worker.wished': {
    to: 'everyone',
    if: (view, reader, { worker: name, parent }) => rules.worker(view, reader, { name, parent }),
  },
  'worker.wish-changed': worker,
  'worker.changed': worker,
  'worker.worktree-removed': worker,
  'run.started': { to: 'agents', who: ({ agent, parent }) => [agent, parent] },
  'run.completed': agentAndParent,
  'run.stopped': agentAndParent,
  'approval.opened': approval,
  'approval.closed': approval,
  'spend.noted': { to: 'everyone', if: (view, reader, { agent }) => rules.spend(view, reader, { agent }) },
  'claim.made': claims,
  'claim.renewed': { to: 'agents', who: ({ agent }) => [agent] },
  'claim.ended': claims,
  'claim.denied': agentAndHolders,
  'claim.passed': agentAndHolders,
}

export function audienceOf(fact: Fact): Audience<Fact> {
  return audiences[fact.type] as Audience<Fact>
}

/** All that this version knows. */
export const factTypes = Object.keys(audiences) as Fact['type'][]

/** The types of facts with this audience. */
export function typesTo(to: Audience<Fact>['to']): Fact['type'][] {
  return factTypes.filter((type) => audiences[type].to === to)
}

function isAmong(names: Iterable<string | undefined>, agent: string | undefined): boolean {
  if (agent === undefined) return false
  for (const name of names) if (name === agent) return true
  return false
}
