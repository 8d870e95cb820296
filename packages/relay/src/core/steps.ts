// A read in steps: it yields wherever it may be interrupted, with no SQL statement open, so that its caller can let other work go first.

export type Steps<T> = Generator<undefined, T, void>

/** Runs all steps of a read without a pause, for callers where no other work has to wait. */
export function runAllSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
