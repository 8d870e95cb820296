// Parses and formats durations as people type them: `90s`, `30m`, `2h`, `1d`. The text about an invalid one is the command's.

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the duration in milliseconds; undefined if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** Returns the duration as text, in the largest unit that gives a whole number. */
export function durationAsTyped(ms: number): string {
  const [unit, length] = Object.entries(unitMs).findLast(([, each]) => ms % each === 0) ?? ['s', unitMs.s]
  return `${Math.round(ms / length)}${unit}`
}
