// Lists the agents of this workspace or of another workspace of the daemon: their status, their work, and how many messages wait for them.

import type { Agent, OutputOf, ParsedInputOf } from '@agent-relay/sdk/protocol'
import { refuseUnknownAgent } from '../../core/agents.ts'
import { needKeys, workerFailureReason } from '../../core/needs.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { type Reader, sees } from '../../core/sight.ts'
import type { Steps } from '../../core/steps.ts'
import { taskOf } from '../../core/tasks.ts'
import type { AgentRow } from '../../core/view.ts'
import type { CallContext, WorkspaceCore } from '../call.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import type { Session } from '../sessions/session.ts'
import { WholeTextBudget } from '../whole-text-budget.ts'
import { type ReachableWorkspace, statusOf, unreachableMachineOf, type WorkerStates } from './availability.ts'
import { agentsInOtherWorkspaces, type CallScope, connectedAgentsIn } from './other-workspaces.ts'
import { messagesToEverybodySince } from './provisional-names.ts'
import type { ReplyWaits } from './reply-waits.ts'

type AgentListWorkspace = WorkspaceCore &
  ReachableWorkspace & {
    waits: ReplyWaits
    workers: WorkerStates
    approvals: { blockedOf(reader: Reader, agent: string): Agent['blocked'] }
  }
type AgentFilter = Omit<ParsedInputOf<'agent.list'>, 'project'>
type AgentListAnswer = OutputOf<'agent.list'>

export function listAgents(
  scope: CallScope<AgentListWorkspace>,
  { session, abandoned }: CallContext,
  { project, ...filter }: ParsedInputOf<'agent.list'>,
): Steps<AgentListAnswer> | Promise<AgentListAnswer> {
  const { workspace, neighbours } = scope
  if (project === undefined || project === workspace.name) return agentsHere(scope, session, filter)
  if (session.standing.door !== 'owner') throw new RefusalError('workspace.unknown', { workspace: project })
  const read = (other: AgentListWorkspace) =>
    other.reads.run(agentsOf(other, { standing: session.standing }, filter), new ReadTimeBudget(), abandoned)
  return neighbours.visit(project, read).then((found) => {
    if (!found) throw new RefusalError('workspace.unknown', { workspace: project })
    return found
  })
}

/** Lists the agents of this workspace. An agent that is alone in it is also told of agents in other workspaces. */
function* agentsHere(
  scope: CallScope<AgentListWorkspace>,
  session: Session,
  filter: AgentFilter,
): Steps<AgentListAnswer> {
  const found = yield* agentsOf(scope.workspace, session, filter)
  if (filter.name !== undefined) return found
  const isOther = ({ name, status, type }: Agent) => name !== session.agent && status !== 'offline' && type !== 'human'
  // Agents that the filter leaves out count, too: with them the asker is not alone.
  const hasCompany =
    found.agents.some(isOther) || connectedAgentsIn(scope.workspace).some((name) => name !== session.agent)
  const abroad = hasCompany ? [] : agentsInOtherWorkspaces(scope, session)
  return abroad.length === 0 ? found : { ...found, abroad }
}

