// The names nearest to a mistyped one, for refusals that say the mend.

const suggestionsMax = 3

export function nearest(wanted: string, names: Iterable<string>): string[] {
  const limit = Math.max(1, Math.floor(wanted.length / 3))
  const near: Array<{ name: string; distance: number }> = []
  for (const name of names) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase(), limit)
    if (distance <= limit) near.push({ name, distance })
  }
  near.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return near.slice(0, suggestionsMax).map((each) => each.name)
}

/** Levenshtein with swapped neighbours counted once; gives up above `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let best = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] as number) + 1)
      row.push(best)
    }
    before = last
    last = row
  }
  return last[b.length] as number
}
