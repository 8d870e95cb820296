// What can be told of a data directory without being its daemon, and without loading one: whether a daemon runs, whether a database is whole.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DaemonLock } from './store/lock.ts'

export { mendOf } from './store/damage.ts'
export { soundnessOf } from './store/soundness.ts'

export function lockPathOf(dataDir: string): string {
  return join(dataDir, 'relay.lock')
}

/** Whether some process is this data directory's daemon, even one that does not answer. */
export function isRunning(dataDir: string): boolean {
  const path = lockPathOf(dataDir)
  if (!existsSync(path)) return false
  const lock = DaemonLock.acquire(path)
  lock?.release()
  return lock === undefined
}
