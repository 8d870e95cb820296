// The part of a long message that an agent's tools show, and the note to its sender.

import { isWithinBytes } from '../protocol/limits.ts'

export const shownBodyBytesMax = 24 * 1024

/** The note to the sender of a long message; undefined where all of it is shown. */
export function longBodyText(body: string): string | undefined {
  if (isWithinBytes(body, shownBodyBytesMax)) return undefined
  return `It is long: an agent is shown its first ${shownBodyBytesMax / 1024} KiB. Write the rest to a file and name the file.`
}
