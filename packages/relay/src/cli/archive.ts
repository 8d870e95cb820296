// Reads the files of a workspace's archive for `events --archive` and `search --archive`, and keeps the best few events.

import { dataDir, type Env, projectDir } from '@agent-relay/sdk/internal/discover'
import type { ArchivedEvent } from '../daemon/archive.ts'

export interface ArchiveQuery {
  limit: number
  /** True keeps the oldest events, false the newest. */
  keepsOldest: boolean
  isWanted(event: ArchivedEvent): boolean
}

/** The wanted events in the order of their numbers, each once: a pruning that was cut off may have archived one twice. `more` counts those left out. */
export async function readArchive(
  env: Env,
  workspace: string,
  { limit, keepsOldest, isWanted }: ArchiveQuery,
): Promise<{ events: ArchivedEvent[]; more: number }> {
  // Imported here, to keep the completion script quick.
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
