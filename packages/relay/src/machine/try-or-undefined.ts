// Work that may fail without harm.

/** Returns what `work` returns; undefined if it throws. */
export function tryOrUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
