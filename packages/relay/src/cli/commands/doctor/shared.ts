// Is anything wrong with workspaces that several machines share? A machine that writes what it may not write is named.

import { troubleTexts } from '../../../core/shared-trouble.ts'
import { nextId, reachControl } from '../../control-socket.ts'
import type { Check } from './finding.ts'

export const shared: Check = async ({ env }) => {
  const link = await reachControl(env)
  if (!link) return []
  try {
    const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
    return workspaces.flatMap(({ name, voids = [], isUnjudged }) => {
      const [last] = voids
      const raise = `agent-relay cluster raise ${name}, by whoever administers the database`
      const texts = troubleTexts({ name, voids: voids.slice(0, 1), isUnjudged })
      const fixes = [...(isUnjudged ? [raise] : []), ...(last ? [`agent-relay machine revoke ${last.machine}`] : [])]
      return texts.map((text, n) => ({ check: 'shared', state: 'fault' as const, text, fix: fixes[n] }))
    })
  } finally {
    await link.close()
  }
}
