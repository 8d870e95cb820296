// The refusals about needs, the things that wait for a person.

import type { RefusalDetails } from './fixes.ts'
import { conflictKind, notFoundKind } from './kinds.ts'

export const needRefusals = {
  'need.unknown': { ...notFoundKind, text: (d: RefusalDetails) => `Nothing that is called "${d.key}" needs you.` },
  'need.open': {
    ...conflictKind,
    text: (d: RefusalDetails) => `"${d.key}" cannot be dismissed: an agent is blocked until somebody answers it.`,
  },
}
