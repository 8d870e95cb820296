// The refusals of frames that cannot be carried. A link makes them by itself, so they come without the texts of all others: a page that uses the SDK would
// otherwise load those for two sentences.

import type { RefusalDetails } from './fixes.ts'
import { usage } from './kinds.ts'

export const frameRefusals = {
  'frame.invalid': { ...usage, text: (d: RefusalDetails) => `Not a valid frame: ${d.why}` },
  'frame.too-large': {
    ...usage,
    http: 413,
    text: (d: RefusalDetails) => `A line or body is at most ${d.bytesMax} bytes.`,
  },
}

/** Makes the same as `refusal` does: these texts are whole, without a fix for each reader. */
export function frameRefusal(code: keyof typeof frameRefusals, details: RefusalDetails) {
  const { text, retry } = frameRefusals[code]
  return { code, message: text(details), retry, details }
}
