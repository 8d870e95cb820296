// Which process holds the lock of a data directory, and since when: a note beside the lock, for people. The lock alone decides (store/lock.ts).

import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/foreign-file'

const pathOf = (dataDir: string) => join(dataDir, 'relay.pid')

/** Whoever has just taken the lock. Not being able to say so costs only words. */
export function noteHolder(dataDir: string): void {
  try {
    rmSync(pathOf(dataDir), { force: true })
    writeFileSync(pathOf(dataDir), `${process.pid}\n`, { mode: 0o600, flag: 'wx' })
  } catch {}
}

/** To be asked while the lock is held. Undefined where the note is missing, or was left by a process that is gone. */
export function holderOf(dataDir: string): { pid: number; since: string } | undefined {
  try {
    const pid = Number.parseInt(readForeignText(pathOf(dataDir)) ?? '', 10)
    process.kill(pid, 0)
    return { pid, since: statSync(pathOf(dataDir)).mtime.toISOString() }
  } catch {
    return undefined
  }
}
