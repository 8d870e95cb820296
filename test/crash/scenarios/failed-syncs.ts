// Syncs that fail: nothing is acknowledged after one.

import { join } from 'node:path'
import { MessageHistory, readStored } from '@agent-relay/prove/harness/history'
import { type DaemonProcess, inTrial } from '@agent-relay/prove/harness/processes'
import {
  acknowledgedIds,
  isOnDatabaseLog,
  isSync,
  isToSocket,
  readTrace,
  type SystemCall,
  straceArgs,
} from '@agent-relay/prove/harness/strace'
import { senderCount, sendUnderLoad } from '@agent-relay/prove/scenarios/syncs'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { guardMs } from '../../guard.ts'
import { isWithin } from '../../until.ts'

export interface FailedSyncReport {
  /** Which sync failed, counted from the daemon's start, and of what. */
  failing: number
  of: string
  acked: number
  /** How it ended: with its reason, and never with 0. */
  exitCode: number | null
  reason: string
  faults: string[]
}

/**
 * The n-th sync fails with EIO. If it was one of the log: nothing is acknowledged after it, and the daemon ends. SQLite also syncs the
 * folder of a new log, and goes on if that fails: the log's own syncs do not depend on it.
 */
export function failSync(failing: number): Promise<FailedSyncReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    await (await scene.startDaemon()).end('SIGTERM')
    const trace = join(scene.dataDir, 'trace')
    // Which of the two a driver calls depends on how it was compiled.
    const inject = ['-e', `inject=fsync,fdatasync:error=EIO:when=${failing}`]
    const daemon = scene.spawnDaemon({ wrapper: straceArgs(trace, ...inject) })
    const history = new MessageHistory()
    if (await isReady(daemon)) {
      const [soon, late] = [performance.now() + 2_000, performance.now() + guardMs]
      // No sync is of more than one send of each sender: after so many the one that fails has come.
      const isBefore = () => performance.now() < soon || history.acked <= senderCount * failing
      await sendUnderLoad(
        scene,
        history,
        () => daemon.child.exitCode === null && isBefore() && performance.now() < late,
      )
    }
    const isEnding = readTrace(trace).some(
      (call) => isSync(call) && isOnDatabaseLog(call) && call.result.includes('INJECTED'),
    )
    const exit = (await isWithin(isEnding ? guardMs : 1_000, daemon.exited)) ? await daemon.exited : undefined
    if (!exit) await daemon.end('SIGKILL')
    const calls = readTrace(trace)
    const failed = calls.find((call) => isSync(call) && call.result.includes('INJECTED'))
    const faults = failed && isOnDatabaseLog(failed) ? acknowledgedAfter(failed, calls) : []
    if (!failed) faults.push('no sync failed')
    else if (isOnDatabaseLog(failed) && !exit) faults.push('the daemon goes on')
    await (await scene.startDaemon()).end('SIGTERM')
    const { messages, integrity } = readStored(scene)
    if (integrity !== 'ok') faults.push(integrity)
    faults.push(...history.faultsOfStored(messages))
    const of = failed && isOnDatabaseLog(failed) ? 'log' : 'folder'
    const reason = daemon.errors.split('\n')[0] ?? ''
    return { failing, of, acked: history.acked, exitCode: exit?.code ?? null, reason, faults: faults.slice(0, 10) }
  })
}

function acknowledgedAfter(failed: SystemCall, calls: SystemCall[]): string[] {
  const late = calls.filter((call) => call.ended > failed.ended && isToSocket(call) && acknowledgedIds(call).length > 0)
  return late.map((call) => `acknowledged after the failed sync: ${acknowledgedIds(call).join(', ')}`)
}

async function isReady(daemon: DaemonProcess): Promise<boolean> {
  return await daemon.ready.then(
    () => true,
    () => false,
  )
}
