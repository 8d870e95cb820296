// Texts for people and models about a machine that cannot be reached, about the agents on it, and about agents that get no messages at the moment.

const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000]

/** Formats a duration such as `3 min`, rounded down. */
function spanText(ms: number): string {
  const [unitMs, unit] =
    ms < 2 * minuteMs
      ? [secondMs, 's']
      : ms < 2 * hourMs
        ? [minuteMs, 'min']
        : ms < 2 * dayMs
          ? [hourMs, 'h']
          : [dayMs, 'd']
  return `${Math.max(0, Math.floor(ms / unitMs))} ${unit}`
}

/**
 * Returns a text such as `last heard of 3 min ago`. `since` is the time of the last sign of life from the machine; undefined if there was none since this
 * daemon started.
 */
export function lastHeardText(since: number | string | undefined, now = Date.now()): string {
  if (since === undefined) return 'not heard of since the daemon here started'
  return `last heard of ${spanText(now - new Date(since).getTime())} ago`
}

/** Returns one sentence for each recipient that is connected but gets no messages at the moment. */
export function notReachedText(notReached: readonly { name: string; why: string }[]): string | undefined {
  const lines = notReached.map(
    ({ name, why }) => `${name} is not given messages now (${why}); it waits in their inbox.`,
  )
  return lines.length === 0 ? undefined : lines.join(' ')
}

/** Returns one sentence for each recipient on a machine that cannot be reached. The message is stored and waits. */
export function unreachableText(
  unreachable: readonly { name: string; machine: string; since?: string }[],
): string | undefined {
  if (unreachable.length === 0) return undefined
  return unreachable
    .map(
      ({ name, machine, since }) =>
        `${name} is on ${machine}, which cannot be reached (${lastHeardText(since)}); it waits in their inbox.`,
    )
    .join(' ')
}
