// Implements the interfaces of sharing.ts for a workspace that lives on this machine alone: its engine decides here, and there are no other machines.

import { LocalEngine } from './local-engine.ts'
import type { OtherMachines, Sharing } from './sharing.ts'

const noOtherMachines: OtherMachines = {
  connectedAgent: () => undefined,
  lastSeenAgent: () => undefined,
  isReached: () => false,
  unreachable: () => undefined,
  isRemoved: () => false,
  waits: () => [],
  onNews: () => {},
  ask: async () => undefined,
}

export const singleMachineSharing: Sharing = {
  machine: undefined,
  allows: async () => false,
  machines: async () => [],
  open: ({ localWorld, ...parts }) => ({
    engine: new LocalEngine({ ...parts, world: localWorld }),
    otherMachines: noOtherMachines,
    serve: () => {},
  }),
}
