// Tells whether an agent can answer: its status, how long it has been away, and why it cannot be reached. waking/agent-reachability.ts decides the route of a
// message to an agent.

import type { Agent, NotReached, ReachName, Unreachable } from '@agent-relay/sdk/protocol'
import { isNameInUse } from '../../core/agents.ts'
import { homeOnOtherMachine } from '../../core/homes.ts'
import type { ObservedState } from '../../core/notices.ts'
import type { WorkspaceCore } from '../call.ts'
import type { ClockReadings } from '../sessions/session.ts'
import type { ReportedAgent, ReportedWait, UnreachableMachine } from '../sharing.ts'

/** Length of an absence after which an agent is not expected to answer soon. */
export const longAbsenceMs = 60_000
/** Time in which a lost connection may come back; until then its agent does not count as away. */
const lostConnectionMs = 5_000
/** Precision of the times that other machines are told: a finer time would change with every call, and be sent each time. */
const reportedTimeMs = 10_000
/** Maximum number of recipients that are checked for absence. Recipients of a message to more agents never count as absent, so its sender goes on waiting. */
const membersMax = 256

type PresenceParts = Pick<WorkspaceCore, 'store' | 'sessions' | 'otherMachines'>
export type ReachableWorkspace = PresenceParts & { reach: { of(agent: string): ReachName | undefined } }

type WatchedWorkspace = ReachableWorkspace & {
  waits: { of(agent: string): unknown; waitsToReport(agent: string): ReportedWait[] | undefined }
  workers: WorkerStates
}

/** The state of workers as lists of agents show it. */
export interface WorkerStates {
  stateOf(agent: string): Agent['worker']
}

/** Whether somebody is connected as the agent, on any machine. */
export function isConnected(
  { sessions, otherMachines }: Pick<PresenceParts, 'sessions' | 'otherMachines'>,
  agent: string,
): boolean {
  return sessions.isLive(agent) || otherMachines.connectedAgent(agent) !== undefined
}

/** Returns the agent's status that lists show: from its sessions on this machine, otherwise on another machine. */
export function statusOf(workspace: PresenceParts, name: string): Agent['status'] {
  const { sessions, otherMachines } = workspace
  const here = sessions.statusOf(name)
  if (here !== 'offline') return here
  return otherMachines.connectedAgent(name)?.status ?? (unreachableMachineOf(workspace, name) ? 'unreachable' : here)
}

/**
 * Returns an agent's state for notices about it. `idle`: the agent neither works nor waits for anybody. `away`: the agent has been gone for longer than a
 * reconnect after a restart takes. Undefined otherwise.
 */
export function stateForNotices(workspace: WatchedWorkspace, name: string): ObservedState {
  const { store, sessions, waits, workers } = workspace
  const { view } = store
  const status = statusOf(workspace, name)
  if (status === 'offline') {
    const absence = view.agent(name)?.type === 'human' ? sessions.timeSinceSeen(name) : absenceOf(workspace, name)
    return absence && absence.ms >= (absence.isAtLeast ? longAbsenceMs : lostConnectionMs) ? 'away' : undefined
  }
  if (status === 'unreachable' || view.approvals.of(name).length > 0 || waits.of(name)) return undefined
  const worker = workers.stateOf(name)?.status ?? 'ready'
  const state = worker === 'ready' ? (sessions.programState(name)?.doing?.state ?? status) : worker
  return state === 'idle' ? 'idle' : undefined
}

/**
 * Lists the agents on this machine, with what other machines may know of them. Leaves out names that are not stored yet, since other machines cannot know
 * these.
 */
export function agentsToReport(workspace: WatchedWorkspace): ReportedAgent[] {
  const { sessions, reach, waits } = workspace
  const named = sessions.all().flatMap(({ agent, provisional }) => (agent === undefined || provisional ? [] : [agent]))
  return [...new Set(named)].map((name) => {
    // Other machines are told idle or active only: an agent that is busy, or waits for an answer, is active.
    const isIdle = sessions.statusOf(name) === 'idle' && stateForNotices(workspace, name) === 'idle'
    const lastCallAt = Math.floor((sessions.lastCall(name) as ClockReadings).at / reportedTimeMs) * reportedTimeMs
    const status = isIdle ? 'idle' : 'active'
    return { name, status, lastCallAt, reached: reach.of(name), waits: waits.waitsToReport(name) }
  })
}

