// What another process can find out about a data directory without loading the daemon: whether a daemon runs, and whether a database is undamaged.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketPath, isSocketAlive } from '@agent-relay/sdk/internal/discover'
import { DaemonLock } from '../store/lock.ts'

export { assertKnownVersion } from '../store/contents.ts'
export { repairCommands } from '../store/damage.ts'
export { checkIntegrity } from '../store/integrity.ts'

export function lockPathOf(dataDir: string): string {
  return join(dataDir, 'relay.lock')
}

/**
 * Takes the lock of a data directory. Undefined if another process is its daemon: it holds the lock, or answers on the control socket although the lock's file
 * was deleted.
 */
export async function acquireDaemonLock(dataDir: string): Promise<DaemonLock | undefined> {
  const lock = DaemonLock.acquire(lockPathOf(dataDir))
  if (!lock || !(await isSocketAlive(controlSocketPath(dataDir)))) return lock
  lock.release()
  return undefined
}

/** Whether a process is the daemon of this data directory, even if it does not answer. */
export function isDaemonRunning(dataDir: string): boolean {
  const path = lockPathOf(dataDir)
  if (!existsSync(path)) return false
  try {
    const lock = DaemonLock.acquire(path)
    lock?.release()
    return lock === undefined
  } catch (error) {
    // The data directory is gone: it belonged to a relay in memory, which deletes it at its end.
    if (!existsSync(path)) return false
    throw error
  }
}
