// Which workspaces of this daemon are shared with other machines, and the way to their cluster. Nothing of it is loaded before the first of them is
// opened or asked for.

import { setTimeout as sleep } from 'node:timers/promises'
import { homeWorkspace, isProjectName } from '@agent-relay/sdk/internal/discover'
import type { Ids } from '@agent-relay/sdk/protocol'
import type { SharedWorkspaces } from '../cluster/shared-workspaces.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import { ClusterFile, SharedFile } from '../machine/cluster-file.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { lockPathOf } from './inspect.ts'

export interface ClusterAccessOptions {
  directory: DataDirectory
  clock: Clock
  ids: Ids
  onTrouble(error: Error): void
}

/** Entries, of how many. */
type Progress = { done: number; of: number }

/** So long a new workspace waits for the cluster to say whether its name is free: a start must not wait for a server that is away. */
const nameMs = 1_500
/** Between two looks whether the cluster is back. */
const openAgainMs = 2_000

export class ClusterAccess {
  readonly #options: ClusterAccessOptions
  readonly #closed = new AbortController()
  readonly #progress = new Map<string, Progress>()
  #loaded: Promise<SharedWorkspaces> | undefined
  /** Names of the cluster that a person wants for a workspace of this machine too. */
  readonly #meant = new Set<string>()

  constructor(options: ClusterAccessOptions) {
    this.#options = options
  }

  /** What it is opened with; undefined where it lives on this machine alone. */
  async of(name: string): Promise<ReturnType<SharedWorkspaces['sharing']> | undefined> {
    const shared = this.#file(name).read()
    if (!shared) return undefined
    const all = await this.#load()
    if (shared.phase !== undefined && !(await all.finishMove(this.#files(name)))) return undefined
    return all.sharing(shared.id)
  }

  isShared(name: string): boolean {
    try {
      return this.#file(name).read() !== undefined
    } catch {
      // Who opens it is told why.
      return true
    }
  }

  /** Somebody came or went in a workspace. */
  changed(): void {
    void this.#loaded?.then((all) => all.changed()).catch(() => {})
  }

  /** Those of the cluster, by name; none where this machine belongs to no cluster. */
  async names(): Promise<Map<string, string>> {
    if (!new ClusterFile(this.#options.directory.path).read()) return new Map()
    const all = (await (await this.#load()).list()).filter(({ name }) => isProjectName(name))
    this.#remember(all.map(({ name }) => name).sort())
    return new Map(all.map(({ name, id }) => [name, id]))
  }

  /** A disk that is full keeps nobody from the cluster. */
  #remember(names: string[]): void {
    try {
      this.#options.directory.rememberShared(names)
    } catch (error) {
      this.#options.onTrouble(error as Error)
    }
  }

  /**
   * Before a workspace is made that lives on this machine alone: one that the cluster has, or had when it answered last, keeps its name. Each machine has a
   * home of its own.
   */
  async mustBeFree(name: string, details: { placing?: true } = {}): Promise<void> {
    if (name === homeWorkspace || this.#meant.has(name) || this.isShared(name)) return
    const late = sleep(nameMs, undefined, { ref: false })
    const found = await Promise.race([this.names(), late]).catch(() => undefined)
    const names = found ? [...found.keys()] : this.#options.directory.lastShared()
    if (names.includes(name))
      throw new RefusalError('workspace.name-shared', {
        workspace: name,
        ...details,
        ...(found ? {} : { unchecked: true }),
      })
  }

  /** What is done meanwhile may make a workspace of this machine alone, although the cluster has one of this name, where a person wants that. */
  async asMeant<T>(name: string, isLocal: boolean | undefined, work: () => Promise<T>): Promise<T> {
    if (!isLocal) return work()
    this.#meant.add(name)
    return work().finally(() => this.#meant.delete(name))
  }

  /** One of the cluster that this machine does not have yet is opened next: it begins with nothing, and follows. False: there is none of this name. */
  async take(name: string): Promise<boolean> {
    const id = (await this.names()).get(name)
    if (id === undefined) return false
    this.#options.directory.make(name)
    this.#file(name).write({ id })
    return true
  }

  async share(name: string): Promise<{ entries: number }> {
    if (this.isShared(name)) throw new RefusalError('workspace.shared', { workspace: name })
    return { entries: await (await this.#load()).share(this.#files(name)) }
  }

  async unshare(name: string): Promise<{ entries: number }> {
    return { entries: await (await this.#ofShared(name)).unshare(this.#files(name)) }
  }

  async handOver(workspace: string, machine: string): Promise<{ workspace: string; machine: string }> {
    await (await this.#ofShared(workspace)).handOver(workspace, machine)
    return { workspace, machine }
  }

  async reconcile(name: string): ReturnType<SharedWorkspaces['reconcile']> {
    const all = await this.#ofShared(name)
    return this.#telling(name, (tell) => all.reconcile(this.#files(name), tell))
  }

  /** Of one that is open, as long as it may stay so. */
  async bringBack(name: string, id: string): ReturnType<SharedWorkspaces['bringBack']> {
    const all = await this.#ofShared(name)
    return this.#telling(name, (tell) => all.bringBack(name, id, tell))
  }

  /** How far the reconciling of this workspace is, while it is under way. */
  progressOf(name: string): Progress | undefined {
    return this.#progress.get(name)
  }

  async #telling<T>(name: string, work: (tell: (done: number, of: number) => void) => Promise<T>): Promise<T> {
    try {
      return await work((done, of) => void this.#progress.set(name, { done, of }))
    } finally {
      this.#progress.delete(name)
    }
  }

  #ofShared(name: string): Promise<SharedWorkspaces> {
    if (!this.isShared(name)) throw new RefusalError('workspace.unshared', { workspace: name })
    return this.#load()
  }

  /** Resolves once the cluster answers; with false where it does not want this machine, or the daemon ends before. */
  async isBack(): Promise<boolean> {
    const { signal } = this.#closed
    for (let isAway = true; isAway; ) {
      await sleep(openAgainMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return false
      const failure = await this.names().then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure !== undefined && !isUnreached(failure)) return false
      isAway = failure !== undefined
    }
    return true
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await (await this.#loaded?.catch(() => undefined))?.close()
  }

  #files(name: string) {
    const { directory } = this.#options
    return { name, database: directory.database(name), beside: [lockPathOf(directory.path)] }
  }

  #file(name: string): SharedFile {
    return new SharedFile(this.#options.directory.path, name)
  }

  #load(): Promise<SharedWorkspaces> {
    this.#loaded ??= this.#begin().catch((error) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  async #begin(): Promise<SharedWorkspaces> {
    const { directory, ...rest } = this.#options
    const membership = new ClusterFile(directory.path).read()
    if (!membership) throw new RefusalError('cluster.none')
    const { SharedWorkspaces } = await import('../cluster/shared-workspaces.ts')
    return new SharedWorkspaces({ ...rest, dataDir: directory.path, membership })
  }
}

/** Nothing is wrong with the workspace itself: it can be opened once its cluster answers. */
export function isUnreached(error: unknown): boolean {
  return error instanceof RefusalError && /^cluster\.un(?:reachable|usable)$/.test(error.refusal.code)
}
