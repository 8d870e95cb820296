// The refusals about needs, the things that wait for a person.

import type { RefusalDetails } from './fixes.ts'
import { conflictKind, notFoundKind } from './kinds.ts'

export const needRefusals = {
  'need.unknown': {
    ...notFoundKind,
    text: (d: RefusalDetails) => `There is no need "${d.key}": nothing of that name waits for you.`,
  },
  'need.open': {
    ...conflictKind,
    text: (d: RefusalDetails) => `"${d.key}" cannot be dismissed: an agent is blocked until somebody answers it.`,
  },
}
