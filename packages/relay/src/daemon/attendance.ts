// Attendance to a daemon that a session started: by agents that a person's own programs run, and by people. Workers, runs and other programs do not
// count, so such a daemon never goes on for them alone.

import type { Dispatch } from '../broker/dispatch.ts'
import type { Workspace } from '../broker/workspace.ts'

interface Ending {
  attendedMs?: number
  onStop(reason: 'asked'): void
}

function isAttended({ sessions, store }: Workspace): boolean {
  const { view } = store
  const runs = new Set(view.runs.running().map(({ agent }) => agent))
  return sessions.all().some(({ agent, standing }) => {
    // This agent's program does not know of us, and needs no daemon.
    if (agent !== undefined && sessions.shown(agent)?.isOnlyWay) return false
    const row = agent === undefined ? undefined : view.agent(agent)
    const isHired = row?.parent !== undefined || (agent !== undefined && runs.has(agent))
    return !isHired && (standing.kind === 'model' || row?.type === 'human')
  })
}

/**
 * Asks for the end of the daemon once nobody has attended for `attendedMs`; unset means that it never ends by itself. The returned function ends this
 * watch.
 */
export function whileAttended({ attendedMs, onStop }: Ending, open: () => Pick<Dispatch, 'workspace'>[]): () => void {
  if (attendedMs === undefined) return () => {}
  let since = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    if (open().some(({ workspace }) => isAttended(workspace))) since = now
    else if (now - since >= attendedMs) {
      clearInterval(timer)
      onStop('asked')
    }
  }, attendedMs / 40)
  timer.unref()
  return () => clearInterval(timer)
}
