// The workspaces that the daemon serves. Each has its socket; its database is open while somebody uses it, is closed when nobody does, and
// is opened again for the first who comes. What belongs to one that is open is built in daemon.ts.

import type { Dispatch } from '../broker/dispatch.ts'
import { hashOf } from '../broker/sessions/credentials.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { Descriptors } from '../machine/descriptors.ts'
import type { SocketWire } from '../wires/socket.ts'
import type { Built } from './build-workspace.ts'
import { isUnused, type LeavingCode, type OpenWorkspace, takeDown, usersOf } from './open-workspace.ts'
import { ClosedDatabases, type RestLimits, restLimits } from './resting.ts'
import { WorkspacePins } from './workspace-pins.ts'
import { WorkspaceSockets } from './workspace-sockets.ts'

export interface OpenWorkspacesOptions {
  /** A lift's, and one in memory, stay open. */
  mayRest: boolean
  limits?: Partial<RestLimits>
  socketPath(name: string): string
  build(name: string): Promise<Built>
  /** Everything of it on disk goes. */
  forget(name: string): void
  onTrouble(error: Error): void
  /** One is served that was not, or the other way round. */
  onServed(): void
}

interface Served {
  id: string
  restsSince: number
  /** While it is at rest: the hashes of its key and tokens, to tell whom it may be opened for. */
  hashes?: ReadonlySet<string>
}

interface Use {
  opened: OpenWorkspace
  usedAt: number
}

export class OpenWorkspaces {
  readonly sockets: WorkspaceSockets
  readonly #options: OpenWorkspacesOptions
  readonly #limits: RestLimits
  readonly #descriptors = new Descriptors()
  readonly #served = new Map<string, Served>()
  readonly #uses = new Map<string, Use>()
  readonly #pins = new WorkspacePins()
  readonly #opening = new Map<string, Promise<OpenWorkspace>>()
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #closed: ClosedDatabases
  readonly #timer: NodeJS.Timeout
  #isStopping = false

  constructor(options: OpenWorkspacesOptions) {
    this.#options = options
    this.#limits = { ...restLimits, ...options.limits }
    this.#closed = new ClosedDatabases(this.#limits.closedMax)
    this.sockets = new WorkspaceSockets(this, options.socketPath)
    this.#timer = setInterval(() => this.#look(), this.#limits.idleMs / 4)
    this.#timer.unref()
  }

