// The doctor's check for a workspace of this machine that hides a shared one of the same name.

import { listWorkspaces, tryWithControl } from '../../control-socket.ts'
import { shadowFix, shadowText } from '../../shared-name.ts'
import { type DoctorCheck, fault } from './finding.ts'

export const sharedNamesCheck: DoctorCheck = async ({ env }) => {
  const hiding = ((await tryWithControl(env, listWorkspaces)) ?? []).filter(({ shadows }) => shadows)
  return hiding.map(({ name }) => fault('shared', shadowText(name), shadowFix(name)))
}
