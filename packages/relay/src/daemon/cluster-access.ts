// Tells which workspaces of this daemon are shared, and gives access to their cluster. The cluster's code is loaded only when a shared workspace is opened or
// asked for.

import { setTimeout as sleep } from 'node:timers/promises'
import { homeWorkspace, isProjectName } from '@agent-relay/sdk/internal/discover'
import type { Ids } from '@agent-relay/sdk/protocol'
import type { SharedWorkspaces } from '../cluster/shared-workspaces.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import { ClusterFile, SharedWorkspaceFile } from '../machine/cluster-file.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { resultWithin } from '../machine/within.ts'
import { lockPathOf } from './inspect.ts'

export interface ClusterAccessOptions {
  directory: DataDirectory
  clock: Clock
  ids: Ids
  onTrouble(error: Error): void
}

/** Progress in entries: `done` of `of`. */
type Progress = { done: number; of: number }

/**
 * Maximum time in ms to wait for the cluster's answer whether a workspace's name is free. Then the last known names count, since creating a workspace must not
 * wait for an unreachable server.
 */
const nameCheckMs = 1_500
/** Interval in ms between two attempts to reach the cluster. */
const clusterRetryMs = 2_000

export class ClusterAccess {
  readonly #options: ClusterAccessOptions
  readonly #closed = new AbortController()
  readonly #progress = new Map<string, Progress>()
  #loaded: Promise<SharedWorkspaces> | undefined
  /** Names that a shared workspace of the cluster has, but which a person wants for a workspace of this machine alone. */
  readonly #allowedLocalNames = new Set<string>()

  constructor(options: ClusterAccessOptions) {
    this.#options = options
  }

  /** Returns what opening a shared workspace needs; undefined if the workspace is on this machine only. */
  async sharingOf(name: string): Promise<ReturnType<SharedWorkspaces['sharing']> | undefined> {
    const shared = this.#sharedFileOf(name).read()
    if (!shared) return undefined
    const all = await this.#load()
    if (shared.phase !== undefined && !(await all.finishMove(this.#filesOf(name)))) return undefined
    return all.sharing(shared.id)
  }

  isShared(name: string): boolean {
    try {
      return this.#sharedFileOf(name).read() !== undefined
    } catch {
      // The file cannot be read. The workspace counts as shared, and opening it reports the error.
      return true
    }
  }

  /** Tells the cluster that an agent of a shared workspace has connected or disconnected. */
  onPresenceChange(): void {
    void this.#loaded?.then((all) => all.presenceChanged()).catch(() => {})
  }

  /** Returns the ids of the cluster's workspaces by name; none if this machine belongs to no cluster. */
  async idsByName(): Promise<Map<string, string>> {
    if (!new ClusterFile(this.#options.directory.path).read()) return new Map()
    const all = (await (await this.#load()).list()).filter(({ name }) => isProjectName(name))
    this.#remember(all.map(({ name }) => name).sort())
    return new Map(all.map(({ name, id }) => [name, id]))
  }

  /** Stores the names of the cluster's workspaces for times when it cannot be reached. An error, such as a full disk, is only reported. */
  #remember(names: string[]): void {
    try {
      this.#options.directory.rememberSharedNames(names)
    } catch (error) {
      this.#options.onTrouble(error as Error)
    }
  }

  /**
   * Throws if the cluster has a workspace of this name, or had one when it answered last. The name of the home workspace is always free, since each machine has
   * its own.
   */
  async assertNameFree(name: string, details: { placing?: true } = {}): Promise<void> {
    if (name === homeWorkspace || this.#allowedLocalNames.has(name) || this.isShared(name)) return
    const found = await resultWithin(this.idsByName(), nameCheckMs).catch(() => undefined)
    const names = found ? [...found.keys()] : this.#options.directory.lastSharedNames()
    if (names.includes(name))
      throw new RefusalError('workspace.name-shared', {
        workspace: name,
        ...details,
        ...(found ? {} : { unchecked: true }),
      })
  }

  /** Runs `work`. With `isLocal`, it may create a workspace of this machine alone, even if the cluster has one of this name. */
  async allowLocalName<T>(name: string, isLocal: boolean | undefined, work: () => Promise<T>): Promise<T> {
    if (!isLocal) return work()
    this.#allowedLocalNames.add(name)
    return work().finally(() => this.#allowedLocalNames.delete(name))
  }

  /**
   * Registers a workspace of the cluster on this machine, with an empty folder, so that it can be opened here. Returns false if the cluster has no workspace of
   * this name.
   */
  async adoptFromCluster(name: string): Promise<boolean> {
    const id = (await this.idsByName()).get(name)
    if (id === undefined) return false
    this.#options.directory.makeFolder(name)
    this.#sharedFileOf(name).write({ id })
    return true
  }

  async share(name: string): Promise<{ entries: number }> {
    if (this.isShared(name)) throw new RefusalError('workspace.shared', { workspace: name })
    return { entries: await (await this.#load()).share(this.#filesOf(name)) }
  }

  async unshare(name: string): Promise<{ entries: number }> {
    return { entries: await (await this.#loadForShared(name)).unshare(this.#filesOf(name)) }
  }

  async handOver(workspace: string, machine: string): Promise<{ workspace: string; machine: string }> {
    await (await this.#loadForShared(workspace)).handOver(workspace, machine)
    return { workspace, machine }
  }

  async reconcile(name: string): ReturnType<SharedWorkspaces['reconcile']> {
    const all = await this.#loadForShared(name)
    return this.#withProgress(name, (tell) => all.reconcile(this.#filesOf(name), tell))
  }

  /** Reconciles a workspace after a failover without closing it. Resolves to undefined if that is not possible: the workspace must be closed first. */
  async reconcileWhileOpen(name: string, id: string): ReturnType<SharedWorkspaces['bringBack']> {
    const all = await this.#loadForShared(name)
    return this.#withProgress(name, (tell) => all.bringBack(name, id, tell))
  }

  /** Progress of the reconciliation of this workspace; undefined if none is under way. */
  progressOf(name: string): Progress | undefined {
    return this.#progress.get(name)
  }

  async #withProgress<T>(name: string, work: (tell: (done: number, of: number) => void) => Promise<T>): Promise<T> {
    try {
      return await work((done, of) => void this.#progress.set(name, { done, of }))
    } finally {
      this.#progress.delete(name)
    }
  }

  #loadForShared(name: string): Promise<SharedWorkspaces> {
    if (!this.isShared(name)) throw new RefusalError('workspace.unshared', { workspace: name })
    return this.#load()
  }

  /** Tries until the cluster answers, then resolves to true. Resolves to false if the cluster refuses this machine, or the daemon stops. */
  async waitUntilBack(): Promise<boolean> {
    const { signal } = this.#closed
    for (let isAway = true; isAway; ) {
      await sleep(clusterRetryMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return false
      const failure = await this.idsByName().then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure !== undefined && !isClusterUnreachable(failure)) return false
      isAway = failure !== undefined
    }
    return true
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await (await this.#loaded?.catch(() => undefined))?.close()
  }

  #filesOf(name: string) {
    const { directory } = this.#options
    return { name, database: directory.databasePath(name), beside: [lockPathOf(directory.path)] }
  }

  #sharedFileOf(name: string): SharedWorkspaceFile {
    return new SharedWorkspaceFile(this.#options.directory.path, name)
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
export function isClusterUnreachable(error: unknown): boolean {
  return error instanceof RefusalError && /^cluster\.un(?:reachable|usable)$/.test(error.refusal.code)
}
