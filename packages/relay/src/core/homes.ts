// Homes: in a workspace that several machines share, each agent has one machine that decides its deliveries and speaks for it. This file decides who may move a
// home; facts/judge.ts decides what a machine may append in an agent's name. In a workspace of one machine nobody has a home.

import type { Fact } from '@agent-relay/sdk/protocol'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { HomeRow, View } from './view.ts'
import type { World } from './world.ts'

/** Returns the fact that gives an agent a home on this machine, if the agent has none or had it on a removed machine. Empty if its home is here already. */
export function homeHereFacts(view: View, world: World, agent: string): Fact[] {
  const { machine } = world
  const home = view.home(agent)
  const isKnown = view.agent(agent) !== undefined
  if (machine === undefined || (isKnown && home?.machine === machine)) return []
  const homed: Fact = { type: 'agent.homed', agent, machine, epoch: (home?.epoch ?? 0) + 1 }
  return [isKnown && home ? { ...homed, isTakeOver: true } : homed]
}

/** Returns the agent's home if that is another machine. */
export function homeOnOtherMachine(view: View, { machine }: World, agent: string): HomeRow | undefined {
  const home = machine === undefined ? undefined : view.home(agent)
  return home?.machine === machine ? undefined : home
}

/** Returns the agent's home if that is another machine, because the name cannot be taken here then. Undefined if that machine was removed from the cluster. */
export function homeBlockingName(view: View, world: World, agent: string): HomeRow | undefined {
  const home = homeOnOtherMachine(view, world, agent)
  return home && world.isRemoved?.(home.machine) ? undefined : home
}

/**
 * Whether a thing, such as a worker or run, is on another machine, so that only that machine decides about it. COMPAT(0.1): in format 1 every machine could.
 */
export function isOnOtherMachine(view: View, { machine }: World, thing: { machine?: string }): boolean {
  return machine !== undefined && thing.machine !== machine && view.format() > 1
}

export interface MoveInput {
  agent: string
  /** The machine that becomes the agent's home. */
  machine: string
  /** Whether the agent is taken over: it moves without the consent of its present home, which cannot be reached. */
  takeOver?: boolean
}

/** Whether a machine may take an agent without asking its home. COMPAT(0.1): in format 1 every machine could. */
export function mayTakeOver(view: View, machine: string, home: HomeRow | undefined): boolean {
  return view.format() === 1 || view.owner() === machine || (home !== undefined && view.isRevoked(home.machine))
}

/** Moves an agent to another home machine. The present home lets the agent go, or the next home takes the agent over. */
export function moveAgentHome(view: View, { input, world }: Command<MoveInput>): Verdict {
  const { agent, machine, takeOver = false } = input
  if (!view.agent(agent)) return refuse('agent.unknown', { name: agent })
  const home = view.home(agent)
  if (home?.machine === machine) return recordFacts([], { agent, machine })
  const isHere = homeOnOtherMachine(view, world, agent) === undefined
  if (!isHere && !(takeOver && machine === world.machine && mayTakeOver(view, machine, home)))
    return refuse('agent.elsewhere', { name: agent, machine: home?.machine })
  const homed: Fact = { type: 'agent.homed', agent, machine, epoch: (home?.epoch ?? 0) + 1 }
  return recordFacts([isHere ? homed : { ...homed, isTakeOver: true }], { agent, machine })
}
