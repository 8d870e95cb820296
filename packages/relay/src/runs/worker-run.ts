// One run by a worker: the contract is the worker's task; it ends by agent_complete, by the marker on its screen, or with its program.

import { setTimeout as sleep } from 'node:timers/promises'
import { daemonName } from '@agent-relay/sdk/protocol'
import type { Workspace } from '../broker/workspace.ts'
import type { RunRow } from '../core/view.ts'
import { marker, taskText } from './prompt.ts'

/** A screen is read, not followed: what a program draws is not what a person reads there. */
const lookMs = 2_000
const screenLines = 200
/** Of the screen before the marker: the end of what it said. */
const summaryCharsMax = 4_000
/** The program gets the answer to its agent_complete before it is ended. */
const farewellMs = 2_000

/** Resolves when it is over; with a reason where the worker ended by itself or never began. */
export async function runByWorker(workspace: Workspace, run: RunRow, over: AbortSignal): Promise<string | undefined> {
  const { workers, runs, ids } = workspace
  const { id, agent: name, harness: cli, model, cwd, parent: by } = run
  const task = taskText(id, runs.contract(id))
  try {
    await workers.spawn({ by, id: ids('d'), abandoned: over }, { name, cli, task, model, cwd })
  } catch (error) {
    return (error as Error).message
  }
  try {
    return await watch(workspace, run, over)
  } finally {
    await sleep(farewellMs, undefined, { ref: false })
    const asking = {
      by: daemonName,
      id: ids('d'),
      abandoned: new AbortController().signal,
      session: { isHolder: true },
    }
    // One that has exited by itself needs no release.
    await workers.wish('worker.release', asking, { name }).catch(() => {})
  }
}

async function watch({ workers, runs, hub }: Workspace, run: RunRow, over: AbortSignal): Promise<string | undefined> {
  const { id, agent: name } = run
  // A screen shows what was typed into it, too, wrapped and framed: where the contract holds the marker, only agent_complete counts.
  const canSay = !runs.contract(id).includes(marker)
  let ended: string | undefined
  const exit = new AbortController()
  const stop = hub.listen((entries) => {
    for (const { facts } of entries)
      for (const fact of facts) {
        if (fact.type !== 'worker.changed' || fact.worker !== name || fact.status !== 'exited') continue
        const { reason } = fact
        ended = `The worker exited${reason === undefined ? '' : `: ${reason}`}.`
        exit.abort()
      }
  })
  const done = AbortSignal.any([over, exit.signal])
  try {
    while (!done.aborted) {
      // It may have ended before anybody listened.
      if (workers.stateOf(name) === undefined) return ended ?? 'The worker exited.'
      const terminal = workers.terminalOf(name)
      const screen = (await terminal?.screen(screenLines).catch(() => '')) ?? ''
      if (screen !== '') runs.show(id, screen)
      if (canSay && terminal?.activity() !== 'busy' && screen.includes(marker)) {
        await runs.fulfil(id, wordsOf(screen))
        return undefined
      }
      await sleep(lookMs, undefined, { signal: done, ref: false }).catch(() => {})
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
