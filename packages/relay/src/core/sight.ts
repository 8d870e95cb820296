// Sight: who may see what, one rule for each kind of thing. A thing that a reader may not see is answered exactly as if it were not there. The table
// of facts (facts/table.ts) says who sees a fact as an event.
//
// Some reads are too long to ask this rule about everything: they find by an index what the reader can see. Reads of messages use the stays
// (store/visible.ts), reads of events use the rows of `concerns`, which are made from that table.

import { broadcast, directMembers, isChannel } from './conversations.ts'
import type { ActionRow, ApprovalRow, InvocationRow, MessageHead, RunRow, View, WorkerRow } from './view.ts'

/** The reader whose rights are checked: a session, for example. */
export interface Reader {
  /** Undefined for a reader without a name. */
  readonly agent?: string
  readonly standing: {
    /** holder: the session uses the rights of the workspace key. nobody: it has shown no credential, so that anybody may say its name. */
    readonly rank: 'owner' | 'holder' | 'agent' | 'nobody'
    /** open: the session came by a port that asks for no credential. */
    readonly door?: string
  }
}

type RunParties = Pick<RunRow, 'agent' | 'parent'>
type WorkerParties = Pick<WorkerRow, 'name' | 'parent'>

/** Every kind of thing that only some readers may see. */
interface Things {
  /** A message, its reactions and its receipts; a thread is its messages. */
  message: MessageHead
  /** A conversation by its name: its existence, and how much was said in it. */
  conversation: string
  /** Messages sent to and by the agent of this name. */
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
  /** An action that an agent wants to take and may not yet. */
  approval: Pick<ApprovalRow, 'agent'>
  /** The tokens and costs of an agent's models. */
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
    hasCredential(reader) && (worker.name === reader.agent || isInCharge(view, reader, worker)),
  terminal: (view, reader, worker) =>
    (hasCredential(reader) && isInCharge(view, reader, worker)) || policyShows(view, reader, worker.name),
  approval: (view, reader, { agent }) => hasCredential(reader) && isInCharge(view, reader, { parent: agent }),
  spend: (view, reader, { agent }) => hasCredential(reader) && isInCharge(view, reader, { parent: agent }),
}

export function sees<K extends keyof Things>(view: View, reader: Reader, kind: K, thing: Things[K]): boolean {
  return seesAll(reader) || rules[kind](view, reader, thing)
}

/** The key's holder sees every thing of every kind. */
export function seesAll({ standing }: Reader): boolean {
  return standing.rank === 'holder'
}

/**
 * Whether the reader sees every run, as the holder of the key and people do. People do not see every event of runs: finding those would mean reading
 * everybody's events.
 */
export function seesAllRuns(view: View, reader: Reader): boolean {
  return seesAll(reader) || isPerson(view, reader)
}

/**
 * Whether the id of a run is the right to it. On an open port a name proves nothing, and a client that comes again has another one. Only those whom a
 * run concerns are told its id, which nobody can guess.
 */
export function hasRunsById({ standing: { door, rank } }: Reader): boolean {
  return door === 'open' && rank === 'nobody'
}

/** Whether a reader that has named the run's id sees it. Lists and events ask `sees`. */
export function seesById(view: View, reader: Reader, kind: 'run' | 'progress', run: RunParties): boolean {
  return hasRunsById(reader) || sees(view, reader, kind, run)
}

/** Whether the reader has shown a credential; from one that has only said a name, workers, their commands and their screens are hidden. */
export function hasCredential({ standing }: Reader): boolean {
  return standing.rank !== 'nobody'
}

/** Whether the agent sent the message, or was in the conversation when it was sent. */
export function isPartyTo(view: View, agent: string, message: MessageHead): boolean {
  return message.from === agent || view.isRecipient(agent, message)
}

/** Whether the workspace's policy shows the reader the terminal of this worker. */
function policyShows(view: View, reader: Reader, name: string): boolean {
  const { agent } = reader
  if (agent === undefined || !hasCredential(reader)) return false
  const { terminal } = view.policy()
  const shown = [agent, '*'].flatMap((who) => (Object.hasOwn(terminal, who) ? (terminal[who] ?? []) : []))
  return shown.includes('*') || shown.includes(name)
}

/** Whether the reader is in charge of a worker: as its parent, the parent of that one and so on, as a person, or as the key's holder. */
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

/** Whether an agent may call an action; others do not see it listed either. Its provider always may. */
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
