// The workspaces of the daemon as its HTTP port sees them.

import { troubleTexts } from '../core/shared-trouble.ts'
import type { ServedWorkspaces } from '../wires/callers.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import { troubleOf } from './shared-trouble.ts'

/** `home`: the workspace for callers without a credential. */
export function servedWorkspaces(open: OpenWorkspaces, home: string | undefined): ServedWorkspaces {
  const troubleIn = (name: string) => {
    const workspace = open.opened(name)?.workspace
    return workspace ? troubleTexts({ name, ...troubleOf(workspace) }) : []
  }
  return {
    all: () => open.dispatches(),
    names: () => open.names(),
    faults: () => [...open.sockets.faultTexts(), ...open.names().flatMap(troubleIn)],
    home: () => home,
    openForCredential: (credential, name) => open.openForCredential(credential, name),
    named: async (which) => {
      const isMeant = (each: string) => ('id' in which ? open.idOf(each) === which.id : each === which.name)
      const name = open.names().find(isMeant)
      return name === undefined ? undefined : open.openHeld(name)
    },
    pin: ({ workspace }) => open.pin(workspace.name),
  }
}
