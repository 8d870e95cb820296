// Needs (things that wait for the person) that were snoozed in this browser, by workspace: each is shown again when its time is over.

import { Cell } from './cell.ts'
import { keepHere, keptAs, keptPairs } from './own-place.ts'

const putOffMax = 500
export const snoozeMs = 3_600_000

/** When each snooze ends, by the need's key, in ms since 1970. */
type PutOff = ReadonlyMap<string, number>

const known = new Map<string, Cell<PutOff>>()

export function putOffIn(workspace: string): Cell<PutOff> {
  const cell =
    known.get(workspace) ??
    new Cell<PutOff>(new Map(keptPairs(placeOf(workspace)).map(([key, until]) => [key, Number(until)])))
  known.set(workspace, cell)
  return cell
}

export function putOffUntil(workspace: string, key: string, until: number): void {
  const putOff = putOffIn(workspace)
  const kept = [...putOff.value].filter(([each, end]) => each !== key && end > Date.now()).slice(-putOffMax)
  putOff.set(new Map([...kept, [key, until]]))
  keepHere(placeOf(workspace), JSON.stringify([...putOff.value]))
}

const placeOf = (workspace: string): string => keptAs('put-off', workspace)
