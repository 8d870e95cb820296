// `workspace prune` in a daemon that goes on serving: old, finished events are archived unless the wish says otherwise, and then taken out of the
// database, slice by slice. After an interruption each event is in the database or in the archive: the workspace remembers how much of the archive file
// counts, so events archived last and not taken out do not.

import type { OutputOf, ParsedInputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { Budget } from '../broker/long-reads.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Steps } from '../core/steps.ts'
import type { Finished } from '../store/finished.ts'
import type { Prune, Slice } from '../store/pruning.ts'
import { ArchiveFile } from './archive.ts'
import { fileBytes } from './file-bytes.ts'

export type PruneWish = Omit<ParsedInputOf<'workspace.prune'>, 'workspace'>

/** `folder`: the workspace's own folder. */
type Wish = PruneWish & { folder: string }

export type Pruned = Pick<OutputOf<'workspace.prune'>, 'through' | 'events' | 'messages' | 'archive' | 'held'>

/** The daemon, as far as pruning needs it. */
interface Serving {
  workspaces: { pin(name: string): () => void }
  open(name: string): Promise<{ entry: WorkspaceEntry; workspace: Workspace }>
}

export class Pruning {
  readonly #daemon: Serving
  readonly #underWay = new Set<string>()

  constructor(daemon: Serving) {
    this.#daemon = daemon
  }

  /** Prunes a workspace; one prune at a time, since a second would find the same. */
  async prune(name: string, wish: PruneWish): Promise<OutputOf<'workspace.prune'>> {
    const { workspaces } = this.#daemon
    if (this.#underWay.has(name)) throw new RefusalError('workspace.pruning', { workspace: name })
    const release = workspaces.pin(name)
    this.#underWay.add(name)
    try {
      const { entry, workspace } = await this.#daemon.open(name)
      const { path } = entry
      const before = fileBytes(path)
      const found = await prune(workspace, { ...wish, folder: path })
      return { workspace: name, path, ...found, before, after: fileBytes(path) }
    } finally {
      this.#underWay.delete(name)
      release()
    }
  }
}

/** Maximum number of held conversations that are reported, those with the most messages first. */
const heldMax = 20

async function prune(workspace: Workspace, wish: Wish): Promise<Pruned> {
  const { store, clock, waits, engine, name } = workspace
  if (!engine.tidy) throw new RefusalError('workspace.prune-shared', { workspace: name })
  const now = clock.now()
  const horizon = { at: now - wish.olderMs, now, awaited: waits.awaited() }
  const finished = await inSteps(workspace, store.finished.find(horizon, store.journal.lastSeq))
  const work = new PruneWork(workspace, finished, now, wish)
  await work.run()
  const held = finished.held.sort((a, b) => b.messages - a.messages).slice(0, heldMax)
  return { ...work.done, held }
}

class PruneWork {
  readonly #workspace: Workspace
  readonly #finished: Finished
  readonly #wish: Wish
  readonly #prune: Prune
  #archive: ArchiveFile | undefined

  constructor(workspace: Workspace, finished: Finished, at: number, wish: Wish) {
    this.#workspace = workspace
    this.#finished = finished
    this.#wish = wish
    const { horizon, through } = finished
    const id = (workspace.store.pruning.all().at(-1)?.id ?? 0) + 1
    this.#prune = { id, at, horizon, through, bytes: 0, messages: 0, events: 0 }
  }

  get done(): Omit<Pruned, 'held'> {
    const { through, messages, events, file, bytes } = this.#prune
    return { through, messages, events, ...(file === undefined ? {} : { archive: { file, bytes } }) }
  }

  async run(): Promise<void> {
    const { store, search } = this.#workspace
    try {
      for (let after = 0; after < this.#finished.through; ) {
        const slice = await inSteps(this.#workspace, store.pruning.next(after, this.#finished))
        if (slice.gone.length > 0) await this.#takeOut(slice)
        after = slice.to
      }
      if (this.#prune.events === 0 || this.#wish.dryRun) return
      await this.#forgetConcerns()
      await search.forget(this.#finished.through)
    } finally {
      await this.#archive?.close()
    }
  }

  async #takeOut(slice: Slice): Promise<void> {
    const prune = this.#prune
    const { store } = this.#workspace
    const messages = slice.gone.filter(({ message }) => message !== undefined).length
    const counted = { messages: prune.messages + messages, events: prune.events + slice.gone.length }
    if (this.#wish.dryRun) return void Object.assign(prune, counted)
    const next = { ...prune, ...counted }
    if (!this.#wish.delete) {
      this.#archive ??= await ArchiveFile.create(this.#wish.folder, prune.at)
      Object.assign(next, { file: this.#archive.name, bytes: await this.#archive.add(slice.gone) })
    }
    await this.#commit(() => store.pruning.remove(slice, next))
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

  /** Runs a commit, then pauses for as long as it took, so that others get their turn. */
  async #commit<T>(work: () => T extends Promise<unknown> ? never : T): Promise<T> {
    const { engine, store, name } = this.#workspace
    if (!store.database.isOpen) throw new RefusalError('workspace.closed', { workspace: name })
    const from = performance.now()
    const result = (engine.tidy as NonNullable<typeof engine.tidy>)(work)
    await new Promise((resolve) => setTimeout(resolve, performance.now() - from))
    return result
  }
}

/** Runs the steps among the workspace's other reads, however long they take. */
function inSteps<T>({ reads, store, name }: Workspace, steps: Steps<T>): Promise<T> {
  if (!store.database.isOpen) throw new RefusalError('workspace.closed', { workspace: name })
  return reads.run(steps, new Budget(Number.POSITIVE_INFINITY), new AbortController().signal)
}
