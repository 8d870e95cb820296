// Moves a workspace from this machine into a cluster, and back. Entries keep their numbers. One commit in the cluster's database decides: a move that was
// interrupted before it has not happened, one that was interrupted after it is finished at the next start.

import { randomBytes } from 'node:crypto'
import { daemonName, type Fact, type Ids } from '@agent-relay/sdk/protocol'
import { EntryHub } from '../broker/hub.ts'
import { copyMark, type EntryDraft, type JournalEntry } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { newestSharedFormat, sharingBeginFacts } from '../core/workspaces.ts'
import type { SharedWorkspaceFile } from '../machine/cluster-file.ts'
import type { Store } from '../store/store.ts'
import { type JournalPosition, pageEntriesMax } from './cluster-journal.ts'
import { changedKeysOf } from './keys.ts'
import { beginMoveIn, copyPage, type EntryPage, finishMoveIn, takeBack } from './postgres/moving.ts'
import type { PostgresCluster } from './postgres/postgres-cluster.ts'
import { Replica } from './replica.ts'
import { stopRefusal } from './stops.ts'

/** Maximum number of entries, and of characters, that are copied in one statement: a thousand bodies of 256 KiB would be too much. */
const [pageDraftsMax, pageCharsMax] = [1_000, 4 * 1024 * 1024]
/** Maximum number of agents in one entry that gives agents a home. */
const homesMax = 500

export interface WorkspaceMove {
  name: string
  id: string
  /** The workspace's store. Nothing else has its database open. */
  store: Store
  file: SharedWorkspaceFile
  machine: string
  cluster: PostgresCluster
  ids: Ids
  now(): number
}

/** Copies the workspace into the cluster. Returns how many entries were copied. */
export async function share(moving: WorkspaceMove): Promise<number> {
  const { name, id, store, file, machine, cluster } = moving
  if (store.view.format() > newestSharedFormat) throw new RefusalError('cluster.newer', { workspace: name })
  const stem = randomBytes(8).toString('hex')
  const begun = await beginMoveIn(cluster, id, name)
  if (begun === 'taken') throw new RefusalError('cluster.name-taken', { workspace: name })
  if (begun === 'there') throw new RefusalError('workspace.shared', { workspace: name })
  if (begun !== 'ok') throw new RefusalError(`machine.${begun}`, { workspace: name })
  // From this line on, a crash leaves a half-made move, and the next start asks the cluster whether the workspace is shared.
  file.write({ id, phase: 'moving', stem })
  const last = store.journal.lastSeq
  let seq = 0
  try {
    for (const page of pagesOf(moving)) {
      const isCopied = await copyPage(cluster, id, { seq, stem }, page)
      if (!isCopied) throw new RefusalError('cluster.name-taken', { workspace: name })
      seq += page.drafts.length
    }
  } catch (error) {
    // Undoes the move on this machine: the commit that would have decided it did not happen.
    file.remove()
    throw error
  }
  if (!(await finishMoveIn(cluster, id, seq))) throw new RefusalError('cluster.name-taken', { workspace: name })
  store.markAsShared(machine, `${copyMark}${stem}.`, last)
  file.write({ id })
  return last
}

function* pagesOf({ store, machine, ids, now }: WorkspaceMove): Generator<EntryPage> {
  let page: EntryDraft[] = []
  let chars = 0
  for (let since = 0; ; ) {
    const entries = store.journal.entriesAfter(since, pageDraftsMax)
    for (const entry of entries) {
      const draft = whole(store, entry)
      page.push(draft)
      chars += (draft.body?.length ?? 0) + (draft.payload?.length ?? 0) + 1_000
      if (page.length < pageDraftsMax && chars < pageCharsMax) continue
      yield pageWith(page)
      ;[page, chars] = [[], 0]
    }
    if (entries.length < pageDraftsMax) break
    since = entries.at(-1)?.seq as number
  }
  if (page.length > 0) yield pageWith(page)
  const stamp = () => ({ at: now(), cause: ids('d') })
  yield* homesFor(store, machine, stamp)
  // Revokes the removal of machines that the workspace has recorded in another cluster or before it was restored from a backup. In this cluster, only its
  // administrator removes machines.
  const admitted = store.view.revokedMachines().map((other): Fact => ({ type: 'machine.admitted', machine: other }))
  const facts = [...sharingBeginFacts(machine), ...admitted]
  yield pageWith([{ ...stamp(), by: daemonName, rule: 'workspace.share', outcome: {}, facts }])
}

