// The files of a workspace are taken away under a daemon that is written to: they hold all acknowledged messages, and nothing after that.

import { linkSync, mkdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { MessageHistory, readStored } from '@agent-relay/prove/harness/history'
import { inTrial, sleep, type Trial } from '@agent-relay/prove/harness/processes'
import { senderCount, sendUnderLoad } from '@agent-relay/prove/scenarios/syncs'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { guardMs } from '../../guard.ts'
import { isWithin, until } from '../../until.ts'

export const removals = ['log removed', 'database removed', 'database replaced', 'log cut', 'database cut'] as const
export type Removal = (typeof removals)[number]

export interface RemovalReport {
  removal: Removal
  ackedBefore: number
  /** Those that were on their way when it happened. */
  ackedAfter: number
  exitCode: number | null
  reason: string
  faults: string[]
}

/** SQLite copies the log into the database when it has a thousand pages; less than half of them are different ones. */
const logBytes = 1_000 * 4_096

export function takeAway(removal: Removal, afterMs: number): Promise<RemovalReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const daemon = await scene.startDaemon()
    const history = new MessageHistory()
    const kept = keep(scene)
    const loading = sendUnderLoad(scene, history, () => true)
    await sleep(afterMs)
    // What the log still has as well SQLite would write again, and nothing would be lost.
    const isEarly = () => removal === 'database cut' && statSync(scene.databasePath).size < logBytes / 2
    await until(() => history.acked >= senderCount && !isEarly())
    const ackedBefore = history.acked
    blows[removal](scene.databasePath)
    const exit = (await isWithin(guardMs, daemon.exited)) ? await daemon.exited : undefined
    if (!exit) await daemon.end()
    await loading
    const ackedAfter = history.acked - ackedBefore
    const faults = exit ? [] : ['the daemon goes on']
    // Each lane has one send under way, and one batch may have been checked before the removal.
    if (ackedAfter > 2 * senderCount) faults.push(`${ackedAfter} were acknowledged after it`)
    if (removal === 'log removed') faults.push(...faultsOf(history, scene))
    else if (!removal.endsWith('cut')) faults.push(...faultsOf(history, scene, kept))
    const reason = daemon.errors.split('\n')[0] ?? ''
    return { removal, ackedBefore, ackedAfter, exitCode: exit?.code ?? null, reason, faults: faults.slice(0, 10) }
  })
}

const blows: Record<Removal, (path: string) => void> = {
  'log removed': (path) => rmSync(`${path}-wal`),
  'database removed': (path) => rmSync(path),
  'database replaced': (path) => renameSync(`${path}-shm`, path),
  'log cut': (path) => truncateSync(`${path}-wal`, 4_096),
  'database cut': (path) => truncateSync(path, 100),
}

/** Second names of both files, by which they can be read when their first ones are gone. */
function keep({ dataDir, databasePath }: Trial): string {
  const kept = join(dataDir, 'kept')
  mkdirSync(kept)
  for (const end of ['', '-wal']) linkSync(databasePath + end, join(kept, `relay.db${end}`))
  return join(kept, 'relay.db')
}

function faultsOf(history: MessageHistory, scene: Trial, path?: string): string[] {
  const { messages, integrity } = readStored(scene, path)
  return [...(integrity === 'ok' ? [] : [integrity]), ...history.faultsOfStored(messages)]
}
