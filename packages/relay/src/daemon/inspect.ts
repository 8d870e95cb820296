// Facts about a data directory that another process can find out without loading the daemon: whether a daemon runs, whether a database is whole.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketPath, isAlive } from '@agent-relay/sdk/internal/discover'
import { DaemonLock } from '../store/lock.ts'

export { mustBeKnown } from '../store/contents.ts'
export { fixesOf } from '../store/damage.ts'
export { soundnessOf } from '../store/soundness.ts'

export function lockPathOf(dataDir: string): string {
  return join(dataDir, 'relay.lock')
}

/** Takes the lock of a data directory. Undefined if another process is its daemon: one that holds the lock, or answers although its lock file was removed. */
export async function acquireLock(dataDir: string): Promise<DaemonLock | undefined> {
  const lock = DaemonLock.acquire(lockPathOf(dataDir))
  if (!lock || !(await isAlive(controlSocketPath(dataDir)))) return lock
  lock.release()
  return undefined
}

/** Whether some process is this data directory's daemon, even one that does not answer. */
export function isRunning(dataDir: string): boolean {
  const path = lockPathOf(dataDir)
  if (!existsSync(path)) return false
  const lock = DaemonLock.acquire(path)
  lock?.release()
  return lock === undefined
}
