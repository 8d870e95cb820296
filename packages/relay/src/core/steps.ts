// A read in steps: it yields wherever it may be interrupted, with no statement open, so that its caller can let others go first.

export type Steps<T> = Generator<undefined, T, void>

/** Takes all steps at once, where nobody has to wait. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
