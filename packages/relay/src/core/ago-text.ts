// Formats elapsed time for briefs and refusals. Callers pass both times: nothing here reads a clock.

/** Returns `3 s ago`, `2 min ago`, `5 h ago` or `3 days ago`. A time in the future, stamped before the clock was set back, gives `0 s ago`. */
export function agoText(now: number, then: number): string {
  const seconds = Math.max(0, Math.floor((now - then) / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h ago` : `${Math.floor(seconds / 86_400)} days ago`
}
