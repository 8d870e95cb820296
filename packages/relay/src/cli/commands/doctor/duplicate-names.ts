// The doctor's check for workspaces of this machine that have the same name as a shared workspace of the cluster, and hide it.

import { listWorkspaces, tryWithControl } from '../../control-socket.ts'
import { shadowFixCommands, shadowWarning } from '../../shared-name.ts'
import { type DoctorCheck, faultFinding } from './finding.ts'

export const duplicateNamesCheck: DoctorCheck = async ({ env }) => {
  const hiding = ((await tryWithControl(env, listWorkspaces)) ?? []).filter(({ shadows }) => shadows)
  return hiding.map(({ name }) => faultFinding('shared', shadowWarning(name), shadowFixCommands(name)))
}