  /** Open or at rest. */
  names(): string[] {
    return [...this.#served.keys()]
  }

  idOf(name: string): string | undefined {
    return this.#served.get(name)?.id
  }

  /** Undefined where it is at rest, or not served. */
  opened(name: string): OpenWorkspace | undefined {
    return this.#uses.get(name)?.opened
  }

  /** The names of those at rest, the last used first. */
  atRest(): string[] {
    const atRest = [...this.#served].filter(([, { hashes }]) => hashes !== undefined)
    return atRest.sort(([, a], [, b]) => b.restsSince - a.restsSince).map(([name]) => name)
  }

  isAtRest(name: string): boolean {
    return this.#served.get(name)?.hashes !== undefined
  }

  /** Those that are open now. */
  dispatches(): Dispatch[] {
    return [...this.#uses.values()].map(({ opened }) => opened.dispatch)
  }

  /** Made if it is new; then its key is answered, this once. */
  async open(name: string): Promise<OpenWorkspace & { key?: string }> {
    await this.#leaving.get(name)
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

  /** Opens it if it is at rest, and keeps it open until the work is done. Undefined where no such workspace is served. */
  async visit<T>(name: string, work: (opened: OpenWorkspace) => T | Promise<T>): Promise<T | undefined> {
    const release = this.pin(name)
    try {
      await this.#leaving.get(name)
      if (!this.#isThere(name)) return undefined
      return await work(await this.open(name))
    } finally {
      release()
    }
  }

  /** Once it is open, it stays so until the answered function is called. */
  pin(name: string): () => void {
    return this.#pins.take(name, () => this.#touch(name))
  }

  #touch(name: string): void {
    const use = this.#uses.get(name)
    if (use) use.usedAt = performance.now()
  }

  /**
   * Opens what a credential may belong to, or, where none is shown, the one of this name. A wrong one opens nothing. What was opened stays
   * open until the answered function is called.
   */
  async rouse(credential: string | undefined, name: string | undefined): Promise<() => void> {
    const hash = credential === undefined ? undefined : hashOf(credential)
    const isMeant = ([each, { hashes }]: [string, Served]) =>
      hashes && (name === undefined || name === each) && (hash === undefined ? name === each : hashes.has(hash))
    const meant = [...this.#served].filter(isMeant).map(([each]) => each)
    const releases: (() => void)[] = []
    const release = () => releases.forEach((each) => void each())
    try {
      for (const each of meant) releases.push((await this.openHeld(each)).release)
    } catch (error) {
      release()
      throw error
    }
    return release
  }

  /** Open until it is released. */
  async openHeld(name: string): Promise<OpenWorkspace & { release(): void }> {
    const release = this.pin(name)
    try {
      return { ...(await this.open(name)), release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** With everything in it, for good. Who asks for the name meanwhile waits, and gets a new workspace. */
  async remove(name: string, isForced: boolean, isOnDisk: () => boolean): Promise<void> {
    // Opened if it is not: then its key is known, and goes with it. One that is damaged goes as it is.
    const held = await this.openHeld(name).catch(() => undefined)
    held?.release()
    const opened = this.#uses.get(name)?.opened
    // Somebody else has removed it meanwhile; what bears the name by now is another.
    const isThere = held ? opened?.workspace === held.workspace : isOnDisk()
    if (!isThere) throw new RefusalError('workspace.unknown', { workspace: name })
    await this.#stopServing(name, isForced, 'workspace.removed')
  }

  /** Until somebody opens it again. What is in it stays. Who asks for it meanwhile waits until `meanwhile` is over. */
  async close(name: string, isForced: boolean, meanwhile?: () => Promise<unknown>): Promise<void> {
    await Promise.all([this.#opening.get(name), this.#leaving.get(name)])
    if (!this.#isThere(name)) throw new RefusalError('workspace.closed', { workspace: name })
    await this.#stopServing(name, isForced, 'workspace.closed', meanwhile)
  }

  async #stopServing(name: string, isForced: boolean, code: LeavingCode, then?: () => Promise<unknown>): Promise<void> {
    const opened = this.opened(name)
    const agents = isForced || !opened ? [] : usersOf(opened)
    const verb = code === 'workspace.closed' ? 'close' : 'remove'
    if (agents.length > 0) throw new RefusalError('workspace.busy', { workspace: name, agents, verb })
    if (this.#isStopping) throw new RefusalError('daemon.stopping')
    this.#opening.delete(name)
    this.#uses.delete(name)
    await this.#leave(name, this.#leaveNow(name, opened, code).then(then))
  }

  /** Nothing is opened any more; answers what is open, once nothing is being opened or closed. */
  async stopOpening(): Promise<OpenWorkspace[]> {
    this.#isStopping = true
    clearInterval(this.#timer)
    // Opened later, it would outlive the daemon without its lock.
    await Promise.allSettled([...this.#leaving.values(), ...this.#opening.values()])
    return [...this.#uses.values()].map(({ opened }) => opened)
  }

  /** Open, at rest, or kept from being opened by its files. */
  #isThere(name: string): boolean {
    return this.#served.has(name) || this.sockets.faultOf(name) !== undefined
  }

  async #openNow(name: string): Promise<OpenWorkspace & { key?: string }> {
    const build = () => this.#options.build(name)
    const { key, ...built } = await this.#withRoom(build).catch((error) => this.sockets.refuse(name, error))
    const isNew = !this.#served.has(name)
    const opened: OpenWorkspace = { ...built, wire: await this.#listen(name, built) }
    this.#served.set(name, { id: built.workspace.id, restsSince: 0 })
    this.#uses.set(name, { opened, usedAt: performance.now() })
    if (isNew) this.#options.onServed()
    this.#restUnused(undefined, opened)
    this.#closed.freeIfMany()
    return { ...opened, key }
  }

  /** At the limit of descriptors, those that nobody uses make room. */
  #withRoom<T>(work: () => Promise<T>): Promise<T> {
    return this.#descriptors.withRoom(work, () => {
      this.#restUnused(0)
      return this.#closed.free()
    })
  }

  async #listen(name: string, { workspace, runner, supervisor }: Built): Promise<SocketWire> {
    try {
      return await this.#withRoom(() => this.sockets.serve(name))
    } catch (error) {
      await Promise.all([runner.close(), supervisor.close()])
      workspace.close()
      throw error
    }
  }

  async #leaveNow(name: string, opened: OpenWorkspace | undefined, code: LeavingCode): Promise<void> {
    if (opened) await takeDown(opened, code)
    await this.sockets.close(name, code)
    this.#served.delete(name)
    if (code === 'workspace.removed') this.#options.forget(name)
    this.#options.onServed()
  }

  #look(): void {
    this.#closed.freeIfAny()
    this.#restUnused()
  }

  /** `except`: whoever asked for it has not begun to use it. */
  #restUnused(unusedMax = this.#limits.unusedMax, except?: OpenWorkspace): void {
    if (!this.#options.mayRest || this.#isStopping) return
    const now = performance.now()
    const unused: Use[] = []
    for (const [name, use] of this.#uses) {
      if (use.opened === except) continue
      if (!this.#pins.has(name) && isUnused(use.opened)) unused.push(use)
      else use.usedAt = now
    }
    const oldestFirst = unused.sort((a, b) => a.usedAt - b.usedAt)
    const isDue = ({ usedAt }: Use, at: number) => unused.length - at > unusedMax || now - usedAt >= this.#limits.idleMs
    for (const { opened } of oldestFirst.filter(isDue)) {
      try {
        this.#rest(opened)
      } catch (error) {
        this.#options.onTrouble(error as Error)
      }
    }
  }

  /** Its files are closed before anything else can happen; whoever comes meanwhile waits for the rest of it. */
  #rest(opened: OpenWorkspace): void {
    const { workspace, runner, supervisor } = opened
    const hashes = workspace.credentials.hashes()
    const served = this.#served.get(workspace.name)
    if (!served || hashes.length > this.#limits.tokensMax) return
    Object.assign(served, { hashes: new Set(hashes), restsSince: performance.now() })
    this.#uses.delete(workspace.name)
    this.#opening.delete(workspace.name)
    this.#closed.add()
    void this.#leave(workspace.name, Promise.all([runner.close(), supervisor.close()])).catch(this.#options.onTrouble)
    workspace.close()
  }

  async #leave(name: string, work: Promise<unknown>): Promise<void> {
    const leaving = work.then(() => {}).finally(() => this.#leaving.delete(name))
    // Who waits for it waits for its end, however it ended.
    const over = leaving.catch(() => {})
    this.#leaving.set(name, over)
    await leaving
  }
}
