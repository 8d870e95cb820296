// The path of Chromium, as the setup found it.

import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where Chromium is, or why it is not there. */
    chromium: { path?: string; why?: string }
  }
}

export const found = inject('chromium')
export const inChromium = `in Chromium${found.why === undefined ? '' : ` (${found.why})`}`
