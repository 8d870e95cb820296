// Needs (things that wait for the person) that were snoozed in this browser: each is shown again when its time is over.

import { Cell } from './cell.ts'
import { keepHere, keptAs } from './own-place.ts'

const place = keptAs('put-off')
const putOffMax = 500
export const snoozeMs = 3_600_000

/** When each snooze ends, by the need's key, in ms since 1970. */
export const putOff = new Cell<ReadonlyMap<string, number>>(read())

export function putOffUntil(key: string, until: number): void {
  const kept = [...putOff.value].filter(([each, end]) => each !== key && end > Date.now()).slice(-putOffMax)
  putOff.set(new Map([...kept, [key, until]]))
  keepHere(place, JSON.stringify([...putOff.value]))
}

export const isPutOff = (key: string): boolean => (putOff.value.get(key) ?? 0) > Date.now()

function read(): ReadonlyMap<string, number> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place) ?? '[]')
    if (!Array.isArray(kept)) return new Map()
    return new Map(kept.map(([key, until]) => [String(key), Number(until)]))
  } catch {
    return new Map()
  }
}
