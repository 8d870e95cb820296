// One run by a worker: the contract is the worker's task; it ends by agent_complete, by the marker on its screen, or with its program.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunLedger } from '../broker/runs/run-runtime.ts'
import type { RunRow } from '../core/view.ts'
import { marker, taskText } from './prompt.ts'

/** How often the screen is read. It is read, not followed: the bytes that a program draws are not what a person sees. */
const screenLookMs = 2_000
const screenLines = 200
/** The summary is the end of what stands on the screen before the marker. */
const summaryCharsMax = 4_000
/** The program gets the answer to its agent_complete before it is ended. */
const completionMs = 2_000

/** Resolves when it is over; with a reason where the worker ended by itself or never began. */
export async function runByWorker(ledger: RunLedger, run: RunRow, over: AbortSignal): Promise<string | undefined> {
  try {
    await ledger.hire(run, taskText(run.id, ledger.contractOf(run.id)), over)
  } catch (error) {
    return (error as Error).message
  }
  try {
    return await watch(ledger, run, over)
  } finally {
    await sleep(completionMs, undefined, { ref: false })
    // One that has exited by itself needs no release.
    await ledger.dismiss(run).catch(() => {})
  }
}

async function watch(ledger: RunLedger, run: RunRow, over: AbortSignal): Promise<string | undefined> {
  const { id, agent } = run
  // A screen shows what was typed into it, too, wrapped and framed: where the contract holds the marker, only agent_complete counts.
  const canSay = !ledger.contractOf(id).includes(marker)
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
      // It may have ended before anybody listened.
      if (!worker) return ended ?? 'The worker exited.'
      const screen = (await worker.terminal?.screen(screenLines).catch(() => '')) ?? ''
      if (screen !== '') ledger.show(id, screen)
      if (canSay && worker.terminal?.activity() !== 'busy' && screen.includes(marker)) {
        await ledger.fulfil(id, wordsOf(screen))
        return undefined
      }
      await sleep(screenLookMs, undefined, { signal: done, ref: false }).catch(() => {})
    }
    return ended
  } finally {
    stop()
  }
}

function wordsOf(screen: string): string {
  return screen
    .slice(0, screen.lastIndexOf(marker) + marker.length)
    .slice(-summaryCharsMax)
    .trim()
}
