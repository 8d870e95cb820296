// Homes: in a workspace that several machines share, each agent has one machine that decides its deliveries and speaks for it. Who may move a
// home. What a machine may say in an agent's name is judged in facts/judge.ts. Where the workspace lives on one machine alone, nobody has a home.

import type { Fact } from '@agent-relay/sdk/protocol'
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

/** What is on another machine, of which only that machine decides. COMPAT(0.1): in format 1 every machine could. */
export function isElsewhere(view: View, { machine }: World, thing: { machine?: string }): boolean {
  return machine !== undefined && thing.machine !== machine && view.format() > 1
}

export interface MoveInput {
  agent: string
  /** Its next home. */
  machine: string
  /** The former home is not asked, because it cannot be. */
  takeOver?: boolean
}

/** Whether a machine takes an agent to itself without asking its home. COMPAT(0.1): in format 1 every machine could. */
export function mayTakeOver(view: View, machine: string, home: HomeRow | undefined): boolean {
  return view.format() === 1 || view.owner() === machine || (home !== undefined && view.isRevoked(home.machine))
}

/** Decided by the home itself, which lets the agent go, or by the next home, which takes it over. */
export function move(view: View, { input, world }: Command<MoveInput>): Verdict {
  const { agent, machine, takeOver = false } = input
  if (!view.agent(agent)) return refuse('agent.unknown', { name: agent })
  const home = view.home(agent)
  if (home?.machine === machine) return record([], { agent, machine })
  const isHere = homeElsewhere(view, world, agent) === undefined
  if (!isHere && !(takeOver && machine === world.machine && mayTakeOver(view, machine, home)))
    return refuse('agent.elsewhere', { name: agent, machine: home?.machine })
  const homed: Fact = { type: 'agent.homed', agent, machine, epoch: (home?.epoch ?? 0) + 1 }
  return record([isHere ? homed : { ...homed, isTakeOver: true }], { agent, machine })
}
