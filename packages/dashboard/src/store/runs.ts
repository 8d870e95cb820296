// The runs, newest first, asked for again as their facts come and while one is under way; and what one handed over.

import type { Run } from '@agent-relay/sdk/browser'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'

export const runs = new Cell<readonly Run[] | undefined>(undefined)

const listMax = 200
/** A running run's output is no fact: it is looked at. */
const lookMs = 1_000

/** Follows while somebody looks. */
export function followRuns(): () => void {
  const ask = (): void => {
    if (connection.value.phase !== 'up') return
    client.call('run.list', { limit: listMax }).then(
      (answer) => runs.set(answer.runs),
      () => {},
    )
  }
  ask()
  const timer = setInterval(() => {
    if (!document.hidden && runs.value?.some(({ status }) => status === 'running')) ask()
  }, lookMs)
  const stop = onEvents((events) => {
    if (events.some(({ type }) => type.startsWith('run.'))) ask()
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}

/** Unpacked, as text. */
export async function payloadOf(run: string): Promise<string> {
  const { gzip } = await client.call('run.payload', { run })
  const bytes = Uint8Array.from(atob(gzip), (char) => char.charCodeAt(0))
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return await new Response(unpacked).text()
}
