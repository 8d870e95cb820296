// Lists the machines that share a workspace: their entry in the cluster, whether each is reached, and the agents that live on each.

import type { OutputOf } from '@agent-relay/sdk/protocol'
import { troubleTexts } from '../../core/shared-trouble.ts'
import type { Steps } from '../../core/steps.ts'
import type { CallContext, WorkspaceCore } from '../call.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import type { ClusterMachine, Sharing } from '../sharing.ts'
import { statusOf } from './availability.ts'

type SharedWorkspaceCore = WorkspaceCore & { sharing: Sharing }
type MachineListAnswer = OutputOf<'machine.list'>
type Row = MachineListAnswer['machines'][number]

/** Lists the machines. Where agents live and who is connected is known here, so the list works even if the cluster does not answer. */
export async function listMachines(
  workspace: SharedWorkspaceCore,
  { abandoned }: CallContext,
): Promise<MachineListAnswer> {
  const { sharing, name, reads, engine } = workspace
  if (sharing.machine === undefined) return { machines: [] }
  const known = new Map((await sharing.machines()).map((each) => [each.name, each]))
  const homes = await reads.run(agentsByMachine(workspace), new ReadTimeBudget(), abandoned)
  const owner = workspace.store.view.owner()
  const names = new Set([sharing.machine, ...known.keys(), ...homes.keys(), ...(owner === undefined ? [] : [owner])])
  const [trouble] = troubleTexts({ name, ...engine.trouble })
  return {
    machines: [...names].sort().map((each) => describe(workspace, each, known.get(each), homes.get(each))),
    ...engine.trouble,
    ...(trouble === undefined ? {} : { trouble }),
  }
}

/** Lists the agents that live on each machine, connected ones first, then by name. */
function* agentsByMachine(workspace: SharedWorkspaceCore): Steps<Map<string, Row['agents']>> {
  const { view } = workspace.store
  const homes = new Map<string, Row['agents']>()
  for (const { name } of [...view.agents()]) {
    yield
    const machine = view.home(name)?.machine
    if (machine === undefined) continue
    const agents = homes.get(machine) ?? []
    agents.push({ name, status: statusOf(workspace, name) })
    homes.set(machine, agents)
  }
  const isAway = ({ status }: Row['agents'][number]) => Number(status === 'offline')
  for (const agents of homes.values()) agents.sort((a, b) => isAway(a) - isAway(b) || a.name.localeCompare(b.name))
  return homes
}

function describe(
  workspace: SharedWorkspaceCore,
  name: string,
  known: ClusterMachine | undefined,
  agents: Row['agents'] = [],
): Row {
  const { state, since } = stateOf(workspace, name, known, agents.length > 0)
  const { version, joinedAt, revokedAt, may } = known ?? {}
  const seenAt = since === undefined ? known?.seenAt : new Date(since).toISOString()
  return {
    ...{ name, version, joinedAt, revokedAt, state, agents, owns: workspace.store.view.owner() === name, seenAt },
    ...(state === 'here' || state === 'removed' || !may ? {} : { may }),
  }
}

/** Returns the state of a machine. `since`: the time at which its last sign of life arrived on this machine. */
function stateOf(
  { sharing, otherMachines, engine, store }: SharedWorkspaceCore,
  name: string,
  known: ClusterMachine | undefined,
  isHome: boolean,
): { state: Row['state']; since?: number } {
  if (name === sharing.machine) return { state: 'here' }
  const isRemoved = known?.revokedAt !== undefined || otherMachines.isRemoved(name) || store.view.isRevoked(name)
  if (isRemoved) return { state: 'removed' }
  if (otherMachines.isReached(name)) return { state: 'reached' }
  const lost = otherMachines.unreachable(name)
  // A machine that never opened this workspace counts as closed, not as unreachable. While the cluster's database does not answer, a machine may have opened it
  // unnoticed.
  const mayHaveCome = engine.trouble !== undefined && (known === undefined || known.version !== undefined)
  const isMissed = isHome || lost?.since !== undefined || mayHaveCome
  return lost && isMissed ? { state: 'unreachable', since: lost.since } : { state: 'closed' }
}
