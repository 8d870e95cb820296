// The workspaces that the daemon serves. Each has its socket. Its database is open only while somebody uses it: it is closed (put to rest) after a while, and
// opened again for the next client. build-workspace.ts builds the parts of an open workspace.

import type { Dispatch } from '../broker/dispatch.ts'
import { hashSecret } from '../broker/sessions/credentials.ts'
import type { Workspace } from '../broker/workspace.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { FileDescriptors } from '../machine/descriptors.ts'
import type { SocketWire } from '../wires/socket.ts'
import type { BuiltWorkspace } from './build-workspace.ts'
import {
  type ClosingCode,
  isWorkspaceUnused,
  type OpenWorkspace,
  type RestSummary,
  shutDownWorkspace,
  userNamesOf,
} from './open-workspace.ts'
import { isWorthRepacking } from './repacking.ts'
import { ClosedDatabases, defaultRestLimits, type RestLimits } from './resting.ts'
import { WorkspacePins } from './workspace-pins.ts'
import { WorkspaceSockets } from './workspace-sockets.ts'

export interface OpenWorkspacesOptions {
  /** Whether unused workspaces are put to rest (closed until somebody uses them). Those of a lift and those in memory stay open. */
  mayRest: boolean
  limits?: Partial<RestLimits>
  socketPath(name: string): string
  build(name: string): Promise<BuiltWorkspace>
  /** Reads what is remembered of a workspace before it is put to rest (closed until somebody uses it), in steps. */
  readRestSummary(workspace: Workspace): Promise<RestSummary>
  /** Reads the same in one step, without letting other work run in between. */
  readRestSummaryAtOnce(workspace: Workspace): RestSummary
  /** Called for a workspace that was closed for lack of use, and whose file should be rewritten. `isAtRest` tells whether it is still closed. */
  repack(name: string, isAtRest: () => boolean): void
  /** Deletes all files of the workspace. */
  forget(name: string): void
  onTrouble(error: Error): void
  /** Called when the set of served workspaces changes. */
  onServedChange(): void
}

interface ServedWorkspace {
  id: string
  restsSince: number
  /** The hashes of the workspace's key and tokens while it is at rest (closed until somebody uses it): a client with one of these credentials opens it. */
  hashes?: ReadonlySet<string>
  restSummary?: RestSummary
}

interface WorkspaceUse {
  opened: OpenWorkspace
  usedAt: number
  /** Whether `readRestSummary` is under way for this workspace, which may then be put to rest (closed until somebody uses it). */
  isBeingSummarized?: boolean
}

export class OpenWorkspaces {
  readonly sockets: WorkspaceSockets
  readonly #options: OpenWorkspacesOptions
  readonly #limits: RestLimits
  readonly #descriptors = new FileDescriptors()
  readonly #served = new Map<string, ServedWorkspace>()
  readonly #uses = new Map<string, WorkspaceUse>()
  readonly #pins = new WorkspacePins()
  readonly #opening = new Map<string, Promise<OpenWorkspace>>()
  readonly #closing = new Map<string, Promise<void>>()
  readonly #closedDatabases: ClosedDatabases
  readonly #timer: NodeJS.Timeout
  #isStopping = false

  constructor(options: OpenWorkspacesOptions) {
    this.#options = options
    this.#limits = { ...defaultRestLimits, ...options.limits }
    this.#closedDatabases = new ClosedDatabases(this.#limits.closedMax)
    this.sockets = new WorkspaceSockets(this, options.socketPath)
    this.#timer = setInterval(() => this.#checkUnused(), this.#limits.idleMs / 4)
    this.#timer.unref()
  }