/**
 * Returns the unreachable machine where the agent lives. Undefined if the agent's sessions are known: they are on this machine, or their machine lists them.
 */
export function unreachableMachineOf(
  { store, sessions, otherMachines }: PresenceParts,
  agent: string,
): UnreachableMachine | undefined {
  if (sessions.isLive(agent)) return undefined
  const home = homeOnOtherMachine(store.view, sessions, agent)
  return home && otherMachines.unreachable(home.machine)
}

/** Describes an unreachable agent for a caller, with the time as text. */
export function describeUnreachable(name: string, { machine, since }: UnreachableMachine): Unreachable {
  return { name, machine, ...(since === undefined ? {} : { since: new Date(since).toISOString() }) }
}

/** Returns why the agent's program takes no messages now. Empty for an agent that has the relay's tools, since it finds the messages at its next call. */
export function findClosedInterfaces({ sessions }: Pick<PresenceParts, 'sessions'>, name: string): NotReached[] {
  const { note, isOnlyWay } = sessions.programState(name) ?? {}
  return note === undefined || !isOnlyWay ? [] : [{ name, why: note }]
}

export interface Absence {
  /** The names of all absent agents; `ms` is the time since the last of them left. */
  names: string[]
  ms: number
  /** Whether the agent was not seen since the daemon started, so that it has been away for longer than `ms`. */
  isAtLeast: boolean
}

/**
 * Returns how long the agent has been absent. Undefined if the agent can be reached, is expected at once or is not of this workspace, and for people, who come
 * back when they like.
 */
export function absenceOf(workspace: ReachableWorkspace, agent: string): Absence | undefined {
  const { store, sessions, reach, otherMachines } = workspace
  const { view } = store
  const type = view.agent(agent)?.type
  if (type === undefined || type === 'human' || reach.of(agent) !== undefined || otherMachines.connectedAgent(agent))
    return undefined
  // An agent whose machine is unreachable does not count as absent: it may be connected there.
  if (unreachableMachineOf(workspace, agent)) return undefined
  // An agent does not count as absent while its program still starts or its run goes on.
  const run = view.runs.byAgent(agent)
  if (isNameInUse(view, sessions, agent) || (run !== undefined && run.endedAt === undefined)) return undefined
  return { names: [agent], ...sessions.timeSinceSeen(agent) }
}

/** Returns the absence of all recipients together; undefined unless every one of them is away. */
export function absenceOfAll(
  workspace: ReachableWorkspace,
  recipients: Iterable<string | undefined>,
): Absence | undefined {
  let all: Absence | undefined
  for (const name of recipients) {
    if (name === undefined) continue
    const one = absenceOf(workspace, name)
    if (!one || all?.names.length === membersMax) return undefined
    const names = [...(all?.names ?? []), name]
    all = all && all.ms <= one.ms ? { ...all, names } : { ...one, names }
  }
  return all
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const namesShownMax = 8

/** Returns an absence as text for the sender that waits: a time such as `12 min`, `3 h` or `2 d`, with the names if there are several. */
export function absenceText({ names, ms, isAtLeast }: Absence): { away: string; all?: string; several?: true } {
  const [unitMs, unit] = ms < 2 * hourMs ? [minuteMs, 'min'] : ms < 2 * dayMs ? [hourMs, 'h'] : [dayMs, 'd']
  const time = `${Math.floor(ms / unitMs)} ${unit}`
  if (names.length === 1) return { away: `${isAtLeast ? 'more than ' : ''}${time}` }
  return { away: `${isAtLeast ? 'more than' : 'at least'} ${time}`, all: shortenedNameList(names), several: true }
}

/** Returns a list of names such as `Ann, Bob and 3 more`. */
export function shortenedNameList(names: readonly string[]): string {
  const [shown, rest] = [names.slice(0, namesShownMax), names.length - namesShownMax]
  const last = rest > 0 ? `${rest} more` : shown.pop()
  return shown.length === 0 ? `${last}` : `${shown.join(', ')} and ${last}`
}
