// Search by halving among numbers that grow together with something else.

/** Returns the last number above `low` and up to `high` that `fits`, as all numbers before it do; `low` if none does. */
export function lastNumberThatFits(low: number, high: number, fits: (n: number) => boolean): number {
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}
