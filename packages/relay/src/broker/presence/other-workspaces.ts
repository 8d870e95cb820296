// The other workspaces of this daemon: which of them a session may see and write to, and the agents that are connected there.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { mayWrite } from '../../core/workspaces.ts'
import type { WorkspaceCore } from '../call.ts'
import type { Session } from '../sessions/session.ts'
import { connectedTo } from './connected.ts'

/** The workspaces that this daemon serves, the caller's own among them. */
export interface Neighbours<W = WorkspaceCore> {
  names(): string[]
  /** The names of the workspaces at rest, the last used first. */
  atRest(): string[]
  /** The other open workspaces. Looking at one does not keep it from being put to rest. */
  awake(): W[]
  /** Opens the workspace if it is at rest, and keeps it open until the work is done. Undefined if there is none of this name. */
  visit<T>(name: string, work: (other: W) => T | Promise<T>): Promise<T | undefined>
}

/** The workspace where a call is answered, among its neighbours. */
export interface CallScope<W = WorkspaceCore> {
  workspace: W
  neighbours: Neighbours<W>
}

/** A session may write to other workspaces on the owner's socket, or if it has shown the key over the network. */
export function mayWriteToOthers({ standing: { door, hasKey } }: Session): boolean {
  return door === 'owner' || hasKey
}

/** The workspaces among these that the sender may reach. Over the network their policies must list the sender's; the others seem not to exist. */
export function withinReach<W extends WorkspaceCore>(
  { workspace: home, neighbours }: CallScope<W>,
  { standing: { door } }: Session,
): Neighbours<W> {
  if (door === 'owner') return neighbours
  const takes = (other: W) => other === home || mayWrite(other.store.view.policy(), home.name)
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

/** The most workspaces at rest that one question opens, the last used first: an unknown id or name must not open hundreds. */
const wokenMax = 16

export function workspacesToSearch(neighbours: Neighbours): string[] {
  const skipped = new Set(neighbours.atRest().slice(wokenMax))
  return neighbours.names().filter((name) => !skipped.has(name))
}

/** The most workspaces that a sender learns of, which have an agent of the name it sought. */
const suggestedMax = 3

/** Adds to the refusal of an unknown name the workspaces that have an agent of that name, for senders who may write there. */
export async function suggestingWorkspaces(
  session: Session,
  home: WorkspaceCore,
  reach: Neighbours,
  refused: Refusal,
): Promise<Refusal> {
  const { code, details: { name } = {} } = refused
  if (code !== 'agent.unknown' || typeof name !== 'string' || !mayWriteToOthers(session)) return refused
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

/** The most agents of other workspaces that an agent is told of that is alone in its own. */
const companyMax = 10

/** The addresses of agents in other workspaces, for sessions that may write there. Nobody is connected to a workspace at rest. */
export function agentsInOthers(scope: CallScope, session: Session): string[] {
  if (!mayWriteToOthers(session)) return []
  const others = withinReach(scope, session)
    .awake()
    .filter((other) => other !== scope.workspace)
  return others.flatMap((other) => agentsIn(other).map((agent) => `${other.name}:${agent}`)).slice(0, companyMax)
}

/** The connected agents, without people. */
export function agentsIn({ sessions, store }: WorkspaceCore): string[] {
  return connectedTo(sessions).filter((name) => store.view.agent(name)?.type !== 'human')
}
