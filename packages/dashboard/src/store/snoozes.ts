// Needs (things that wait for the person) that were snoozed in this browser, by workspace: each is shown again when its time is over.

import { Cell } from './cell.ts'
import { readStoredPairs, storageKey, writeStored } from './workspace-storage.ts'

const snoozesMax = 500
export const snoozeMs = 3_600_000

/** When each snooze ends, by the need's key, in ms since 1970. */
type Snoozes = ReadonlyMap<string, number>

const known = new Map<string, Cell<Snoozes>>()

export function snoozesIn(workspace: string): Cell<Snoozes> {
  const cell =
    known.get(workspace) ??
    new Cell<Snoozes>(new Map(readStoredPairs(placeOf(workspace)).map(([key, until]) => [key, Number(until)])))
  known.set(workspace, cell)
  return cell
}

export function snoozeUntil(workspace: string, key: string, until: number): void {
  const snoozes = snoozesIn(workspace)
  const kept = [...snoozes.value].filter(([each, end]) => each !== key && end > Date.now()).slice(-snoozesMax)
  snoozes.set(new Map([...kept, [key, until]]))
  writeStored(placeOf(workspace), JSON.stringify([...snoozes.value]))
}

const placeOf = (workspace: string): string => storageKey('put-off', workspace)
