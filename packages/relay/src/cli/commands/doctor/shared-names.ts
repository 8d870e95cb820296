// The doctor's check for workspaces of this machine that have the same name as a shared workspace of the cluster, and hide it.

import { nextCommandId, tryConnectControl } from '../../control-socket.ts'
import { shadowFix, shadowText } from '../../shared-name.ts'
import type { DoctorCheck } from './finding.ts'

export const sharedNamesCheck: DoctorCheck = async ({ env }) => {
  const link = await tryConnectControl(env)
  if (!link) return []
  const { workspaces } = await link.call('workspace.list', {}, nextCommandId('c')).finally(() => link.close())
  const hiding = workspaces.filter(({ shadows }) => shadows)
  return hiding.map(({ name }) => ({ check: 'shared', state: 'fault', text: shadowText(name), fix: shadowFix(name) }))
}
