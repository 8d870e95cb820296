// What a person should know of a workspace that several machines share, in words: entries of machines that count for nothing, and a format in which
// no entry is judged.

import type { VoidEntry } from './journal.ts'

export interface SharedTrouble {
  name: string
  voids?: VoidEntry[]
  isUnjudged?: boolean
}

export function troubleTexts({ name, voids = [], isUnjudged }: SharedTrouble): string[] {
  const told = voids.map(({ seq, machine, why }) => {
    return `In ${name}, entry ${seq} of the machine ${machine} counts for nothing: ${why}.`
  })
  if (!isUnjudged) return told
  return [`In ${name}, machines are believed without being judged: it was shared by an older version.`, ...told]
}
