// The refusals about needs, the things that wait for a person.

import type { RefusalDetails } from './fixes.ts'
import { absentKind, clashKind } from './kinds.ts'

export const needRefusals = {
  'need.unknown': {
    ...absentKind,
    text: (d: RefusalDetails) => `There is no need "${d.key}": nothing of that name waits for you.`,
  },
  'need.open': {
    ...clashKind,
    text: (d: RefusalDetails) => `"${d.key}" cannot be dismissed: an agent is blocked until somebody answers it.`,
  },
}
