// The agents, their status and their workers (the programs that the daemon runs for them), requested again when something changes; and how long the daemon
// takes to answer.

import { type Agent, type AgentState, agentState, type OutputOf } from '@agent-relay/sdk/internal/page'
import { avatarLettersOf } from './avatar-letters.ts'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'
import { ListRefresher, reuseUnchanged } from './refresh.ts'

/** A worker as the daemon lists it, with the first line of its task. */
export type ListedWorker = OutputOf<'worker.list'>['workers'][number]

export interface Fleet {
  isKnown: boolean
  agents: readonly Agent[]
  /** The newest worker of each agent, by the agent's name. */
  workers: ReadonlyMap<string, ListedWorker>
}

export const unknownFleet: Fleet = { isKnown: false, agents: [], workers: new Map() }
export const fleet = new Cell(unknownFleet)
/** The letters of the avatars, by agent. */
export const avatarLetters = new Cell<ReadonlyMap<string, string>>(new Map())
/** The round-trip time of the last request. */
export const lagMs = new Cell<number | undefined>(undefined)

const refresh = new ListRefresher(ask, { minMs: 750, idleMs: 3_000 })

export function followFleet(): void {
  connection.listen(() => connection.value.phase === 'up' && refresh.hint())
  onEvents(() => refresh.hint())
  document.addEventListener('visibilitychange', () => refresh.hint())
}

export const refreshFleet = (): void => refresh.hint()

async function ask(): Promise<void> {
  const start = performance.now()
  const listed = await client.call('agent.list', { includeOffline: true })
  lagMs.set(performance.now() - start)
  const { workers } = await client.call('worker.list', { all: true })
  const { agents: before } = fleet.value
  fleet.set(joinedFleet(fleet.value, listed, workers))
  const names = fleet.value.agents.map(({ name }) => name)
  if (names.some((name, i) => name !== before[i]?.name) || names.length !== before.length)
    avatarLetters.set(avatarLettersOf(names))
}

/** Joins the daemon's lists of agents and workers. Rows that have not changed since `before` stay the same objects. */
export function joinedFleet(
  before: Fleet,
  listed: OutputOf<'agent.list'>,
  workers: OutputOf<'worker.list'>['workers'],
): Fleet {
  const agents = reuseUnchanged(before.agents, listed.agents, ({ name }) => name)
  const newest = new Map<string, ListedWorker>()
  // Workers of archived agents are left out.
  const known = new Set(agents.map(({ name }) => name))
  for (const worker of reuseUnchanged([...before.workers.values()], workers, ({ id }) => id))
    if (known.has(worker.name) && !newest.has(worker.name)) newest.set(worker.name, worker)
  return { isKnown: true, agents, workers: newest }
}

export type Tone = 'good' | 'calm' | 'busy' | 'warn' | 'bad' | 'off'

export interface StateText {
  tone: Tone
  text: string
  /** Whether the agent is in a state that only a person can end. */
  needsYou: boolean
}

const tones: Record<AgentState['kind'], Tone> = {
  ...{ unreachable: 'off', blocked: 'bad', paused: 'warn', waiting: 'busy', starting: 'warn' },
  ...{ busy: 'busy', idle: 'calm', active: 'good', failed: 'bad', offline: 'off' },
}

/** Describes an agent's state in a word. `last` is the agent's newest worker, which may have ended. */
export function agentStateText(agent: Agent, last?: ListedWorker): StateText {
  const { kind, text, needsPerson: needsYou } = agentState(agent)
  if (kind === 'offline' && last?.status === 'exited')
    return { tone: 'off', text: last.reason ? `exited: ${last.reason}` : 'exited', needsYou }
  return { tone: needsYou ? 'bad' : tones[kind], text, needsYou }
}

/** The time since which the agent is in its state; undefined if unknown. */
export function stateSince(
  { waitingFor, worker, status, blocked, machineSeenAt }: Agent,
  last?: ListedWorker,
): string | undefined {
  if (status === 'unreachable') return machineSeenAt
  if (blocked) return blocked.since
  const isFact = worker ? ['blocked', 'paused', 'wished', 'starting'].includes(worker.status) : status === 'offline'
  return isFact && last ? last.changedAt : waitingFor?.since
}

export interface AgentTreeRow {
  agent: Agent
  depth: number
}

/**
 * Lists the agents as a tree: each worker under its lead, leads connected first and then by name. A row that waits or is stuck keeps its place, because people
 * remember places.
 */
export function agentTree(agents: readonly Agent[]): AgentTreeRow[] {
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  const children = new Map<string, Agent[]>()
  const roots: Agent[] = []
  for (const agent of [...agents].sort(compareAgents)) {
    const isChild = agent.parent !== undefined && agent.parent !== agent.name && byName.has(agent.parent)
    if (isChild) children.set(agent.parent as string, [...(children.get(agent.parent as string) ?? []), agent])
    else roots.push(agent)
  }
  const seen = new Set<string>()
  const walk = (agent: Agent, depth: number): AgentTreeRow[] => {
    if (seen.has(agent.name)) return []
    seen.add(agent.name)
    return [{ agent, depth }, ...(children.get(agent.name) ?? []).flatMap((child) => walk(child, depth + 1))]
  }
  // Agents that name each other as parent are under no root: they come last.
  return [...roots, ...agents].flatMap((agent) => walk(agent, 0))
}

/**
 * Whether the agent is shown without a click: it is online, or was when its machine was last heard of, or its program runs, or ended without being asked to.
 * Other agents are folded away.
 */
export const isAgentPresent = ({ status, worker, lastCallAt, failed }: Agent): boolean =>
  worker !== undefined ||
  failed !== undefined ||
  (status === 'unreachable' ? lastCallAt !== undefined : status !== 'offline')

/** Returns the names of the agents that pass the test, and of their leads: without its lead, a worker's row would appear under another agent. */
export function withLeads(agents: readonly Agent[], test: (agent: Agent) => boolean): ReadonlySet<string> {
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  const kept = new Set<string>()
  for (const agent of agents.filter(test))
    for (let at: Agent | undefined = agent; at && !kept.has(at.name); at = byName.get(at.parent ?? ''))
      kept.add(at.name)
  return kept
}

export interface ShownAgents {
  here: readonly AgentTreeRow[]
  away: readonly AgentTreeRow[]
  /** The agents by status, in words: `3 here, 2 away`. */
  counts: string
}

/** Divides the agents into those that are present, with their leads, and the rest; the same for every list of agents. */
export function shownAgents(agents: readonly Agent[]): ShownAgents {
  const present = withLeads(agents, isAgentPresent)
  const lost = agents.filter(({ status }) => status === 'unreachable').length
  const failed = agents.filter((agent) => agent.failed !== undefined).length
  const gone = agents.filter(({ status }) => status === 'offline').length - failed
  const more = [failed > 0 ? `, ${failed} failed` : '', lost > 0 ? `, ${lost} out of reach` : '']
  return {
    here: agentTree(agents.filter(({ name }) => present.has(name))),
    away: agentTree(agents.filter(({ name }) => !present.has(name))),
    counts: `${agents.length - lost - gone - failed} here, ${gone} away${more.join('')}`,
  }
}

/** Orders agents: connected agents first, then by name, so that rows keep their places. */
export function compareAgents(a: Agent, b: Agent): number {
  const away = (agent: Agent): number => (agent.status === 'offline' ? 1 : 0)
  return away(a) - away(b) || a.name.localeCompare(b.name)
}
