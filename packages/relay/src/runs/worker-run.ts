// A run carried out by a worker, a CLI that the daemon starts: the run's contract is the worker's task. The run ends by `agent_complete`, by the completion
// marker on the worker's screen, or with the worker's program.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunLedger } from '../broker/runs/run-runtime.ts'
import type { RunRow } from '../core/view.ts'
import { completionMarker, taskText } from './prompt.ts'

/** Interval between two reads of the worker's screen. The output from which the screen is drawn is not read, since people do not see it in that form. */
const screenLookMs = 2_000
const screenLines = 200
/** Maximum length in characters of the run's summary: the end of the text on the worker's screen, up to and including the completion marker. */
const summaryCharsMax = 4_000
/** Delay between the end of a run and the end of its worker's program, which gets the answer to its `agent_complete` meanwhile. */
const completionMs = 2_000

/** Carries out a run with a worker. Resolves when the run is over, with a reason if the worker ended by itself or never began. */
export async function runByWorker(ledger: RunLedger, run: RunRow, over: AbortSignal): Promise<string | undefined> {
  try {
    await ledger.hireWorker(run, taskText(run.id, ledger.contractOf(run.id)), over)
  } catch (error) {
    return (error as Error).message
  }
  try {
    return await followWorker(ledger, run, over)
  } finally {
    await sleep(completionMs, undefined, { ref: false })
    // A worker that has exited by itself needs no release.
    await ledger.dismissWorker(run).catch(() => {})
  }
}

async function followWorker(ledger: RunLedger, run: RunRow, over: AbortSignal): Promise<string | undefined> {
  const { id, agent } = run
  // A screen also shows what was typed into it, wrapped and framed. So if the contract contains the completion marker, the marker on the screen does
  // not count, and only `agent_complete` ends the run.
  const canSay = !ledger.contractOf(id).includes(completionMarker)
  let ended: string | undefined
  const exit = new AbortController()
  const stop = ledger.listen({
    onWorkerExit: (worker, reason) => {
      if (worker !== agent) return
      ended = `The worker exited${reason === undefined ? '' : `: ${reason}`}.`
      exit.abort()
    },
  })
  const done = AbortSignal.any([over, exit.signal])
  try {
    while (!done.aborted) {
      const worker = ledger.workerOf(run)
      // The worker may have exited before the listener for exits was added.
      if (!worker) return ended ?? 'The worker exited.'
      const screen = (await worker.terminal?.screen(screenLines).catch(() => '')) ?? ''
      if (screen !== '') ledger.recordScreen(id, screen)
      if (canSay && worker.terminal?.activity() !== 'busy' && screen.includes(completionMarker)) {
        await ledger.complete(id, summaryOf(screen))
        return undefined
      }
      await sleep(screenLookMs, undefined, { signal: done, ref: false }).catch(() => {})
    }
    return ended
  } finally {
    stop()
  }
}

function summaryOf(screen: string): string {
  return screen
    .slice(0, screen.lastIndexOf(completionMarker) + completionMarker.length)
    .slice(-summaryCharsMax)
    .trim()
}
