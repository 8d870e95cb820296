// Homes: in a workspace that several machines share, each agent has one machine that decides its deliveries and speaks for it. Who may move a
// home, and what a machine may say in an agent's name. Where the workspace lives on one machine alone, nobody has a home.

import type { Entry, Fact } from '@agent-relay/sdk/protocol'
import { type Command, record, refuse, type Verdict } from './verdict.ts'
import type { HomeRow, View } from './view.ts'
import type { World } from './world.ts'

/** A home on this machine for whoever has none, or had it on a machine that was removed. Nothing is left to do where it is here. */
export function homeHere(view: View, world: World, agent: string): Fact[] {
  const { machine } = world
  const home = view.home(agent)
  const isKnown = view.agent(agent) !== undefined
  if (machine === undefined || (isKnown && home?.machine === machine)) return []
  const homed: Fact = { type: 'agent.homed', agent, machine, epoch: (home?.epoch ?? 0) + 1 }
  return [isKnown && home ? { ...homed, isTakeOver: true } : homed]
}

/** The agent's home, if that is another machine than this. */
export function homeElsewhere(view: View, { machine }: World, agent: string): HomeRow | undefined {
  const home = machine === undefined ? undefined : view.home(agent)
  return home?.machine === machine ? undefined : home
}

/** The same for who would come here: a machine that was removed from the cluster holds nobody. */
export function heldElsewhere(view: View, world: World, agent: string): HomeRow | undefined {
  const home = homeElsewhere(view, world, agent)
  return home && world.isRemoved?.(home.machine) ? undefined : home
}

export interface MoveInput {
  agent: string
  /** Its next home. */
  machine: string
  /** The former home is not asked, because it cannot be. */
  takeOver?: boolean
}

/** Decided by the home itself, which lets the agent go, or by the next home, which takes it over. */
export function move(view: View, { input, world }: Command<MoveInput>): Verdict {
  const { agent, machine, takeOver = false } = input
  if (!view.agent(agent)) return refuse('agent.unknown', { name: agent })
  const home = view.home(agent)
  if (home?.machine === machine) return record([], { agent, machine })
  const isHere = homeElsewhere(view, world, agent) === undefined
  if (!isHere && !(takeOver && machine === world.machine))
    return refuse('agent.elsewhere', { name: agent, machine: home?.machine })
  const homed: Fact = { type: 'agent.homed', agent, machine, epoch: (home?.epoch ?? 0) + 1 }
  return record([isHere ? homed : { ...homed, isTakeOver: true }], { agent, machine })
}

type TextField<F> = { [K in keyof F]-?: F[K] extends string ? K : never }[keyof F]

/**
 * In which field a fact names the agent that it speaks for; undefined where it speaks for nobody. What people may do to an agent, such as retire it,
 * does not speak for it. Moves and notes are checked by themselves, below.
 */
const speakers: { readonly [T in Fact['type']]: TextField<Extract<Fact, { type: T }>> | undefined } = {
  'message.created': 'from',
  'delivery.offered': 'agent',
  'delivery.held': 'agent',
  'delivery.released': 'agent',
  'delivery.read': 'agent',
  'reaction.added': 'agent',
  'reaction.removed': 'agent',
  'agent.briefed': 'agent',
  'action.registered': 'provider',
  'action.invoked': 'caller',
  'workspace.began': undefined,
  'workspace.key-issued': undefined,
  'workspace.restored': undefined,
  'workspace.policy-set': undefined,
  'agent.registered': undefined,
  'agent.updated': undefined,
  'agent.token-issued': undefined,
  'agent.tokens-revoked': undefined,
  'agent.retired': undefined,
  'agent.homed': undefined,
  'channel.created': undefined,
  'channel.joined': undefined,
  'channel.left': undefined,
  'channel.removed': undefined,
  'conversation.opened': undefined,
  'action.withdrawn': undefined,
  'action.completed': undefined,
  'worker.wished': undefined,
  'worker.wish-changed': undefined,
  'worker.changed': undefined,
  'worker.worktree-removed': undefined,
  'claim.made': undefined,
  'claim.renewed': undefined,
  'claim.ended': undefined,
  'claim.denied': undefined,
  'claim.passed': undefined,
  'deliveries.noted': undefined,
  'run.started': undefined,
  'run.completed': undefined,
  'run.stopped': undefined,
  'approval.opened': undefined,
  'approval.closed': undefined,
  'spend.noted': undefined,
}

function speaker(fact: Fact): string | undefined {
  const field = speakers[fact.type]
  return field && (fact as unknown as Record<string, string>)[field]
}

/** Before an entry of this machine is taken in: the agent for whom the machine speaks in it without being its home. */
export function spokenFor(
  view: View,
  machine: string,
  { by, facts }: Pick<Entry, 'by' | 'facts'>,
  homeAt: (agent: string, epoch: number) => string | undefined = () => undefined,
): string | undefined {
  const isTheirs = (agent: string | undefined) => {
    const home = agent === undefined ? undefined : view.home(agent)
    return home === undefined || home.machine === machine
  }
  const moves = facts.filter((fact) => fact.type === 'agent.homed')
  const moved = moves.find((fact) => !mayMove(view, machine, fact))
  if (moved) return moved.agent
  for (const fact of facts) {
    if (fact.type !== 'deliveries.noted') continue
    // Also what a former home tells late, of the time when it was one.
    if (fact.machine !== machine || homeAt(fact.agent, fact.epoch) !== machine) return fact.agent
  }
  const isOwn = (agent: string | undefined) =>
    isTheirs(agent) || moves.some((fact) => fact.agent === agent && fact.machine === machine)
  return [by, ...facts.map(speaker)].find((agent) => !isOwn(agent))
}

/** The home gives its agent away; anybody else takes it to itself, and says so unless there is no such agent. */
function mayMove(view: View, machine: string, homed: Extract<Fact, { type: 'agent.homed' }>): boolean {
  const home = view.home(homed.agent)
  if (homed.epoch !== (home?.epoch ?? 0) + 1) return false
  if (home?.machine === machine) return true
  const isFree = home === undefined || view.agent(homed.agent) === undefined
  return homed.machine === machine && (isFree || homed.isTakeOver === true)
}
