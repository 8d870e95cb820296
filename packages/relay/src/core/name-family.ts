// Name families: where the name `agent` is taken, `agent-2`, `agent-3`, … are offered in turn.

const nameCharsMax = 64
/** Characters at the end of a name that are kept free for its number. */
const numberCharsMin = 6
const numberMax = 2 ** 30

export function numberedName(name: string, number: number): string {
  const chars = Math.max(numberCharsMin, String(number).length + 1)
  return `${name.slice(0, nameCharsMax - chars)}-${number}`
}

/** Returns the second name of a person on a machine that is not their home: the person's name, shortened, with the machine's name. */
export function secondNameOnMachine(name: string, machine: string): string {
  return `${name.slice(0, nameCharsMax - machine.length - 1)}-${machine}`
}

/** Finds a free name of the family by doubling and halving its number: with 10,000 names taken it checks 30. Undefined if no name is free. */
export function freeNameOf(wanted: string, isTaken: (name: string) => boolean): string | undefined {
  if (!isTaken(wanted)) return wanted
  let [taken, free] = [1, 2]
  while (isTaken(numberedName(wanted, free))) {
    taken = free
    free *= 2
    if (free > numberMax) return undefined
  }
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2)
    if (isTaken(numberedName(wanted, middle))) taken = middle
    else free = middle
  }
  return numberedName(wanted, free)
}
