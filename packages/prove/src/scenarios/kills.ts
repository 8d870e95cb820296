// Kills the daemon with kill -9 at random moments while eight agents send and eight receive over the SDK, and then checks the histories of messages.

import { MessageHistory, readStored } from '../harness/history.ts'
import { MessageLoad } from '../harness/load.ts'
import { inTrial, sleep, type TrialOptions } from '../harness/processes.ts'
import type { Random } from '../harness/random.ts'

const loadMsMax = 400
/** The share of daemons that are killed before they are ready: an interrupted start must do no harm. */
const earlyShare = 0.15
const earlyMsMax = 250

export interface KillsSize {
  cycles: number
  /** Time in milliseconds from the beginning of the trial, after which no daemon is killed any more. */
  msMax?: number
  drainMs?: number
}

export function killUnderLoad(random: Random, size: KillsSize, options: TrialOptions) {
  const { cycles, msMax = Number.POSITIVE_INFINITY, drainMs } = size
  return inTrial(options, async (trial) => {
    const from = performance.now()
    const history = new MessageHistory()
    let daemon = await trial.startDaemon()
    const load = await MessageLoad.start(trial, history, random)
    let kills = 0
    while (kills < cycles && performance.now() - from < msMax) {
      await sleep(random.below(loadMsMax))
      await daemon.end('SIGKILL')
      trial.reportProgress(`kill ${++kills} of ${cycles}, ${history.acked} messages acknowledged`)
      if (random.next() < earlyShare) {
        const early = trial.spawnDaemon()
        await sleep(random.below(earlyMsMax))
        await early.end('SIGKILL')
      }
      load.switchReceivers()
      daemon = await trial.startDaemon()
    }
    await load.finish(drainMs)
    await daemon.stop()
    const { messages, integrity } = readStored(trial)
    return {
      cycles: kills,
      acked: history.acked,
      unknown: history.sends.length - history.acked,
      shown: history.shown.length,
      integrity,
      faults: history.faults(messages),
      clientErrors: load.errors,
    }
  })
}
