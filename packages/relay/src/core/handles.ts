// Rules for handles and the role `lead`: what an agent may be called besides its name. Neither lets an agent pass for another.

import { daemonName } from '@agent-relay/sdk/protocol'
import { homeBlockingName } from './homes.ts'
import { secondNameOnMachine } from './name-family.ts'
import { type Refused, refuse } from './verdict.ts'
import type { AgentRow, View } from './view.ts'
import type { World } from './world.ts'

const leadHandle = 'lead'

/** Returns a key that is equal for names which a reader takes for the same: case, accents, wide forms and signs between the letters do not count. */
export function handleKey(text: string): string {
  const letters = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
  return letters === '' ? text : letters
}

export interface HandleAndRole {
  handle?: string
  role?: 'lead'
  /** Whether the caller has shown the workspace key. */
  isHolder: boolean
  /** The caller's former name, which the caller gives up for the one it asks for. */
  givesUp?: string
}

/**
 * Refuses a handle that is the name or handle of another agent or the daemon, and the role `lead` to a caller that may not take it. `name`: the agent that
 * would get the handle and the role.
 */
export function refuseHandleClash(view: View, world: World, called: HandleAndRole, name: string): Refused | undefined {
  const { handle, role, isHolder, givesUp } = called
  const mayLead = isHolder || view.agent(name)?.role === 'lead'
  if (role === 'lead' && !mayLead) return leadDenied()
  if (handle === undefined) return undefined
  if (handleKey(handle) === leadHandle && !mayLead) return leadDenied()
  if (readsLikeDaemon(handle)) return refuse('agent.handle-taken', { handle, name: daemonName })
  const person = personNotRegisteredYet(view, world)
  if (person !== undefined && person !== name && handleKey(person) === handleKey(handle))
    return refuse('agent.handle-taken', { handle, name: person })
  // A live session may already use the handle as its name, although no agent in the tables has that name yet.
  const unsaved = handle !== givesUp && world.isLive(handle) ? { name: handle } : undefined
  const other = [...view.agentsNamedLike(handle), unsaved].find((agent) => agent !== undefined && agent.name !== name)
  return other && refuse('agent.handle-taken', { handle, name: other.name })
}

/**
 * Returns the name of this machine's person in a workspace that the person has not visited yet. Messages may be sent to that name, and no agent may take it.
 * Undefined if the person was there, or if the name cannot become the person's.
 */
export function personNotRegisteredYet(view: View, world: World): string | undefined {
  const { person, machine } = world
  if (person === undefined) return undefined
  const isSecond =
    machine !== undefined && view.agent(person)?.type === 'human' && homeBlockingName(view, world, person) !== undefined
  const name = isSecond ? secondNameOnMachine(person, machine) : person
  const isTaken = view.agent(name) !== undefined || view.isRetired(name) || findHandleOwner(view, world, name, true)
  return isTaken ? undefined : name
}

/**
 * Finds another agent for which a reader could take this name: one whose handle reads alike, or a person of such a name, known here or not yet. Nobody else may
 * take such a name, except a person's with the workspace key.
 */
export function findHandleOwner(
  view: View,
  world: World,
  name: string,
  isHolder = false,
): Pick<AgentRow, 'name'> | undefined {
  const person = isHolder ? undefined : personNotRegisteredYet(view, world)
  if (person !== undefined && handleKey(person) === handleKey(name)) return { name: person }
  const isPerson = (agent: AgentRow) => !isHolder && agent.type === 'human'
  const isOwner = (agent: AgentRow) =>
    isPerson(agent) || (agent.handle !== undefined && handleKey(agent.handle) === handleKey(name))
  return view.agentsNamedLike(name).find((agent) => agent.name !== name && isOwner(agent))
}

/** Whether a name reads like the daemon's, as `Agent-Relay` and `agent_relay` do. Such names are refused, since agents believe what the daemon says. */
export function readsLikeDaemon(name: string): boolean {
  return handleKey(name) === handleKey(daemonName)
}

/** Refuses the role `lead`: messages to `project:lead` go to the agent that has this role, so an agent cannot take it by itself. */
function leadDenied(): Refused {
  const why = 'the role lead is given by who spawns an agent (role in worker.spawn), or taken with the workspace key.'
  return refuse('auth.denied', { why })
}
