// Is anything wrong with workspaces that several machines share? A machine that writes what it may not write is named.

import { nextId, reachControl } from '../../control-socket.ts'
import type { Check } from './finding.ts'

export const shared: Check = async ({ env }) => {
  const link = await reachControl(env)
  if (!link) return []
  try {
    const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
    return workspaces.flatMap(({ name, voids = [] }) => {
      const [last] = voids
      if (!last) return []
      const text = `in ${name}, entry ${last.seq} of the machine ${last.machine} counts for nothing: ${last.why}`
      return [{ check: 'shared', state: 'fault' as const, text, fix: `agent-relay machine revoke ${last.machine}` }]
    })
  } finally {
    await link.close()
  }
}
