// The workspaces that the daemon serves. Each has its socket. Its database is open while somebody uses it, and opened again for the next user. The parts
// of an open workspace are built in build-workspace.ts.

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
  type LastGlance,
  type OpenWorkspace,
  shutDownWorkspace,
  userNamesOf,
} from './open-workspace.ts'
import { isWorthRepacking } from './repacking.ts'
import { ClosedDatabases, defaultRestLimits, type RestLimits } from './resting.ts'
import { WorkspacePins } from './workspace-pins.ts'
import { WorkspaceSockets } from './workspace-sockets.ts'

export interface OpenWorkspacesOptions {
  /** Whether unused workspaces are closed; those of a lift and those in memory stay open. */
  mayRest: boolean
  limits?: Partial<RestLimits>
  socketPath(name: string): string
  build(name: string): Promise<BuiltWorkspace>
  /** Looks at a workspace that may be put to rest. */
  glanceAt(workspace: Workspace): Promise<LastGlance>
  /** The same without a pause. */
  glanceAtOnce(workspace: Workspace): LastGlance
  /**
   * Called when a workspace was put to rest whose file should be rewritten, unless somebody opens it: `isAtRest` tells whether nobody has since.
   */
  repack(name: string, isAtRest: () => boolean): void
  /** Forgets the workspace: all its files are deleted. */
  forget(name: string): void
  onTrouble(error: Error): void
  /** Called when a workspace begins or ceases to be served. */
  onServedChange(): void
}

interface ServedWorkspace {
  id: string
  restsSince: number
  /** The hashes of the workspace's key and tokens, which tell whom it may be opened for; set while it is at rest. */
  hashes?: ReadonlySet<string>
  lastGlance?: LastGlance
}

interface WorkspaceUse {
  opened: OpenWorkspace
  usedAt: number
  /** Whether what is remembered of the workspace at rest is being counted. */
  isGlanced?: boolean
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

  /** The names of all served workspaces, open or at rest. */
  names(): string[] {
    return [...this.#served.keys()]
  }

  idOf(name: string): string | undefined {
    return this.#served.get(name)?.id
  }

  /** The workspace if it is open; undefined if it is at rest, or not served. */
  findOpen(name: string): OpenWorkspace | undefined {
    return this.#uses.get(name)?.opened
  }

  /** The names of the workspaces at rest, the last used first. */
  namesAtRest(): string[] {
    const atRest = [...this.#served].filter(([, { hashes }]) => hashes !== undefined)
    return atRest.sort(([, a], [, b]) => b.restsSince - a.restsSince).map(([name]) => name)
  }

  isAtRest(name: string): boolean {
    return this.#served.get(name)?.hashes !== undefined
  }

  /** What was seen of a workspace when it was last put to rest. */
  lastGlance(name: string): LastGlance | undefined {
    return this.#served.get(name)?.lastGlance
  }

  /** The dispatches of the workspaces that are open now. */
  dispatches(): Dispatch[] {
    return [...this.#uses.values()].map(({ opened }) => opened.dispatch)
  }

  /** Opens a workspace, and creates it if it is new. Only the creating call returns the workspace's key. */
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

  /** Opens a workspace if it is at rest, and keeps it open until the work is done. Undefined if no such workspace is served. */
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

  /** Keeps the workspace open, once it is, until the returned function is called. */
  pin(name: string): () => void {
    return this.#pins.pin(name, () => this.#touch(name))
  }

  #touch(name: string): void {
    const use = this.#uses.get(name)
    if (use) use.usedAt = performance.now()
  }

  /**
   * Opens the workspaces at rest that a credential may belong to, or, without a credential, the one of this name. A wrong credential opens none. They
   * stay open until the returned function is called.
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

  /** Removes a workspace with everything in it, for good. Whoever opens the name meanwhile waits, and gets a new workspace. */
  async remove(name: string, isForced: boolean, isOnDisk: () => boolean): Promise<void> {
    // The workspace is opened first: then its key is known, and removed too. A damaged workspace is removed as it is.
    const held = await this.openPinned(name).catch(() => undefined)
    held?.release()
    const opened = this.#uses.get(name)?.opened
    // Another caller may have removed the workspace meanwhile; the name then belongs to another workspace.
    const isThere = held ? opened?.workspace === held.workspace : isOnDisk()
    if (!isThere) throw new RefusalError('workspace.unknown', { workspace: name })
    await this.#stopServing(name, isForced, 'workspace.removed')
  }

  /** Closes a workspace until somebody opens it again; its contents stay. Whoever opens it meanwhile waits until `meanwhile` is over. */
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

  /** Stops opening workspaces. Returns the open ones, once none is being opened or closed. */
  async stopOpening(): Promise<OpenWorkspace[]> {
    this.#isStopping = true
    clearInterval(this.#timer)
    // A workspace opened after the daemon's end would be used without its lock.
    await Promise.allSettled([...this.#closing.values(), ...this.#opening.values()])
    return [...this.#uses.values()].map(({ opened }) => opened)
  }

  /** Whether the workspace is open, at rest, or cannot be opened because of its files. */
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

  /** Runs work that opens files. At the limit of descriptors, unused workspaces are closed first. */
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

  /** Puts unused workspaces to rest, once what waits in each was counted. `except`: a workspace that was just opened, whose user has not begun yet. */
  #putUnusedToRest(unusedMax = this.#limits.unusedMax, except?: OpenWorkspace): void {
    for (const use of this.#dueForRest(unusedMax, except)) if (!use.isGlanced) void this.#glanceAndRest(use)
  }

  /** Puts all unused workspaces to rest before anything else happens. */
  #putAllUnusedToRest(): void {
    for (const { opened } of this.#dueForRest(0)) this.#putToRest(opened, this.#options.glanceAtOnce(opened.workspace))
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

  /** Counts what waits in a workspace, and puts the workspace to rest if nobody has used it meanwhile. */
  async #glanceAndRest(use: WorkspaceUse): Promise<void> {
    const { opened, usedAt } = use
    const { workspace } = opened
    use.isGlanced = true
    const glance = await this.#options.glanceAt(workspace).finally(() => delete use.isGlanced)
    const isSame = this.#uses.get(workspace.name) === use && use.usedAt === usedAt
    if (!isSame || this.#isStopping || this.#pins.isPinned(workspace.name) || !isWorkspaceUnused(opened)) return
    if (workspace.store.journal.lastSeq === glance.seq) this.#putToRest(opened, glance)
  }

  /** Puts a workspace to rest. Its files are closed before anything else can happen; whoever opens it meanwhile waits for the rest. */
  #putToRest({ workspace, runner }: OpenWorkspace, lastGlance: LastGlance): void {
    try {
      const hashes = workspace.credentials.hashes()
      const { name } = workspace
      const served = this.#served.get(name)
      if (!served || hashes.length > this.#limits.tokensMax) return
      const isRepacking = isWorthRepacking(workspace.store.freePages)
      Object.assign(served, { hashes: new Set(hashes), restsSince: performance.now(), lastGlance })
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
    // Callers that wait for the closing go on even if the closing fails.
    const over = leaving.catch(() => {})
    this.#closing.set(name, over)
    await leaving
  }
}
