// Tells which workspaces of this daemon are shared, and gives access to their cluster. The cluster's code is loaded only when the first of them is
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

/** Progress in entries: `done` of `of`. */
type Progress = { done: number; of: number }

/** How long a new workspace waits for the cluster to say whether its name is free: a start must not wait for an unreachable server. */
const nameMs = 1_500
/** Interval between looks whether the cluster is back. */
const openAgainMs = 2_000

export class ClusterAccess {
  readonly #options: ClusterAccessOptions
  readonly #closed = new AbortController()
  readonly #progress = new Map<string, Progress>()
  #loaded: Promise<SharedWorkspaces> | undefined
  /** Names taken in the cluster that a person wants for a workspace of this machine too. */
  readonly #meant = new Set<string>()

  constructor(options: ClusterAccessOptions) {
    this.#options = options
  }

  /** The sharing that a workspace is opened with; undefined if it lives on this machine alone. */
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
      // Opening the workspace reports the cause.
      return true
    }
  }

  /** Called when an agent has come or gone in a workspace. */
  changed(): void {
    void this.#loaded?.then((all) => all.changed()).catch(() => {})
  }

  /** Ids of the cluster's workspaces by name; none if this machine belongs to no cluster. */
  async names(): Promise<Map<string, string>> {
    if (!new ClusterFile(this.#options.directory.path).read()) return new Map()
    const all = (await (await this.#load()).list()).filter(({ name }) => isProjectName(name))
    this.#remember(all.map(({ name }) => name).sort())
    return new Map(all.map(({ name, id }) => [name, id]))
  }

  /** Remembers the names for when the cluster cannot be reached. A full disk must not keep anybody from the cluster. */
  #remember(names: string[]): void {
    try {
      this.#options.directory.rememberShared(names)
    } catch (error) {
      this.#options.onTrouble(error as Error)
    }
  }

  /**
   * Throws if a new workspace of this machine alone would take a name that the cluster has, or had when it answered last. The home is excepted, since
   * each machine has its own.
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

  /** Runs work that may make a workspace of this machine alone, although the cluster has one of this name, if a person wants that (`isLocal`). */
  async asMeant<T>(name: string, isLocal: boolean | undefined, work: () => Promise<T>): Promise<T> {
    if (!isLocal) return work()
    this.#meant.add(name)
    return work().finally(() => this.#meant.delete(name))
  }

  /**
   * Prepares a workspace of the cluster that this machine does not have yet to be opened: it begins empty, and follows. Returns false if there is none
   * of this name.
   */
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

  /** As `reconcile`, for a workspace that is open, as long as it may stay so. */
  async bringBack(name: string, id: string): ReturnType<SharedWorkspaces['bringBack']> {
    const all = await this.#ofShared(name)
    return this.#telling(name, (tell) => all.bringBack(name, id, tell))
  }

  /** The progress of reconciling this workspace, while it is under way. */
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

  /** Resolves with true once the cluster answers; with false if it does not let this machine in, or the daemon ends first. */
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

/** Whether a workspace could not be opened only because its cluster does not answer. */
export function isUnreached(error: unknown): boolean {
  return error instanceof RefusalError && /^cluster\.un(?:reachable|usable)$/.test(error.refusal.code)
}
