// The other workspaces of this daemon: which of them a session may see and write to, and the agents that are connected to them.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { mayOtherWorkspaceWrite } from '../../core/workspaces.ts'
import type { WorkspaceCore } from '../call.ts'
import type { Session } from '../sessions/session.ts'
import { connectedNames } from './connected.ts'

/** The workspaces that this daemon serves, including the caller's own. A workspace at rest is closed until somebody needs it. */
export interface Neighbours<W = WorkspaceCore> {
  names(): string[]
  /** Returns the names of the workspaces at rest, the last used first. */
  atRest(): string[]
  /** Returns the open workspaces. Looking at one does not keep it from being put to rest. */
  awake(): W[]
  /** Opens the workspace if it is at rest, and keeps it open until the work is done. Undefined if no workspace has this name. */
  visit<T>(name: string, work: (other: W) => T | Promise<T>): Promise<T | undefined>
}

/** The workspace where a call is answered, with the other workspaces of the daemon. */
export interface CallScope<W = WorkspaceCore> {
  workspace: W
  neighbours: Neighbours<W>
}

/** Whether a session may write to other workspaces: on the owner's socket, or if it has shown the workspace key over the network. */
export function mayWriteToOtherWorkspaces({ standing: { door, hasKey } }: Session): boolean {
  return door === 'owner' || hasKey
}

/**
 * Returns only those workspaces that the sender may reach. Over the network, the policy of a workspace must list the sender's workspace; all others are
 * answered as if they did not exist.
 */
export function reachableWorkspaces<W extends WorkspaceCore>(
  { workspace: home, neighbours }: CallScope<W>,
  { standing: { door } }: Session,
): Neighbours<W> {
  if (door === 'owner') return neighbours
  const takes = (other: W) => other === home || mayOtherWorkspaceWrite(other.store.view.policy(), home.name)
  return {
    names: () => neighbours.names(),
    atRest: () => neighbours.atRest(),
    awake: () => neighbours.awake().filter(takes),
    visit: async (name, work) => {
      const visited = await neighbours.visit(name, async (other) => takes(other) && { done: await work(other) })
      return visited ? visited.done : undefined
    },
  }
}

/** Maximum number of workspaces at rest (closed until needed) that one search opens, the last used first: an unknown id or name must not open hundreds. */
const wokenMax = 16

export function workspacesToSearch(neighbours: Neighbours): string[] {
  const skipped = new Set(neighbours.atRest().slice(wokenMax))
  return neighbours.names().filter((name) => !skipped.has(name))
}

/** Maximum number of other workspaces that a refusal suggests because they have an agent of the unknown name. */
const suggestedMax = 3

/** Adds to the refusal of an unknown agent's name the other workspaces that have an agent of that name, for senders who may write to them. */
export async function suggestWorkspaces(
  session: Session,
  home: WorkspaceCore,
  reach: Neighbours,
  refused: Refusal,
): Promise<Refusal> {
  const { code, details: { name } = {} } = refused
  if (code !== 'agent.unknown' || typeof name !== 'string' || !mayWriteToOtherWorkspaces(session)) return refused
  const has = ({ store, sessions }: WorkspaceCore) =>
    store.view.agent(name) !== undefined || sessions.provisional(name) !== undefined
  const elsewhere: string[] = []
  for (const other of workspacesToSearch(reach)) {
    if (elsewhere.length === suggestedMax) break
    // A workspace that cannot be opened is left out.
    if (other !== home.name && (await reach.visit(other, has).catch(() => false))) elsewhere.push(other)
  }
  return elsewhere.length === 0 ? refused : refusal(code, { ...refused.details, elsewhere })
}

/** Maximum number of agents of other workspaces that are shown to an agent which is alone in its own. */
const companyMax = 10

/**
 * Returns the addresses of agents in other workspaces, for sessions that may write to these. Leaves out closed workspaces, since nobody is connected to them.
 */
export function agentsInOtherWorkspaces(scope: CallScope, session: Session): string[] {
  if (!mayWriteToOtherWorkspaces(session)) return []
  const others = reachableWorkspaces(scope, session)
    .awake()
    .filter((other) => other !== scope.workspace)
  return others
    .flatMap((other) => connectedAgentsIn(other).map((agent) => `${other.name}:${agent}`))
    .slice(0, companyMax)
}

/** Lists the connected agents of a workspace, without people. */
export function connectedAgentsIn({ sessions, store }: WorkspaceCore): string[] {
  return connectedNames(sessions).filter((name) => store.view.agent(name)?.type !== 'human')
}
