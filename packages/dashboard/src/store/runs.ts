// The list of runs, newest first, requested again at run events and while a run is running; and the payload of a run.

import type { OutputOf } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'
import { linkTo, openUnlessLeft } from './page-address.ts'
import type { Workplace } from './workplace.ts'

/** A run as the daemon lists it, with the first line of its contract as its title. */
export type TitledRun = OutputOf<'run.list'>['runs'][number]

export const runs = new Cell<readonly TitledRun[] | undefined>(undefined)

const runsMax = 200
/** How often the runs are requested while one is running: its output grows without an event. */
const outputLookMs = 1_000

/** Keeps the list of runs up to date while the view is open. */
export function followRuns(): () => void {
  const ask = (): void => {
    if (connection.value.phase !== 'up') return
    client.call('run.list', { limit: runsMax }).then(
      (answer) => runs.set(answer.runs),
      () => {},
    )
  }
  ask()
  const timer = setInterval(() => {
    if (!document.hidden && runs.value?.some(({ status }) => status === 'running')) ask()
  }, outputLookMs)
  const stop = onEvents((events) => {
    // Loads the runs again also after a spend event: a run's final spend may be reported after the run has ended.
    if (events.some(({ type }) => type.startsWith('run.') || type === 'spend.noted')) ask()
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}

/** Starts a new run with an ended run's contract, harness and place, and opens the new run. `again` is the earlier run's id or its agent's name. */
export async function retryRun(
  again: string,
  { client: asked, path }: Pick<Workplace, 'client' | 'path'> = { client, path: '' },
): Promise<void> {
  const leave = openUnlessLeft()
  const { id } = await asked.call('run.start', { again })
  leave(`${path}${linkTo('runs', [id])}`)
}

/** Fetches the payload of a run, and returns the unpacked text. */
export async function payloadOf(run: string): Promise<string> {
  const { gzip } = await client.call('run.payload', { run })
  const bytes = Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0))
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return await new Response(unpacked).text()
}
