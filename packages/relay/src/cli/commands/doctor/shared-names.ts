// The doctor's check for a workspace of this machine that hides a shared one of the same name.

import { nextId, reachControl } from '../../control-socket.ts'
import { shadowFix, shadowText } from '../../shared-name.ts'
import type { Check } from './finding.ts'

export const sharedNames: Check = async ({ env }) => {
  const link = await reachControl(env)
  if (!link) return []
  const { workspaces } = await link.call('workspace.list', {}, nextId('c')).finally(() => link.close())
  const hiding = workspaces.filter(({ shadows }) => shadows)
  return hiding.map(({ name }) => ({ check: 'shared', state: 'fault', text: shadowText(name), fix: shadowFix(name) }))
}
