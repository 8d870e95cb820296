// How much of a long message an agent's tools show, and the remark about that to the sender.

import { isWithinBytes } from '../protocol/limits.ts'

export const shownBodyBytesMax = 24 * 1024

/** The remark to the sender of a long message; undefined if the whole message is shown. */
export function longBodyText(body: string): string | undefined {
  if (isWithinBytes(body, shownBodyBytesMax)) return undefined
  return `It is long: an agent is shown its first ${shownBodyBytesMax / 1024} KiB. Write the rest to a file and name the file.`
}