function whole(store: Store, { seq, ...draft }: JournalEntry): EntryDraft {
  const isPaid = draft.facts.some((fact) => fact.type === 'run.completed' && fact.payloadBytes !== undefined)
  const payload = isPaid ? store.journal.payload(seq) : undefined
  return payload ? { ...draft, payload } : draft
}

function pageWith(drafts: readonly EntryDraft[]): EntryPage {
  const all = drafts.map(({ facts }) => changedKeysOf(facts))
  return { drafts, writes: [...new Set(all.flatMap((writes) => (writes === 'note' ? [] : writes)))] }
}

/** Makes this machine the home of every agent of the workspace. */
function* homesFor(store: Store, machine: string, stamp: () => Pick<EntryDraft, 'at' | 'cause'>): Generator<EntryPage> {
  const names = store.view.agentNames()
  for (let from = 0; from < names.length; from += homesMax) {
    const facts = names.slice(from, from + homesMax).map((agent): Fact => {
      return { type: 'agent.homed', agent, machine, epoch: (store.view.home(agent)?.epoch ?? 0) + 1 }
    })
    yield pageWith([{ ...stamp(), by: daemonName, rule: 'agent.home', outcome: {}, facts }])
  }
}

/**
 * Takes the workspace out of the cluster, so that it lives on this machine alone. The other machines keep copies that can only be read. Returns the number
 * of the last entry.
 */
export async function unshare(moving: WorkspaceMove): Promise<number> {
  const { name, id, store, file, cluster } = moving
  file.write({ id, phase: 'leaving' })
  for (;;) {
    const known = await catchUp(moving)
    const taken = await takeBack(cluster, id, known)
    if (taken === 'ok') break
    if (taken === 'behind') continue
    file.write({ id })
    const details = { workspace: name, known: known.seq }
    if (taken === 'owner') throw new RefusalError('cluster.owned', { workspace: name, owner: store.view.owner() })
    throw new RefusalError(
      taken === 'removed' || taken === 'diverged' ? `cluster.${taken}` : `machine.${taken}`,
      details,
    )
  }
  store.endSharing()
  file.remove()
  return store.journal.lastSeq
}

/** Fetches and applies all entries that the cluster has, with their payloads. Calls `onTaken` with the number of the last applied entry. */
export async function catchUp(
  { name, id, store, file, cluster }: WorkspaceMove,
  onTaken: (seq: number) => void = () => {},
): Promise<JournalPosition> {
  const [replica, journal] = [new Replica(store, new EntryHub(() => {})), cluster.journal(id)]
  for (let isMore = true; isMore; ) {
    const followed = await journal.follow(replica.position, pageEntriesMax)
    if (followed.kind === 'entries') replica.apply(followed.entries)
    onTaken(replica.position.seq)
    const stopped = replica.halted ?? (followed.kind === 'entries' ? undefined : followed)
    if (stopped) {
      file.write({ id })
      throw new RefusalError(stopRefusal(stopped, { workspace: name, known: replica.position.seq }))
    }
    isMore = followed.kind === 'entries' && followed.isMore === true
  }
  for (const seq of store.view.runs.unfetchedPayloads()) {
    const payload = await journal.payload(seq)
    if (payload) store.keepPayload(seq, payload)
  }
  return replica.position
}

/** Finishes or undoes a move that a crash has interrupted. Returns whether the workspace is shared. */
export async function finishMove(
  { id, store, file, machine, cluster }: Omit<WorkspaceMove, 'ids' | 'now' | 'name'>,
  { phase, stem = '' }: { phase?: string; stem?: string },
): Promise<boolean> {
  const found = (await cluster.workspaces()).find((each) => each.id === id)
  const isShared = found !== undefined && found.format > 0
  if (phase === 'moving' && isShared) store.markAsShared(machine, `${copyMark}${stem}.`, store.journal.lastSeq)
  if (phase === 'leaving' && !isShared) store.endSharing()
  if (isShared) file.write({ id })
  else file.remove()
  return isShared
}
