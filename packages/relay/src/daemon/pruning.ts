// `workspace prune` in a daemon that goes on serving: old, finished events are archived unless the wish says otherwise, and then taken out of the
// database, slice by slice. After an interruption each event is in the database or in the archive: the workspace remembers how much of the archive file
// counts, so events archived last and not taken out do not.

import type { OutputOf, ParsedInputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { ReadTimeBudget } from '../broker/long-reads.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Steps } from '../core/steps.ts'
import type { FinishedParts } from '../store/finished.ts'
import type { PruneRecord, PruningSlice } from '../store/pruning.ts'
import { ArchiveFile } from './archive.ts'
import { workspaceFileBytes } from './file-bytes.ts'

export type PruneRequest = Omit<ParsedInputOf<'workspace.prune'>, 'workspace'>

/** `folder`: the workspace's own folder. */
type FolderPruneRequest = PruneRequest & { folder: string }

export type PruneResult = Pick<OutputOf<'workspace.prune'>, 'through' | 'events' | 'messages' | 'archive' | 'held'>

/** The daemon, as far as pruning needs it. */
interface DaemonForPruning {
  workspaces: { pin(name: string): () => void }
  open(name: string): Promise<{ entry: WorkspaceEntry; workspace: Workspace }>
}

export class WorkspacePruner {
  readonly #daemon: DaemonForPruning
  readonly #underWay = new Set<string>()

  constructor(daemon: DaemonForPruning) {
    this.#daemon = daemon
  }

  /** Prunes a workspace. A second prune at the same time is refused, since it would find the same events. */
  async prune(name: string, wish: PruneRequest): Promise<OutputOf<'workspace.prune'>> {
    const { workspaces } = this.#daemon
    if (this.#underWay.has(name)) throw new RefusalError('workspace.pruning', { workspace: name })
    const release = workspaces.pin(name)
    this.#underWay.add(name)
    try {
      const { entry, workspace } = await this.#daemon.open(name)
      const { path } = entry
      const before = workspaceFileBytes(path)
      const found = await pruneWorkspace(workspace, { ...wish, folder: path })
      return { workspace: name, path, ...found, before, after: workspaceFileBytes(path) }
    } finally {
      this.#underWay.delete(name)
      release()
    }
  }
}

/** Maximum number of held conversations that are reported, those with the most messages first. */
const heldReportedMax = 20

async function pruneWorkspace(workspace: Workspace, wish: FolderPruneRequest): Promise<PruneResult> {
  const { store, clock, waits, engine, name } = workspace
  if (!engine.commitMaintenance) throw new RefusalError('workspace.prune-shared', { workspace: name })
  const now = clock.now()
  const horizon = { at: now - wish.olderMs, now, awaited: waits.allAwaitedMessageIds() }
  const finished = await runInSteps(workspace, store.finished.find(horizon, store.journal.lastSeq))
  const work = new PruneWork(workspace, finished, now, wish)
  await work.run()
  const held = finished.held.sort((a, b) => b.messages - a.messages).slice(0, heldReportedMax)
  return { ...work.done, held }
}

class PruneWork {
  readonly #workspace: Workspace
  readonly #finished: FinishedParts
  readonly #wish: FolderPruneRequest
  readonly #prune: PruneRecord
  #archive: ArchiveFile | undefined

  constructor(workspace: Workspace, finished: FinishedParts, at: number, wish: FolderPruneRequest) {
    this.#workspace = workspace
    this.#finished = finished
    this.#wish = wish
    const { horizon, throughSeq } = finished
    const id = (workspace.store.pruning.pruneRecords().at(-1)?.id ?? 0) + 1
    this.#prune = { id, at, horizon, through: throughSeq, bytes: 0, messages: 0, events: 0 }
  }

  get done(): Omit<PruneResult, 'held'> {
    const { through, messages, events, file, bytes } = this.#prune
    return { through, messages, events, ...(file === undefined ? {} : { archive: { file, bytes } }) }
  }

  async run(): Promise<void> {
    const { store, search } = this.#workspace
    try {
      for (let after = 0; after < this.#finished.throughSeq; ) {
        const slice = await runInSteps(this.#workspace, store.pruning.nextSlice(after, this.#finished))
        if (slice.prunedFacts.length > 0) await this.#takeOut(slice)
        after = slice.throughSeq
      }
      if (this.#prune.events === 0 || this.#wish.dryRun) return
      await this.#forgetConcerns()
      await search.forgetPruned(this.#finished.throughSeq)
    } finally {
      await this.#archive?.close()
    }
  }

  async #takeOut(slice: PruningSlice): Promise<void> {
    const prune = this.#prune
    const { store } = this.#workspace
    const messages = slice.prunedFacts.filter(({ message }) => message !== undefined).length
    const counted = { messages: prune.messages + messages, events: prune.events + slice.prunedFacts.length }
    if (this.#wish.dryRun) return void Object.assign(prune, counted)
    const next = { ...prune, ...counted }
    if (!this.#wish.delete) {
      this.#archive ??= await ArchiveFile.create(this.#wish.folder, prune.at)
      Object.assign(next, { file: this.#archive.name, bytes: await this.#archive.append(slice.prunedFacts) })
    }
    await this.#commit(() => store.pruning.deleteSlice(slice, next))
    store.queries.isRecounting = true
    Object.assign(prune, next)
  }

  async #forgetConcerns(): Promise<void> {
    const { pruning } = this.#workspace.store
    for (let at: [number, number] | undefined = [Number.MIN_SAFE_INTEGER, 0]; at; ) {
      const from: [number, number] = at
      at = await this.#commit(() => pruning.forgetConcerns(from))
    }
  }

  /** Runs a commit, then pauses for as long as the commit took, so that other work gets its turn. */
  async #commit<T>(work: () => T extends Promise<unknown> ? never : T): Promise<T> {
    const { engine, store, name } = this.#workspace
    if (!store.database.isOpen) throw new RefusalError('workspace.closed', { workspace: name })
    const from = performance.now()
    const result = (engine.commitMaintenance as NonNullable<typeof engine.commitMaintenance>)(work)
    await new Promise((resolve) => setTimeout(resolve, performance.now() - from))
    return result
  }
}

/** Runs the steps among the workspace's other reads, however long they take. */
function runInSteps<T>({ reads, store, name }: Workspace, steps: Steps<T>): Promise<T> {
  if (!store.database.isOpen) throw new RefusalError('workspace.closed', { workspace: name })
  return reads.run(steps, new ReadTimeBudget(Number.POSITIVE_INFINITY), new AbortController().signal)
}
