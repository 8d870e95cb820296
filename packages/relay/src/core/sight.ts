// Sight: who may see what, one rule for each kind of thing. A thing that a reader may not see is answered exactly as if it did not exist. The table of
// facts (facts/table.ts) says who sees a fact as an event.
//
// Some reads are too long to ask these rules about every row: they find by an index what the reader can see. Reads of messages use the times that agents
// spent in conversations (store/visible.ts); reads of events use the rows of `concerns`, which are made from the table of facts.

import { broadcast, directMembers, isChannel } from './conversations.ts'
import type { ActionRow, ApprovalRow, InvocationRow, MessageHead, RunRow, View, WorkerRow } from './view.ts'

/** The reader whose rights are checked, such as a session. */
export interface Reader {
  /** The name of the reader's agent. Unset for a reader without a name. */
  readonly agent?: string
  readonly standing: {
    /** holder: the reader uses the rights of the workspace key. nobody: the reader has shown no credential, so nothing proves its name. */
    readonly rank: 'owner' | 'holder' | 'agent' | 'nobody'
    /** The way by which the session came in. open: a port that asks for no credential. */
    readonly door?: string
  }
}

type RunParties = Pick<RunRow, 'agent' | 'parent'>
type WorkerParties = Pick<WorkerRow, 'name' | 'parent'>

/** Every kind of thing that only some readers may see. */
interface VisibleThings {
  /** A message with its reactions and receipts. A thread is seen message by message. */
  message: MessageHead
  /** A conversation, by its name: that it exists, and how many messages it has. */
  conversation: string
  /** Messages sent to and by the agent of this name. */
  mail: string
  /** An action that a program offers. */
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
  /** An approval: an action that an agent wants to take and may not yet. */
  approval: Pick<ApprovalRow, 'agent'>
  /** The tokens and costs of an agent's models. */
  spend: { agent: string }
}

type SightRule<T> = (view: View, reader: Reader, thing: T) => boolean

const rules: { readonly [K in keyof VisibleThings]: SightRule<VisibleThings[K]> } = {
  message: (view, { agent }, message) => agent !== undefined && isPartyTo(view, agent, message),
  conversation: (_, { agent }, name) =>
    isChannel(name) || name === broadcast || (agent !== undefined && directMembers(name).includes(agent)),
  mail: (_, { agent }, name) => agent === name,
  action: (_, { agent = '' }, action) => mayCallAction(action, agent),
  result: (_, { agent }, { caller }) => caller === agent,
  run: (view, reader, run) => isAmong([run.agent, run.parent], reader.agent) || isPerson(view, reader),
  // A reader to whom the policy shows the terminal of the run's agent sees the run's progress too.
  progress: (view, reader, run) => rules.run(view, reader, run) || policyShows(view, reader, run.agent),
  worker: (view, reader, worker) =>
    hasCredential(reader) && (worker.name === reader.agent || isInCharge(view, reader, worker)),
  terminal: (view, reader, worker) =>
    (hasCredential(reader) && isInCharge(view, reader, worker)) || policyShows(view, reader, worker.name),
  approval: (view, reader, { agent }) => hasCredential(reader) && isInCharge(view, reader, { parent: agent }),
  spend: (view, reader, { agent }) => hasCredential(reader) && isInCharge(view, reader, { parent: agent }),
}

export function sees<K extends keyof VisibleThings>(
  view: View,
  reader: Reader,
  kind: K,
  thing: VisibleThings[K],
): boolean {
  return seesAll(reader) || rules[kind](view, reader, thing)
}

/** Whether the reader is a holder of the workspace key, who sees every thing of every kind. */
export function seesAll({ standing }: Reader): boolean {
  return standing.rank === 'holder'
}

/**
 * Whether the reader sees every run, as people and the holder of the workspace key do. People do not see every event of runs: finding those would mean
 * reading everybody's events.
 */
export function seesAllRuns(view: View, reader: Reader): boolean {
  return seesAll(reader) || isPerson(view, reader)
}

/**
 * Whether the id of a run is the right to see and end that run. On an open port a name proves nothing, and a client that reconnects may have another name. Only
 * those whom a run concerns are told its id, which nobody can guess.
 */
export function isRunIdEnough({ standing: { door, rank } }: Reader): boolean {
  return door === 'open' && rank === 'nobody'
}

/** Whether a reader that has named the run's id sees the run. Lists and events use `sees` instead. */
export function seesRunById(view: View, reader: Reader, kind: 'run' | 'progress', run: RunParties): boolean {
  return isRunIdEnough(reader) || sees(view, reader, kind, run)
}

/** Whether the reader has shown a credential. Workers, their commands and their screens are hidden from a reader that has only given a name. */
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

/** Whether the reader is in charge of a worker: as its parent or that agent's parent and so on, as a person, or as the holder of the workspace key. */
export function isInCharge(view: View, reader: Reader, worker: Pick<WorkerRow, 'parent'>): boolean {
  const { agent } = reader
  if (seesAll(reader) || isPerson(view, reader)) return true
  const passed = new Set<string>()
  for (let above: string | undefined = worker.parent; above !== undefined; above = view.agent(above)?.parent) {
    if (above === agent) return true
    // Two agents may each name the other as parent: the walk ends at a name that it has passed.
    if (passed.has(above)) return false
    passed.add(above)
  }
  return false
}

/** Whether an agent may call an action, and see it listed. The action's provider always may. */
export function mayCallAction({ availableTo, provider }: VisibleThings['action'], agent: string): boolean {
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
