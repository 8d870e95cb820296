// The daemon's workspaces as the HTTP server needs them.

import { troubleTexts } from '../core/shared-trouble.ts'
import type { ServedWorkspaces } from '../wires/callers.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import { sharedTroubleOf } from './shared-trouble.ts'
import type { StartupOpenings } from './startup-openings.ts'

/** `home`: the workspace for callers without a credential. */
export function servedWorkspaces(
  open: OpenWorkspaces,
  startup: Pick<StartupOpenings, 'search' | 'untriedNames'>,
  home: string | undefined,
): ServedWorkspaces {
  const troubleIn = (name: string) => {
    const workspace = open.findOpen(name)?.workspace
    return workspace ? troubleTexts({ name, ...sharedTroubleOf(workspace) }) : []
  }
  return {
    all: () => open.dispatches(),
    names: () => [...new Set([...open.names(), ...startup.untriedNames])],
    faults: () => [...open.sockets.faultTexts(), ...open.names().flatMap(troubleIn)],
    defaultName: () => home,
    openForCredential: (credential, name) => open.openForCredential(credential, name),
    searchDuringStart: (find) => startup.search(find),
    find: async (which) => {
      const isMeant = (each: string) => ('id' in which ? open.idOf(each) === which.id : each === which.name)
      const name = await startup.search(async () => open.names().find(isMeant))
      return name === undefined ? undefined : open.openPinned(name)
    },
    keepOpen: ({ workspace }) => open.pin(workspace.name),
  }
}
