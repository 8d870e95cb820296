// Finds the names nearest to a mistyped one, for refusals that say the fix. Ten thousand names take a few milliseconds.

const suggestionsMax = 3
/** The most edits between a mistyped name and a suggestion: with more, another name was meant. */
const editsMax = 4

export function nearestNames(wanted: string, names: Iterable<string>): string[] {
  const sought = wanted.toLowerCase()
  // Once three suggestions are found, a name that is further away than the last of the three does not matter.
  let limit = Math.min(editsMax, Math.max(1, Math.floor(wanted.length / 3)))
  const near: { name: string; distance: number }[] = []
  const letters = new Int16Array(letterKinds)
  for (let i = 0; i < sought.length; i++) (letters[sought.charCodeAt(i) % letterKinds] as number)++
  const soughtKinds = kindsOf(sought)
  const { list, lower, lengths, kinds } = preparedFor(names)
  for (let i = 0; i < list.length; i++) {
    if (Math.abs((lengths[i] as number) - sought.length) > limit) continue
    if (bitsIn((kinds[i] as number) & ~soughtKinds) > limit) continue
    const [name, other] = [list[i] as string, lower[i] as string]
    if (foreignLetters(letters, other, limit) > limit) continue
    const distance = editDistance(sought, other, limit)
    if (distance > limit) continue
    near.push({ name, distance })
    near.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    if (near.length > suggestionsMax) near.pop()
    if (near.length === suggestionsMax) limit = near[suggestionsMax - 1]?.distance as number
  }
  return near.map(({ name }) => name)
}

/** Names with two properties that rule most of them out before the edit distance is computed: their length, and which kinds of letters they have. */
interface PreparedNames {
  list: readonly string[]
  lower: string[]
  lengths: Uint32Array
  kinds: Uint32Array
}

/** A cache of prepared names for lists that are frozen, and so never change. */
const prepared = new WeakMap<object, PreparedNames>()

function preparedFor(names: Iterable<string>): PreparedNames {
  const known = prepared.get(names)
  if (known) return known
  const list = [...names]
  const lower = list.map((name) => name.toLowerCase())
  const fresh = {
    list,
    lower,
    lengths: Uint32Array.from(list, ({ length }) => length),
    kinds: Uint32Array.from(lower, kindsOf),
  }
  if (Object.isFrozen(names)) prepared.set(names, fresh)
  return fresh
}

/** Sorts the letters of a text into 32 kinds, and returns one bit for each kind that the text has. */
function kindsOf(text: string): number {
  let kinds = 0
  for (let i = 0; i < text.length; i++) kinds |= 1 << (text.charCodeAt(i) % 32)
  return kinds
}

/** Counts the bits that are set in a number. In the difference between two names' kinds of letters, each bit stands for at least one edit. */
function bitsIn(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Number of kinds into which letters are sorted by their character codes. If two letters share a kind, the estimated distance only gets lower. */
const letterKinds = 128

/** Counts the letters of a name that the wanted name does not have, up to one above the limit. Each takes an edit, so the distance is at least this count. */
function foreignLetters(letters: Int16Array, name: string, limit: number): number {
  let foreign = 0
  let end = 0
  while (end < name.length && foreign <= limit) {
    const kind = name.charCodeAt(end++) % letterKinds
    if ((letters[kind] as number) <= 0) foreign++
    ;(letters[kind] as number)--
  }
  while (end > 0) (letters[name.charCodeAt(--end) % letterKinds] as number)++
  return foreign
}

/** Three rows of the table of edit distances, used again for every name. */
let rows = [new Int32Array(64), new Int32Array(64), new Int32Array(64)] as [Int32Array, Int32Array, Int32Array]

/**
 * Returns the Levenshtein distance, with swapped neighbours counted once. Only the table's band within `limit` of its diagonal is computed; above the limit
 * the result is limit + 1.
 */
export function editDistance(one: string, other: string, limit: number): number {
  const above = limit + 1
  if (Math.abs(one.length - other.length) > limit) return above
  // Skips a common beginning and end, which cost no edit: names of one family, such as `agent-2` and `agent-3`, have a long common beginning.
  let [start, end] = [0, 0]
  const shorter = Math.min(one.length, other.length)
  while (start < shorter && one.charCodeAt(start) === other.charCodeAt(start)) start++
  while (end < shorter - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end))
    end++
  const [a, b] = [one.slice(start, one.length - end), other.slice(start, other.length - end)]
  if (rows[0].length <= b.length) rows = rows.map(() => new Int32Array(b.length * 2)) as typeof rows
  let [before, last, row] = rows
  for (let j = 0; j <= b.length; j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    const [from, to] = [Math.max(1, i - limit), Math.min(b.length, i + limit)]
    const letter = a.charCodeAt(i - 1)
    row[from - 1] = from === 1 ? i : above
    let least = above
    for (let j = from; j <= to; j++) {
      const other = b.charCodeAt(j - 1)
      // In the table of edit distances, the row above has no value to the right of the band.
      const up = j === i + limit ? above : (last[j] as number)
      let best = Math.min(up + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (letter === other ? 0 : 1))
      const isSwap = i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other
      if (isSwap) best = Math.min(best, (before[j - 2] as number) + 1)
      row[j] = best
      if (best < least) least = best
    }
    // A swap of letters in the next row still uses the row before this one. If both rows are above the limit, so is the distance.
    if (least > limit && i > 1 && leastOf(last, i - 1, b.length, limit) > limit) return above
    ;[before, last, row] = [last, row, before]
  }
  return Math.min(above, last[b.length] as number)
}

function leastOf(row: Int32Array, i: number, length: number, limit: number): number {
  let least = limit + 1
  for (let j = Math.max(0, i - limit); j <= Math.min(length, i + limit); j++) least = Math.min(least, row[j] as number)
  return least
}
