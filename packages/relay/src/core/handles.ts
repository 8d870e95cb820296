// Handles and the role `lead`: what an agent may be called besides its name. Neither lets an agent pass for another.

import { daemonName } from '@agent-relay/sdk/protocol'
import { type Refused, refuse } from './verdict.ts'
import type { AgentRow, View } from './view.ts'
import type { World } from './world.ts'

const leadHandle = 'lead'

/** A key that is equal for names a reader takes for the same: case, accents, wide forms and signs between the letters do not count. */
export function handleKey(text: string): string {
  const letters = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
  return letters === '' ? text : letters
}

export interface Called {
  handle?: string
  role?: 'lead'
  /** The caller has shown the workspace key. */
  isHolder: boolean
  /** The name that the caller gives up for the one it asks for. */
  givesUp?: string
}

/** Refuses `name` a handle or role: the handle is the name or handle of another agent or of the daemon, or the role of lead must be given. */
export function handleClash(view: View, world: World, called: Called, name: string): Refused | undefined {
  const { handle, role, isHolder, givesUp } = called
  const mayLead = isHolder || view.agent(name)?.role === 'lead'
  if (role === 'lead' && !mayLead) return leadDenied()
  if (handle === undefined) return undefined
  if (handleKey(handle) === leadHandle && !mayLead) return leadDenied()
  if (readsLikeDaemon(handle)) return refuse('agent.handle-taken', { handle, name: daemonName })
  // A live session may have a name that no agent in the tables has yet.
  const unsaved = handle !== givesUp && world.isLive(handle) ? { name: handle } : undefined
  const other = [...view.agentsCalled(handle), unsaved].find((agent) => agent !== undefined && agent.name !== name)
  return other && refuse('agent.handle-taken', { handle, name: other.name })
}

/** The agent that a reader would take the name for, which has it as a handle or is a person. Nobody else may take it, except a person with the key. */
export function handleOwner(view: View, name: string, isHolder = false): AgentRow | undefined {
  const isPerson = (agent: AgentRow) => !isHolder && agent.type === 'human'
  const isOwner = (agent: AgentRow) =>
    isPerson(agent) || (agent.handle !== undefined && handleKey(agent.handle) === handleKey(name))
  return view.agentsCalled(name).find((agent) => agent.name !== name && isOwner(agent))
}

/** Whether a name reads like the daemon's, as `Agent-Relay` and `agent_relay` do. Such names are refused, since agents believe what the daemon says. */
export function readsLikeDaemon(name: string): boolean {
  return handleKey(name) === handleKey(daemonName)
}

/** Refuses the role of lead: messages to `project:lead` go to the agent that has it, so an agent cannot take it by itself. */
function leadDenied(): Refused {
  const why = 'the role lead is given by who spawns an agent (role in worker.spawn), or taken with the workspace key.'
  return refuse('auth.denied', { why })
}
