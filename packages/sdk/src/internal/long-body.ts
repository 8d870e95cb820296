// How much of a message an agent is shown by its tools, and what the sender of a longer one is told.

import { isWithinBytes } from '../protocol/limits.ts'

export const shownBodyBytesMax = 24 * 1024

/** Undefined where all of it is shown. */
export function longBodyText(body: string): string | undefined {
  if (isWithinBytes(body, shownBodyBytesMax)) return undefined
  return `It is long: an agent is shown its first ${shownBodyBytesMax / 1024} KiB. Write the rest to a file and name the file.`
}