function* agentsOf(
  workspace: AgentListWorkspace,
  reader: Reader,
  { includeIdle = true, includeOffline = false, whole = false, name: wanted }: AgentFilter,
): Steps<{ agents: Agent[] }> {
  const { store, sessions, otherMachines, clock } = workspace
  /**
   * Whether the filter of the list wants an agent of this status. An agent on an unreachable machine is wanted if it was connected when that machine last
   * reported, since it may still be.
   */
  const isWanted = (status: Agent['status'], wasThere: boolean) =>
    status === 'active' || (status === 'idle' ? includeIdle : includeOffline || (status === 'unreachable' && wasThere))
  if (wanted !== undefined && !store.view.agent(wanted) && !sessions.provisional(wanted))
    throw new RefusalError(refuseUnknownAgent(store.view, wanted).refusal)
  const known = () => [...store.view.agentNames(), ...sessions.provisionalNames()]
  const names: string[] = []
  for (const name of wanted === undefined ? known() : [wanted]) {
    yield
    // Agents are filtered before they are described: thousands may be away, and counting the messages of each would be wasted.
    if (name === wanted || isWanted(statusOf(workspace, name), otherMachines.lastSeenAgent(name) !== undefined))
      names.push(name)
  }
  // Agents are sorted by their last call, latest first. Two machines have no monotonic clock in common, so times of another machine are converted to this
  // machine's clock.
  const begunAt = clock.now() - clock.steady()
  const calledAt = (name: string) => {
    const there = otherMachines.connectedAgent(name)?.lastCallAt
    return sessions.lastCall(name)?.steady ?? (there === undefined ? Number.NEGATIVE_INFINITY : there - begunAt)
  }
  names.sort((a, b) => calledAt(b) - calledAt(a))
  const shown: Agent[] = []
  const texts = new WholeTextBudget(whole)
  for (const name of names) {
    const agent = yield* describe(workspace, reader, { name, texts })
    if (agent) shown.push(agent)
  }
  return { agents: shown }
}

/** Describes an agent for the list; undefined for a provisional name whose session has ended since it was listed. */
function* describe(
  workspace: AgentListWorkspace,
  reader: Reader,
  { name, texts }: { name: string; texts: WholeTextBudget },
): Steps<Agent | undefined> {
  const { store, sessions, waits, workers, reach, approvals } = workspace
  const there = sessions.isLive(name) ? undefined : workspace.otherMachines.connectedAgent(name)
  const provisional = sessions.provisional(name)?.provisional
  const unstored: AgentRow | undefined = provisional && { id: provisional.id, type: 'agent', ...provisional.profile }
  const row = store.view.agent(name) ?? unstored
  if (!row) return undefined
  const { id, type, cli, model, parent, handle, role } = row
  const lastCallAt =
    there?.lastCallAt ?? sessions.lastCall(name)?.at ?? workspace.otherMachines.lastSeenAgent(name)?.lastCallAt
  const unread = provisional ? messagesToEverybodySince(workspace, provisional) : yield* store.queries.unreadCount(name)
  const wait = waits.of(name)
  const lost = unreachableMachineOf(workspace, name)
  return {
    id,
    name,
    type,
    cli,
    model,
    parent,
    handle,
    role,
    status: statusOf(workspace, name),
    waitingFor: wait && { agent: wait.on as string, since: new Date(wait.since.at).toISOString() },
    unread,
    lastCallAt: lastCallAt === undefined ? undefined : new Date(lastCallAt).toISOString(),
    reached: there ? there.reached : reach.of(name),
    doing: sessions.programState(name)?.doing,
    notReached: sessions.programState(name)?.note,
    blocked: approvals.blockedOf(reader, name),
    worker: workers.stateOf(name),
    task: texts.add(taskOf(store.view, reader, name, texts.hasRoom)),
    failed: failureShownTo(workspace, reader, name),
    machine: there?.machine ?? store.view.home(name)?.machine,
    machineSeenAt: lost?.since === undefined ? undefined : new Date(lost.since).toISOString(),
    spend: sees(store.view, reader, 'spend', { agent: name }) ? store.spend.ofAgent(name) : undefined,
  }
}

/** Returns why the agent's worker failed, for a reader who sees the worker and has not dismissed its failure. */
function failureShownTo(workspace: AgentListWorkspace, reader: Reader, name: string): string | undefined {
  const { store, sessions, clock } = workspace
  const { view, needs } = store
  const worker = sessions.isLive(name) ? undefined : view.workers.byName(name)
  if (!worker || !sees(view, reader, 'worker', worker)) return undefined
  const key = needKeys.failed(worker.id)
  // The command `agent-relay who` asks without an agent's name: it leaves out the failures that any person has dismissed.
  const isDismissed = reader.agent === undefined ? needs.isDismissedByAny(key) : needs.isDismissed(reader.agent, key)
  return isDismissed ? undefined : workerFailureReason(view, worker, clock.now())
}
