// The sizes on disk of a workspace's files: database, write-ahead log, search index and archive.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { databaseSizes } from '../store/contents.ts'
import { archiveFolder } from './archive.ts'

/** Returns the sizes in bytes; undefined for a workspace in memory. */
export function workspaceFileBytes(folder: string): WorkspaceEntry['bytes'] {
  const { database, log } = databaseSizes(join(folder, 'relay.db'))
  if (database === 0) return undefined
  const search = databaseSizes(join(folder, 'search.db'))
  return { database, log, search: search.database + search.log, archive: archiveBytes(join(folder, archiveFolder)) }
}

function archiveBytes(folder: string): number {
  try {
    return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  } catch {
    // There is no folder `archive`: the workspace has no archive.
    return 0
  }
}
