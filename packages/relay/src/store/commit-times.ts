// Durations of commits as a histogram, for `/metrics`. The clock is read twice per commit, not per command: commands share commits.

export class CommitTimes {
  /** Upper bounds of the buckets in seconds. */
  readonly bounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1] as const
  /** Number of commits in each bucket. The last bucket has no upper bound. */
  readonly counts = new Array<number>(this.bounds.length + 1).fill(0)
  sumSeconds = 0

  addCommit(ms: number): void {
    const seconds = ms / 1_000
    let at = 0
    while (at < this.bounds.length && seconds > (this.bounds[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
    this.sumSeconds += seconds
  }
}
