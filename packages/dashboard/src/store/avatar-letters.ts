// The letters in an agent's avatar: its initials, or, for agents whose initials are the same, letters from the part in which their names differ.

/** Returns the letters of each name. */
export function avatarLettersOf(names: readonly string[]): Map<string, string> {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    // Numbered names are alike, whatever their numbers begin with.
    const key = initialsOf(name.replace(/\d/g, ''))
    groups.set(key, [...(groups.get(key) ?? []), name])
  }
  const faces = [...groups.values()].flatMap((alike) =>
    alike.length === 1 ? alike.map((name) => [name, initialsOf(name)] as const) : differing(alike),
  )
  return new Map(faces)
}

/** The first letters of a name's first two words, or the first two letters of its only word. */
export function initialsOf(name: string): string {
  const [first = '?', second] = name.split(/[^A-Za-z0-9]+/).filter(Boolean)
  return (second ? `${first[0]}${second[0]}` : first.slice(0, 2)).toUpperCase()
}

/** Ways to make an avatar's letters, the most readable first. `rest` is the part of the name after the beginning that all names share. */
const ways: ((name: string, rest: string) => string)[] = [
  (name, rest) => `${name[0]}${rest[0] ?? ''}`,
  (_, rest) => rest.slice(0, 2),
  (_, rest) => rest.slice(-2),
  (_, rest) => rest.slice(0, 3),
  (_, rest) => rest.slice(-3),
]

/** Chooses the first way in which the letters of all names differ, or else the way in which most of them do. */
function differing(names: readonly string[]): (readonly [name: string, letters: string])[] {
  const shared = sharedLength(names)
  const choices = ways.map((way) => names.map((name) => way(name, lettersIn(name.slice(shared))).toUpperCase()))
  const counts = choices.map((letters) => new Set(letters).size)
  const best = choices[counts.indexOf(Math.max(...counts))] ?? []
  return names.map((name, i) => [name, best[i] || initialsOf(name)] as const)
}

const lettersIn = (text: string): string => text.replace(/[^A-Za-z0-9]/g, '')

/** The length of the beginning that all names share. */
function sharedLength([first = '', ...others]: readonly string[]): number {
  let length = 0
  while (length < first.length && others.every((other) => other[length] === first[length])) length++
  return length
}
