// How a test judges time on a busy machine: what else runs there spoils a round, and what we do wrong spoils all of them. No tests.

const roundsMax = 3

/** The shortest time that the work took, in milliseconds. It is done again only where it took too long. */
export async function bestMs(tooLongMs: number, work: (round: number) => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < roundsMax && best >= tooLongMs; round++) {
    const from = performance.now()
    await work(round)
    best = Math.min(best, performance.now() - from)
  }
  return best
}
