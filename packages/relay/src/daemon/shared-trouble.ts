// Collects what is wrong with an open shared workspace. The texts for it are in core/shared-trouble.ts.

import type { Workspace } from '../broker/workspace.ts'
import type { SharedTrouble } from '../core/shared-trouble.ts'

export function sharedTroubleOf({ store: { journal, view }, engine, outbox }: Workspace): Omit<SharedTrouble, 'name'> {
  const voids = journal.voidEntries()
  const isUnjudged = journal.lastMark !== undefined && view.format() === 1
  const queued = outbox.count
  return {
    ...engine.trouble,
    ...(queued > 0 ? { queued } : {}),
    ...(voids.length > 0 ? { voids } : {}),
    ...(isUnjudged ? { isUnjudged } : {}),
  }
}
