// The refusals about needs, the things that wait for a person.

import type { RefusalDetails } from './fixes.ts'
import { absent, clash } from './kinds.ts'

export const needRefusals = {
  'need.unknown': { ...absent, text: (d: RefusalDetails) => `Nothing that is called "${d.key}" needs you.` },
  'need.open': {
    ...clash,
    text: (d: RefusalDetails) => `"${d.key}" cannot be dismissed: an agent is blocked until somebody answers it.`,
  },
}
