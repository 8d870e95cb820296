// How many bytes of a long message an agent's tools show, and what the sender is told about that.

import { isWithinBytes } from '../protocol/limits.ts'

export const shownBodyBytesMax = 24 * 1024

/** What the sender of a long message is told; undefined if agents are shown the whole message. */
export function longBodyText(body: string): string | undefined {
  if (isWithinBytes(body, shownBodyBytesMax)) return undefined
  return `It is long: an agent is shown its first ${shownBodyBytesMax / 1024} KiB. Write the rest to a file and name the file.`
}
