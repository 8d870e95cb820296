// Requests: another machine that shares the workspace asks this machine for a change that only this machine may record. A file of this machine says whether the
// other machine may ask; the functions here decide in whose name it asks. The other machine has proven which machine it is, and so speaks for the agents that
// are at home on it.

import { daemonName } from '@agent-relay/sdk/protocol'
import { type Command, type Refused, refuse } from './verdict.ts'
import type { View } from './view.ts'

/** A caller on another machine. */
export interface RemoteCaller {
  machine: string
  /** The caller's name. Unset for a person without a name of their own. */
  name?: string
}

/** Returns the agent that gives a command, on whichever machine the agent is. */
export function agentGivingCommand({ by, input }: Command<{ asker?: RemoteCaller }>): string {
  return input.asker ? (input.asker.name ?? daemonName) : by
}

/** Refuses a request of a machine that was removed, or in the name of an agent that is not at home on the asking machine. */
export function refuseForged(view: View, { input, world }: Command<{ asker?: RemoteCaller }>): Refused | undefined {
  if (!input.asker) return undefined
  const { machine, name } = input.asker
  if (view.isRevoked(machine) || world.isRemoved?.(machine))
    return refuse('machine.not-allowed', { type: 'request', owner: view.owner() })
  const home = name === undefined ? machine : view.home(name)?.machine
  return home === machine ? undefined : refuse('agent.elsewhere', { name, machine: home })
}

/** Names the caller and its machine, such as `alice on laptop`. */
export function remoteCallerText({ machine, name = 'a person' }: RemoteCaller): string {
  return `${name} on ${machine}`
}