  /** The names of all served workspaces, open or at rest (closed until somebody uses them). */
  names(): string[] {
    return [...this.#served.keys()]
  }

  idOf(name: string): string | undefined {
    return this.#served.get(name)?.id
  }

  /** Returns the workspace if its database is open; undefined if it is at rest or not served. */
  findOpen(name: string): OpenWorkspace | undefined {
    return this.#uses.get(name)?.opened
  }

  /** The names of the workspaces at rest (closed until somebody uses them), most recently used first. */
  namesAtRest(): string[] {
    const atRest = [...this.#served].filter(([, { hashes }]) => hashes !== undefined)
    return atRest.sort(([, a], [, b]) => b.restsSince - a.restsSince).map(([name]) => name)
  }

  isAtRest(name: string): boolean {
    return this.#served.get(name)?.hashes !== undefined
  }

  /** Returns what was remembered of a workspace when it was last closed for lack of use. */
  restSummary(name: string): RestSummary | undefined {
    return this.#served.get(name)?.restSummary
  }

  /** The dispatches of all open workspaces. */
  dispatches(): Dispatch[] {
    return [...this.#uses.values()].map(({ opened }) => opened.dispatch)
  }

  /** Opens a workspace, and creates it if it does not exist. Only the call that creates it returns its key. */
  async open(name: string): Promise<OpenWorkspace & { key?: string }> {
    await this.#closing.get(name)
    this.#touch(name)
    const under = this.#opening.get(name)
    if (under) return under
    if (this.#isStopping) throw new RefusalError('daemon.stopping')
    let key: string | undefined
    const opening = this.#openNow(name).then(({ key: made, ...opened }) => {
      key = made
      return opened
    })
    this.#opening.set(name, opening)
    try {
      return { ...(await opening), key }
    } catch (error) {
      this.#opening.delete(name)
      throw error
    }
  }

  /** Runs `work` on a workspace, which is opened if necessary and stays open until `work` ends. Undefined if no workspace of this name is served. */
  async visit<T>(name: string, work: (opened: OpenWorkspace) => T | Promise<T>): Promise<T | undefined> {
    const release = this.pin(name)
    try {
      await this.#closing.get(name)
      if (!this.#isServed(name)) return undefined
      return await work(await this.open(name))
    } finally {
      release()
    }
  }

  /** Keeps the workspace open until the returned function is called, once it is open: this does not open it. */
  pin(name: string): () => void {
    return this.#pins.pin(name, () => this.#touch(name))
  }

  #touch(name: string): void {
    const use = this.#uses.get(name)
    if (use) use.usedAt = performance.now()
  }

  /**
   * Opens the workspaces at rest (closed for lack of use) that have this credential among their key and tokens; without a credential, the one of this name.
   * They stay open until the returned function is called. A wrong credential opens none.
   */
  async openForCredential(credential: string | undefined, name: string | undefined): Promise<() => void> {
    const hash = credential === undefined ? undefined : hashSecret(credential)
    const isMeant = ([each, { hashes }]: [string, ServedWorkspace]) =>
      hashes && (name === undefined || name === each) && (hash === undefined ? name === each : hashes.has(hash))
    const meant = [...this.#served].filter(isMeant).map(([each]) => each)
    const releases: (() => void)[] = []
    const release = () => releases.forEach((each) => void each())
    try {
      for (const each of meant) releases.push((await this.openPinned(each)).release)
    } catch (error) {
      release()
      throw error
    }
    return release
  }

  /** Opens a workspace and keeps it open until `release` is called. */
  async openPinned(name: string): Promise<OpenWorkspace & { release(): void }> {
    const release = this.pin(name)
    try {
      return { ...(await this.open(name)), release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Removes a workspace with everything in it, for good. Callers that open the name meanwhile wait, and get a new workspace. */
  async remove(name: string, isForced: boolean, isOnDisk: () => boolean): Promise<void> {
    // The workspace is opened first, since its key must be known to be removed too. If it cannot be opened, its files are removed as they are.
    const held = await this.openPinned(name).catch(() => undefined)
    held?.release()
    const opened = this.#uses.get(name)?.opened
    // Another caller may have removed the workspace meanwhile, and the name may be that of a new one.
    const isThere = held ? opened?.workspace === held.workspace : isOnDisk()
    if (!isThere) throw new RefusalError('workspace.unknown', { workspace: name })
    await this.#stopServing(name, isForced, 'workspace.removed')
  }

  /** Closes a workspace until somebody opens it again. Callers that open it wait until `meanwhile` has ended. */
  async close(name: string, isForced: boolean, meanwhile?: () => Promise<unknown>): Promise<void> {
    await Promise.all([this.#opening.get(name), this.#closing.get(name)])
    if (!this.#isServed(name)) throw new RefusalError('workspace.closed', { workspace: name })
    await this.#stopServing(name, isForced, 'workspace.closed', meanwhile)
  }

  async #stopServing(name: string, isForced: boolean, code: ClosingCode, then?: () => Promise<unknown>): Promise<void> {
    const opened = this.findOpen(name)
    const agents = isForced || !opened ? [] : userNamesOf(opened)
    const verb = code === 'workspace.closed' ? 'close' : 'remove'
    if (agents.length > 0) throw new RefusalError('workspace.busy', { workspace: name, agents, verb })
    if (this.#isStopping) throw new RefusalError('daemon.stopping')
    this.#opening.delete(name)
    this.#uses.delete(name)
    await this.#trackClosing(name, this.#stopServingNow(name, opened, code).then(then))
  }

  /** From now on no workspace is opened. Returns the open ones, after all openings and closings under way have ended. */
  async stopOpening(): Promise<OpenWorkspace[]> {
    this.#isStopping = true
    clearInterval(this.#timer)
    // An opening that ended later would leave a workspace open after the daemon has released its lock.
    await Promise.allSettled([...this.#closing.values(), ...this.#opening.values()])
    return [...this.#uses.values()].map(({ opened }) => opened)
  }

  /** Whether the workspace is open or at rest, or could not be opened because of its files. */
  #isServed(name: string): boolean {
    return this.#served.has(name) || this.sockets.faultOf(name) !== undefined
  }

  async #openNow(name: string): Promise<OpenWorkspace & { key?: string }> {
    const build = () => this.#options.build(name)
    const { key, ...built } = await this.#withRoom(build).catch((error) => this.sockets.failOpening(name, error))
    const isNew = !this.#served.has(name)
    const opened: OpenWorkspace = { ...built, wire: await this.#listen(name, built) }
    this.#served.set(name, { id: built.workspace.id, restsSince: 0 })
    this.#uses.set(name, { opened, usedAt: performance.now() })
    if (isNew) this.#options.onServedChange()
    this.#putUnusedToRest(undefined, opened)
    this.#closedDatabases.freeIfMany()
    return { ...opened, key }
  }

  /** Runs work that opens files. If the process has no file descriptors left, unused workspaces are closed first, until somebody uses them. */
  #withRoom<T>(work: () => Promise<T>): Promise<T> {
    return this.#descriptors.withRoom(work, () => {
      this.#putAllUnusedToRest()
      return this.#closedDatabases.free()
    })
  }

  async #listen(name: string, { workspace, runner }: BuiltWorkspace): Promise<SocketWire> {
    try {
      return await this.#withRoom(() => this.sockets.serve(name))
    } catch (error) {
      await Promise.all([runner.close(), workspace.workers.close()])
      workspace.close()
      throw error
    }
  }

  async #stopServingNow(name: string, opened: OpenWorkspace | undefined, code: ClosingCode): Promise<void> {
    if (opened) await shutDownWorkspace(opened, code)
    await this.sockets.close(name, code)
    this.#served.delete(name)
    if (code === 'workspace.removed') this.#options.forget(name)
    this.#options.onServedChange()
  }

  #checkUnused(): void {
    this.#closedDatabases.freeIfAny()
    this.#putUnusedToRest()
  }

  /**
   * Puts unused workspaces to rest (closes them until somebody uses them), after counting what waits for the person in each. `except`: a workspace that was
   * just opened for a caller.
   */
  #putUnusedToRest(unusedMax = this.#limits.unusedMax, except?: OpenWorkspace): void {
    for (const use of this.#dueForRest(unusedMax, except)) if (!use.isBeingSummarized) void this.#summarizeAndRest(use)
  }

  /** Closes all unused workspaces, until somebody uses them, in one step, before any other work runs. */
  #putAllUnusedToRest(): void {
    for (const { opened } of this.#dueForRest(0))
      this.#putToRest(opened, this.#options.readRestSummaryAtOnce(opened.workspace))
  }

  #dueForRest(unusedMax: number, except?: OpenWorkspace): WorkspaceUse[] {
    if (!this.#options.mayRest || this.#isStopping) return []
    const now = performance.now()
    const unused: WorkspaceUse[] = []
    for (const [name, use] of this.#uses) {
      if (use.opened === except) continue
      if (!this.#pins.isPinned(name) && isWorkspaceUnused(use.opened)) unused.push(use)
      else use.usedAt = now
    }
    const oldestFirst = unused.sort((a, b) => a.usedAt - b.usedAt)
    return oldestFirst.filter(({ usedAt }, at) => unused.length - at > unusedMax || now - usedAt >= this.#limits.idleMs)
  }

  /** Counts what waits for the person in a workspace, in steps. Then closes it, unless it was used meanwhile, until somebody uses it. */
  async #summarizeAndRest(use: WorkspaceUse): Promise<void> {
    const { opened, usedAt } = use
    const { workspace } = opened
    use.isBeingSummarized = true
    const summary = await this.#options.readRestSummary(workspace).finally(() => delete use.isBeingSummarized)
    const isSame = this.#uses.get(workspace.name) === use && use.usedAt === usedAt
    if (!isSame || this.#isStopping || this.#pins.isPinned(workspace.name) || !isWorkspaceUnused(opened)) return
    if (workspace.store.journal.lastSeq === summary.seq) this.#putToRest(opened, summary)
  }

  /**
   * Puts a workspace to rest: closes it until somebody uses it. Its files are closed in this step; the other steps take longer, and callers that open it wait
   * for them.
   */
  #putToRest({ workspace, runner }: OpenWorkspace, restSummary: RestSummary): void {
    try {
      const hashes = workspace.credentials.hashes()
      const { name } = workspace
      const served = this.#served.get(name)
      if (!served || hashes.length > this.#limits.tokensMax) return
      const isRepacking = isWorthRepacking(workspace.store.freePages)
      Object.assign(served, { hashes: new Set(hashes), restsSince: performance.now(), restSummary })
      this.#uses.delete(name)
      this.#opening.delete(name)
      this.#closedDatabases.add()
      void this.#trackClosing(name, Promise.all([runner.close(), workspace.workers.close()])).catch(
        this.#options.onTrouble,
      )
      workspace.close()
      const isAtRest = () => this.#served.get(name) === served && !this.#opening.has(name) && !this.#isStopping
      if (isRepacking) this.#options.repack(name, isAtRest)
    } catch (error) {
      this.#options.onTrouble(error as Error)
    }
  }

  async #trackClosing(name: string, work: Promise<unknown>): Promise<void> {
    const leaving = work.then(() => {}).finally(() => this.#closing.delete(name))
    // Callers that wait for the closing must continue even if it fails.
    const over = leaving.catch(() => {})
    this.#closing.set(name, over)
    await leaving
  }
}
