// Prunes a workspace while eight agents send and eight receive, and kills the daemon at random moments of the pruning: each message must stay in the
// database or in the archive, once, and in order.

import { statSync } from 'node:fs'
import { MessageHistory, readStored } from '../harness/history.ts'
import { MessageLoad } from '../harness/load.ts'
import { inTrial, sleep, type Trial, type TrialOptions, trialProject } from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'
import { RawConnection } from '../harness/raw.ts'

export interface PrunesSize {
  kills: number
  /** Time in milliseconds from the beginning of the trial, after which no daemon is killed any more. */
  msMax?: number
}

/** Milliseconds for which messages are sent before each pruning, and the longest time from the start of a pruning to the kill. */
const [loadMs, killMsMax] = [300, 250]
/** Minimum age of what is pruned, in milliseconds: everything that is read and finished may go. */
const olderMs = 1

/** `interruptedPrunings`: prunings that were killed before they had answered. `pruned`: messages that the archive has in the end. */
export function pruneUnderKills(random: Random, size: PrunesSize, options: TrialOptions) {
  const { kills, msMax = Number.POSITIVE_INFINITY } = size
  return inTrial(options, async (trial) => {
    const from = performance.now()
    const history = new MessageHistory()
    let daemon = await trial.startDaemon()
    const load = await MessageLoad.start(trial, history, random)
    let [done, interruptedPrunings] = [0, 0]
    while (done < kills && performance.now() - from < msMax) {
      await sleep(loadMs)
      const isInterrupted = await pruneFor(trial, random.below(killMsMax))
      await daemon.end('SIGKILL')
      if (isInterrupted) interruptedPrunings++
      trial.reportProgress(`kill ${++done} of ${kills}, ${history.acked} messages acknowledged`)
      load.switchReceivers()
      daemon = await trial.startDaemon()
    }
    await load.finish()
    trial.reportProgress('the last pruning')
    await pruneFor(trial)
    await daemon.stop()
    const { messages, pruned, integrity } = readStored(trial)
    return {
      kills: done,
      interruptedPrunings,
      acked: history.acked,
      pruned,
      fileMb: statSync(trial.databasePath).size / 1024 ** 2,
      integrity,
      faults: history.faults(messages),
      clientErrors: load.errors,
    }
  })
}

/** Prunes the workspace, and waits at most `ms` milliseconds for the end. Returns whether the pruning is still under way. */
async function pruneFor({ controlPath }: Trial, ms?: number): Promise<boolean> {
  const control = await RawConnection.connectAs(controlPath)
  const pruning = control.call('workspace.prune', { workspace: trialProject, olderMs }).then(({ type, payload }) => {
    if (type !== 'ACK' && type !== 'LOST') throw new Error(`the pruning was refused: ${JSON.stringify(payload)}`)
    return false
  })
  try {
    return await Promise.race([pruning, ...(ms === undefined ? [] : [sleep(ms).then(() => true)])])
  } finally {
    if (ms === undefined) await control.end()
  }
}
