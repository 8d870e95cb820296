// The refusals about frames that cannot be carried. A link makes these two refusals by itself, so they are separate from all others: a page that uses the SDK
// would otherwise load all texts for these two sentences.

import type { RefusalDetails } from './fixes.ts'
import { usageKind } from './kinds.ts'

export const frameRefusals = {
  'frame.invalid': { ...usageKind, text: (d: RefusalDetails) => `Not a valid frame: ${d.why}` },
  'frame.too-large': {
    ...usageKind,
    http: 413,
    text: (d: RefusalDetails) => `A line or body is at most ${d.bytesMax} bytes.`,
  },
}

/** Makes a refusal as `refusal` does. The texts here are complete, without a separate fix for each reader. */
export function frameRefusal(code: keyof typeof frameRefusals, details: RefusalDetails) {
  const { text, retry } = frameRefusals[code]
  return { code, message: text(details), retry, details }
}
