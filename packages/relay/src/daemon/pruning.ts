// Carries out `workspace prune` while the daemon serves: archives old, finished events unless the caller wants none archived, then deletes them from the
// database, slice by slice, and finally gives the files' unused space back. If this is interrupted, each event is in the database or in the archive: the
// workspace records how many bytes of the archive's file count, and later bytes were not deleted from the database.

import type { OutputOf, ParsedInputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { ReadTimeBudget } from '../broker/long-reads.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Steps } from '../core/steps.ts'
import { checkpointInThread } from '../store/checkpointing.ts'
import type { FinishedParts, HeldConversation } from '../store/finished.ts'
import type { PruneRecord, PruningSlice } from '../store/pruning.ts'
import { ArchiveFile } from './archive.ts'
import { workspaceFileBytes } from './file-bytes.ts'

export type PruneRequest = Omit<ParsedInputOf<'workspace.prune'>, 'workspace'>

/** `folder`: the folder of the workspace. */
type FolderPruneRequest = PruneRequest & { folder: string }

type PruneProgress = NonNullable<WorkspaceEntry['pruning']>

/** The parts of the daemon that pruning uses. */
interface DaemonForPruning {
  workspaces: { pin(name: string): () => void }
  open(name: string): Promise<{ entry: WorkspaceEntry; workspace: Workspace }>
}

interface PruneUnderWay {
  work?: PruneWork
  abandoned: AbortSignal
  isOver: Promise<unknown>
}

export class WorkspacePruner {
  readonly #daemon: DaemonForPruning
  readonly #underWay = new Map<string, PruneUnderWay>()
  /** The last dry run of each workspace. A dry run does not keep another pruning from starting. */
  readonly #dry = new Map<string, PruneUnderWay>()

  constructor(daemon: DaemonForPruning) {
    this.#daemon = daemon
  }

  /**
   * Prunes a workspace until `abandoned`. A second pruning at the same time is refused, since it would find the same events; if the first one was abandoned,
   * the second waits for its end.
   */
  async prune(name: string, wish: PruneRequest, abandoned: AbortSignal): Promise<OutputOf<'workspace.prune'>> {
    const underWay = wish.dryRun ? this.#dry : this.#underWay
    const former = underWay.get(name)
    if (!wish.dryRun && former) {
      if (!former.abandoned.aborted) throw new RefusalError('workspace.pruning', { workspace: name })
      await former.isOver
      return this.prune(name, wish, abandoned)
    }
    const own: PruneUnderWay = { abandoned, isOver: Promise.resolve() }
    const done = this.#prune(name, wish, own)
    own.isOver = done.catch(() => {})
    underWay.set(name, own)
    try {
      return await done
    } finally {
      if (underWay.get(name) === own) underWay.delete(name)
    }
  }

  progressOf(name: string): PruneProgress | undefined {
    return (this.#underWay.get(name) ?? this.#dry.get(name))?.work?.progress
  }

  async #prune(name: string, wish: PruneRequest, own: PruneUnderWay): Promise<OutputOf<'workspace.prune'>> {
    const release = this.#daemon.workspaces.pin(name)
    try {
      const { entry, workspace } = await this.#daemon.open(name)
      const { path } = entry
      if (!workspace.engine.commitMaintenance) throw new RefusalError('workspace.prune-shared', { workspace: name })
      const before = workspaceFileBytes(path)
      own.work = new PruneWork(workspace, { ...wish, folder: path }, own.abandoned)
      await own.work.run()
      const { freePages } = workspace.store
      const stuck = wish.dryRun || freePages.canShrink ? 0 : freePages.bytes
      const after = workspaceFileBytes(path)
      return { workspace: name, path, ...own.work.result, before, after, ...(stuck > 0 ? { stuck } : {}) }
    } finally {
      release()
    }
  }
}

/** Maximum number of conversations with kept messages that are reported, those with the most messages first. */
const heldReportedMax = 20
/** Time in ms for the work of one commit besides its sync, and the minimum and maximum number of facts that it deletes. */
const [sliceMs, factsMin, factsMax] = [4, 8, 192]

class PruneWork {
  readonly #workspace: Workspace
  readonly #wish: FolderPruneRequest
  readonly #abandoned: AbortSignal
  readonly #prune: PruneRecord
  #held: HeldConversation[] = []
  #archive: ArchiveFile | undefined
  #facts = factsMin * 4
  #isWhole = false
  progress: PruneProgress = { doing: 'looking', done: 0, of: 0, messages: 0 }

  constructor(workspace: Workspace, wish: FolderPruneRequest, abandoned: AbortSignal) {
    this.#workspace = workspace
    this.#wish = wish
    this.#abandoned = abandoned
    const id = (workspace.store.pruning.pruneRecords().at(-1)?.id ?? 0) + 1
    const at = workspace.clock.now()
    this.#prune = { id, at, horizon: at - wish.olderMs, through: 0, bytes: 0, messages: 0, events: 0 }
  }

  get result(): Omit<OutputOf<'workspace.prune'>, 'workspace' | 'path'> {
    const { through, messages, events, file, bytes } = this.#prune
    const held = this.#held.toSorted((a, b) => b.messages - a.messages).slice(0, heldReportedMax)
    const archive = file === undefined ? {} : { archive: { file, bytes } }
    return { through, messages, events, ...archive, held, ...(this.#isWhole ? {} : { ended: true }) }
  }

  async run(): Promise<void> {
    try {
      await this.#run()
      this.#isWhole = true
    } catch (error) {
      // If the caller has abandoned the pruning, the error is dropped: the caller gets the number of events that were deleted until then.
      if (!this.#abandoned.aborted) throw error
    } finally {
      await this.#archive?.close()
    }
  }

  async #run(): Promise<void> {
    const { store, waits } = this.#workspace
    const { at: now, horizon } = this.#prune
    const looked = { at: horizon, now, awaited: waits.allAwaitedMessageIds() }
    const finished = await this.#inSteps(store.finished.find(looked, store.journal.lastSeq))
    this.#held = finished.held
    this.#prune.through = finished.throughSeq
    if (this.#wish.dryRun) return this.#takeOutAll(finished)
    const endCheckpoints = checkpointInThread(store.database.path)
    try {
      await this.#takeOutAll(finished)
      this.progress = { ...this.progress, doing: 'giving space back' }
      if (this.#prune.events > 0) await this.#forgetConcerns()
      await this.#giveSpaceBack(finished.throughSeq)
    } finally {
      await endCheckpoints()
      // Even after an error: this ends the time in which the files may get shorter, so that later cuts by others are noticed.
      if (store.database.isOpen) store.cutFiles()
    }
  }

  async #takeOutAll(finished: FinishedParts): Promise<void> {
    const { pruning } = this.#workspace.store
    const [doing, of] = [this.#wish.dryRun ? 'looking' : 'pruning', finished.throughSeq] as const
    for (let after = 0; after < of; ) {
      this.progress = { doing, done: after, of, messages: this.#prune.messages }
      const slice = await this.#inSteps(pruning.nextSlice(after, finished, this.#facts))
      if (slice.prunedFacts.length > 0) await this.#takeOut(slice)
      after = slice.throughSeq
    }
  }

  async #takeOut(slice: PruningSlice): Promise<void> {
    const prune = this.#prune
    const { pruning } = this.#workspace.store
    const messages = slice.prunedFacts.filter(({ message }) => message !== undefined).length
    const counted = { messages: prune.messages + messages, events: prune.events + slice.prunedFacts.length }
    if (this.#wish.dryRun) return void Object.assign(prune, counted)
    const next = { ...prune, ...counted }
    if (!this.#wish.delete) {
      this.#archive ??= await ArchiveFile.create(this.#wish.folder, prune.at)
      Object.assign(next, { file: this.#archive.name, bytes: await this.#archive.append(slice.prunedFacts) })
    }
    const spentMs = await this.#commit(() => {
      const from = performance.now()
      pruning.deleteSlice(slice, next)
      return performance.now() - from
    })
    Object.assign(prune, next)
    // The size of a slice grows slowly and shrinks at once: one slow slice is enough for others to notice.
    const fitting = Math.round((slice.prunedFacts.length * sliceMs) / spentMs)
    this.#facts = Math.max(factsMin, Math.min(factsMax, fitting, this.#facts + factsMin))
  }

  async #forgetConcerns(): Promise<void> {
    const { pruning } = this.#workspace.store
    for (let at: [number, number] | undefined = [Number.MIN_SAFE_INTEGER, 0]; at; ) {
      const from: [number, number] = at
      at = await this.#commit(() => pruning.forgetConcerns(from))
    }
  }

  /** Gives unused space back, even if this pruning deleted nothing: an earlier one may have been interrupted before this step. */
  async #giveSpaceBack(through: number): Promise<void> {
    const { store, search } = this.#workspace
    if (this.#prune.events > 0) {
      const parts = search.forgetPruned(through, enoughSoon)
      while (!(await this.#politely(() => parts.next())).done);
    }
    while (await this.#commit(() => store.releasePages(enoughSoon())));
  }

  #commit<T>(work: () => T extends Promise<unknown> ? never : T): Promise<T> {
    const { engine } = this.#workspace
    return this.#politely(() => (engine.commitMaintenance as NonNullable<typeof engine.commitMaintenance>)(work))
  }

  /** Does a piece of work, then pauses for as long as it took, so that other work can run. */
  async #politely<T>(work: () => T | Promise<T>): Promise<T> {
    this.#mayGoOn()
    const from = performance.now()
    const result = await work()
    await new Promise((resolve) => setTimeout(resolve, performance.now() - from))
    return result
  }

  /** Runs a long read in turns with the workspace's other reads, without a time limit. */
  #inSteps<T>(steps: Steps<T>): Promise<T> {
    this.#mayGoOn()
    return this.#workspace.reads.run(steps, new ReadTimeBudget(Number.POSITIVE_INFINITY), this.#abandoned)
  }

  #mayGoOn(): void {
    const { store, name } = this.#workspace
    if (!store.database.isOpen) throw new RefusalError('workspace.closed', { workspace: name })
    if (this.#abandoned.aborted) throw new RefusalError('call.abandoned')
  }
}

/** Returns a function that tells whether the time of a slice has passed. */
function enoughSoon(): () => boolean {
  const until = performance.now() + sliceMs
  return () => performance.now() >= until
}
