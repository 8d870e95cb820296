// The runs, newest first, requested again when their events come and while one is running; and the payload of a run.

import type { OutputOf } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'
import { go } from './page-address.ts'

/** A run with the first line of its contract as its title. */
export type TitledRun = OutputOf<'run.list'>['runs'][number]

export const runs = new Cell<readonly TitledRun[] | undefined>(undefined)

const runsMax = 200
/** A running run's output is polled, since no event tells of it. */
const outputLookMs = 1_000

/** Follows the runs while the view is open. */
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
    // The spend of a run's last answer may be reported after the run's end.
    if (events.some(({ type }) => type.startsWith('run.') || type === 'spend.noted')) ask()
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}

/** Starts an ended run's contract again, with the same harness and place, and opens the new run. `again`: the run's id or its agent's name. */
export async function retryRun(again: string): Promise<void> {
  const { id } = await client.call('run.start', { again })
  go('runs', [id])
}

/** The payload of a run, unpacked, as text. */
export async function payloadOf(run: string): Promise<string> {
  const { gzip } = await client.call('run.payload', { run })
  const bytes = Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0))
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return await new Response(unpacked).text()
}
