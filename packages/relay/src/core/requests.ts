// Requests: a machine that shares the workspace asks this one for what only this one may write down. This machine's own file says whether the other
// may ask; the functions here decide in whose name it asks. The other machine has proven which one it is, and so speaks for the agents that are at
// home there.

import { daemonName } from '@agent-relay/sdk/protocol'
import { type Command, type Refused, refuse } from './verdict.ts'
import type { View } from './view.ts'

/** A caller on another machine. */
export interface Asker {
  machine: string
  /** Unset for a person without a name of their own. */
  name?: string
}

/** The agent that gives a command, on whichever machine. */
export function askerOf({ by, input }: Command<{ asker?: Asker }>): string {
  return input.asker ? (input.asker.name ?? daemonName) : by
}

/** Refuses a request of a machine that was removed, or in the name of somebody who is at home elsewhere. */
export function forged(view: View, { input, world }: Command<{ asker?: Asker }>): Refused | undefined {
  if (!input.asker) return undefined
  const { machine, name } = input.asker
  if (view.isRevoked(machine) || world.isRemoved?.(machine))
    return refuse('machine.not-allowed', { type: 'request', owner: view.owner() })
  const home = name === undefined ? machine : view.home(name)?.machine
  return home === machine ? undefined : refuse('agent.elsewhere', { name, machine: home })
}

/** `alice on laptop` */
export function askerText({ machine, name = 'a person' }: Asker): string {
  return `${name} on ${machine}`
}
