// Sight: who may see what, one rule for each kind of thing. What a reader may not see is answered exactly as if it were not there. Who sees a
// fact as an event is in its row of the table of facts (facts/table.ts).
//
// Some reads are too long to ask this rule about everything: they find by an index what the reader can see. Reads of messages use the stays
// (store/visible.ts), reads of events use the rows of `concerns`, which are made from that table.

import { broadcast, directMembers, isChannel } from './conversations.ts'
import type { ActionRow, ApprovalRow, InvocationRow, MessageHead, RunRow, View, WorkerRow } from './view.ts'

/** Who reads: a session, for example. */
export interface Reader {
  /** Undefined for a reader without a name. */
  readonly agent?: string
  readonly standing: {
    /** holder: it uses the rights of the workspace key. nobody: it has shown nothing, so that anybody may say its name. */
    readonly rank: 'owner' | 'holder' | 'agent' | 'nobody'
    /** open: it came by a port that asks for nothing. */
    readonly door?: string
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

/**
 * Is the id of a run the right to it? On a port that asks for nothing a name proves nothing, and a client has another one when it comes again. Only
 * those whom a run concerns are told its id, which nobody can guess.
 */
export function hasRunsById({ standing: { door, rank } }: Reader): boolean {
  return door === 'open' && rank === 'nobody'
}

/** For who has said the id of the run. Lists and events ask `sees`. */
export function seesById(view: View, reader: Reader, kind: 'run' | 'progress', run: RunParties): boolean {
  return hasRunsById(reader) || sees(view, reader, kind, run)
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
  const shown = [agent, '*'].flatMap((who) => (Object.hasOwn(terminal, who) ? (terminal[who] ?? []) : []))
  return shown.includes('*') || shown.includes(name)
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

function isAmong(names: Iterable<string | undefined>, agent: string | undefined): boolean {
  if (agent === undefined) return false
  for (const name of names) if (name === agent) return true
  return false
}
