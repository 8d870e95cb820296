// The refusals about frames (lines of the wire protocol) that cannot be sent or read. They are separate from the other refusals because the SDK makes these two
// by itself: a web page would otherwise load all texts for two sentences.

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

/** Makes a refusal like `refusal` in ../refusals.ts. The texts here are complete: they contain no fix that depends on the reader. */
export function frameRefusal(code: keyof typeof frameRefusals, details: RefusalDetails) {
  const { text, retry } = frameRefusals[code]
  return { code, message: text(details), retry, details }
}
