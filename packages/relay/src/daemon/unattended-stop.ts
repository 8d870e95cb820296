// Stops a daemon that a session has started, once it is unattended: no person and no agent in a person's own program is connected. Workers, runs and other
// programs do not keep such a daemon running.

import type { Dispatch } from '../broker/dispatch.ts'
import type { Workspace } from '../broker/workspace.ts'

interface UnattendedStopOptions {
  unattendedStopMs?: number
  onStop(reason: 'asked'): void
}

function isAttended({ sessions, store }: Workspace): boolean {
  const { view } = store
  const runs = new Set(view.runs.running().map(({ agent }) => agent))
  return sessions.all().some(({ agent, standing }) => {
    // The program has no tools of ours, and gets messages only by its vendor's interface: it does not depend on the daemon.
    if (agent !== undefined && sessions.programState(agent)?.isOnlyWay) return false
    const row = agent === undefined ? undefined : view.agent(agent)
    const isHired = row?.parent !== undefined || (agent !== undefined && runs.has(agent))
    return !isHired && (standing.kind === 'model' || row?.type === 'human')
  })
}

/**
 * Calls `onStop` after the daemon was unattended (no person and no agent in a person's own program connected) for `unattendedStopMs`. If that is unset, the
 * daemon never stops by itself. The returned function ends the watch.
 */
export function stopWhenUnattended(
  { unattendedStopMs, onStop }: UnattendedStopOptions,
  open: () => Pick<Dispatch, 'workspace'>[],
): () => void {
  if (unattendedStopMs === undefined) return () => {}
  let since = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    if (open().some(({ workspace }) => isAttended(workspace))) since = now
    else if (now - since >= unattendedStopMs) {
      clearInterval(timer)
      onStop('asked')
    }
  }, unattendedStopMs / 40)
  timer.unref()
  return () => clearInterval(timer)
}
