// The doctor's check of shared workspaces: whether this machine has stopped following one, and which machine writes entries that it may not write.

import { troublesOf } from '../../../core/shared-trouble.ts'
import { listWorkspaces, tryWithControl } from '../../control-socket.ts'
import type { DoctorCheck } from './finding.ts'

export const sharedWorkspacesCheck: DoctorCheck = async ({ env }) => {
  const workspaces = (await tryWithControl(env, listWorkspaces)) ?? []
  return workspaces.flatMap((workspace) => {
    const troubles = troublesOf({ ...workspace, voids: workspace.voids?.slice(0, 1) })
    return troubles.map((trouble) => ({ check: 'shared', state: 'fault' as const, ...trouble }))
  })
}
