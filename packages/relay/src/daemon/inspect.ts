// Facts about a data directory that another process can find out without loading the daemon: whether a daemon runs, whether a database is whole.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketPath, isSocketAlive } from '@agent-relay/sdk/internal/discover'
import { DaemonLock } from '../store/lock.ts'

export { assertKnownVersion } from '../store/contents.ts'
export { repairCommands } from '../store/damage.ts'
export { checkSoundness } from '../store/soundness.ts'

export function lockPathOf(dataDir: string): string {
  return join(dataDir, 'relay.lock')
}

/** Takes a data directory's lock. Undefined if another process is the daemon: it holds the lock, or answers although its lock file was removed. */
export async function acquireDaemonLock(dataDir: string): Promise<DaemonLock | undefined> {
  const lock = DaemonLock.acquire(lockPathOf(dataDir))
  if (!lock || !(await isSocketAlive(controlSocketPath(dataDir)))) return lock
  lock.release()
  return undefined
}

/** Whether some process is this data directory's daemon, even one that does not answer. */
export function isDaemonRunning(dataDir: string): boolean {
  const path = lockPathOf(dataDir)
  if (!existsSync(path)) return false
  try {
    const lock = DaemonLock.acquire(path)
    lock?.release()
    return lock === undefined
  } catch (error) {
    // A relay in memory that ends removes its data directory meanwhile.
    if (!existsSync(path)) return false
    throw error
  }
}
