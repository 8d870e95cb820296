// What is wrong with a workspace that several machines share, as far as it is open here. Its words: core/shared-trouble.ts.

import type { SharedTrouble } from '../core/shared-trouble.ts'
import type { Store } from '../store/store.ts'

export function troubleOf({ journal, view }: Store): Omit<SharedTrouble, 'name'> {
  const voids = journal.voids()
  const isUnjudged = journal.lastMark !== undefined && view.format() === 1
  return { ...(voids.length > 0 ? { voids } : {}), ...(isUnjudged ? { isUnjudged } : {}) }
}
