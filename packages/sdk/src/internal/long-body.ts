// What a sender is told of a message that is longer than an agent is shown.

import { limits } from '../protocol/limits.ts'

/** Undefined where all of it is shown. */
export function longBodyText(body: string): string | undefined {
  const { shownBodyBytesMax } = limits
  if (new TextEncoder().encode(body).length <= shownBodyBytesMax) return undefined
  return `It is long: an agent is shown about its first ${shownBodyBytesMax / 1024} KiB. Write the rest to a file and name the file.`
}
