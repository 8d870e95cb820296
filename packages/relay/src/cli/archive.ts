// Reads the files of a workspace's archive (events that `workspace prune` has deleted) for `events --archive` and `search --archive`.

import { dataDir, type Env, projectDir } from '@agent-relay/sdk/internal/discover'
import type { ArchivedEvent } from '../daemon/archive.ts'

export interface ArchiveQuery {
  limit: number
  /** If more events are found than the limit: true keeps the oldest, false the newest. */
  keepsOldest: boolean
  isWanted(event: ArchivedEvent): boolean
}

/**
 * Returns the wanted events in the order of their numbers, and in `more` the number of those above the limit. An interrupted pruning may have archived an event
 * twice: it is returned once.
 */
export async function readArchive(
  env: Env,
  workspace: string,
  { limit, keepsOldest, isWanted }: ArchiveQuery,
): Promise<{ events: ArchivedEvent[]; more: number }> {
  // Imported here, since loading this file would slow down the completion script.
  const { archivedEvents } = await import('../daemon/archive.ts')
  let kept = new Map<string, ArchivedEvent>()
  let found = 0
  for await (const event of archivedEvents(projectDir(dataDir(env), workspace))) {
    if (!isWanted(event)) continue
    const key = JSON.stringify([event.seq, event.type, event.fact])
    if (!kept.has(key)) found++
    kept.set(key, event)
    if (kept.size > 2 * limit + 1_000) kept = keepBest(kept, limit, keepsOldest)
  }
  const events = [...keepBest(kept, limit, keepsOldest).values()]
  return { events, more: found - events.length }
}

function keepBest(kept: Map<string, ArchivedEvent>, limit: number, isUpward: boolean): Map<string, ArchivedEvent> {
  const sorted = [...kept].sort(([, a], [, b]) => a.seq - b.seq)
  return new Map(isUpward ? sorted.slice(0, limit) : sorted.slice(-limit))
}
