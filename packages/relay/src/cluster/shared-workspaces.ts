// The shared workspaces of this daemon, and its connection to the cluster, made when the first of them is opened. Also moves workspaces into the cluster
// and out of it.

import type { Ids } from '@agent-relay/sdk/protocol'
import type { Served, Sharing, SharingParts } from '../broker/sharing.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type Clock, systemClock } from '../machine/clock.ts'
import { allowedTo, ClusterFile, type Membership, placeText, SharedFile } from '../machine/cluster-file.ts'
import { Store } from '../store/store.ts'
import { ClusterUnreachable } from './cluster-journal.ts'
import { finishMove, type Moving, share, unshare } from './moving.ts'
import { doubtOf, LoginRefused } from './postgres/connection.ts'
import { handOver } from './postgres/moving.ts'
import { type Listed, PostgresCluster } from './postgres/postgres-cluster.ts'
import { type ClusterStatus, statusOf } from './postgres/status.ts'
import { Presence } from './presence.ts'
import { Questions } from './questions.ts'
import { type Reconciled, reconcile, type Tell } from './reconciling.ts'
import { SharedWorkspace } from './shared-workspace.ts'
import { unreachedRefusal } from './unreached.ts'

/** How long the opening of a workspace waits for other machines' new entries; the opening then goes on without them. */
const catchUpMs = 3_000

/** How long a list of machines waits for the cluster; the list then has what was known before. */
const machinesMs = 1_500

export interface SharedWorkspacesOptions {
  dataDir: string
  membership: Membership
  clock: Clock
  ids: Ids
  onTrouble(error: Error): void
}

/** The files of a workspace on this machine whose database nobody has open. */
export interface Files {
  name: string
  database: string
  /** Other files without which the daemon may write nothing, such as its lock. */
  beside: readonly string[]
}

export class SharedWorkspaces {
  readonly #options: SharedWorkspacesOptions
  readonly #cluster: PostgresCluster
  readonly #presence: Presence
  readonly #questions: Questions
  readonly #open = new Map<string, SharedWorkspace>()
  /** The machines as the cluster last listed them. */
  #known: ClusterStatus['machines'] = []
  #asking: Promise<void> | undefined

  constructor(options: SharedWorkspacesOptions) {
    this.#options = options
    this.#cluster = new PostgresCluster(options.membership)
    this.#questions = new Questions(this.#cluster, options.ids, async (workspace, machine, input) =>
      this.#open.get(workspace)?.answer(machine, input),
    )
    this.#presence = new Presence(this.#cluster, systemClock, {
      // If the cluster cannot be reached, the next presence broadcast looks again.
      onBeat: () => void this.#questions.look().catch(() => {}),
      onRemoved: () => this.#leave(),
    })
  }

  /**
   * Returns the sharing with which a workspace of this id is opened. `looked`: resolves once the cluster was asked for news, or could not be reached in
   * time. `reached`: resolves once the cluster has answered, perhaps hours later.
   */
  sharing(id: string): Sharing & { machine: string; looked(): Promise<void>; reached(): Promise<void> } {
    const { dataDir, membership } = this.#options
    const [{ machine }, place] = [membership, placeText(membership)]
    let opened: SharedWorkspace | undefined
    const open = (parts: SharingParts) => {
      const present = this.#presence.enter(id)
      const leave = () => {
        present.leave()
        if (this.#open.get(id) === opened) this.#open.delete(id)
      }
      const ask = (other: string, question: object) => this.#questions.ask(id, other, question)
      const otherMachines = { ...present, ask, leave }
      opened = new SharedWorkspace(parts, { machine, place }, this.#cluster.journal(id), otherMachines)
      this.#open.set(id, opened)
      const serve = (here: Served) => {
        opened?.serve(here)
        present.tell(() => here.present())
      }
      return { engine: opened, otherMachines, serve }
    }
    const looked = async () => {
      const late = new Promise<void>((resolve) => void setTimeout(resolve, catchUpMs).unref())
      await Promise.race([opened?.looked, late])
    }
    const reached = async () => opened?.reached
    // The cluster file is read again at each call; the daemon never writes it.
    const file = new ClusterFile(dataDir)
    const allows: Sharing['allows'] = (other, kind) => file.allows(other, kind, () => this.#ask())
    const machines = async () => {
      const [listed, own] = [await this.#machines(), file.read() ?? {}]
      return listed.map((each) => ({ ...each, may: allowedTo(own, each) }))
    }
    return { machine, allows, machines, open, looked, reached }
  }

  async #ask(): Promise<ClusterStatus['machines']> {
    return (await this.#cluster.asReader(statusOf))?.machines ?? []
  }

  async #learn(): Promise<void> {
    try {
      this.#known = await this.#ask()
    } catch {
      // The cluster cannot be reached, or this machine was removed: people are told that beside the list.
    }
    this.#asking = undefined
  }

  /** Lists the machines. Simultaneous callers share one question: while the cluster cannot be reached, they would otherwise wait behind each other. */
  async #machines(): Promise<ClusterStatus['machines']> {
    this.#asking ??= this.#learn()
    const late = new Promise<void>((resolve) => void setTimeout(resolve, machinesMs).unref())
    await Promise.race([this.#asking, late])
    return this.#known
  }

  /** Soon tells the other machines which agents are connected on this one. Called when an agent has come or gone. */
  changed(): void {
    this.#presence.soon()
  }

  /** Lists the cluster's workspaces, without those still being copied. Throws a refusal if the cluster does not answer. */
  async list(): Promise<Listed[]> {
    const all = await this.#asked(undefined, () => this.#cluster.workspaces())
    return all.filter(({ format }) => format > 0)
  }

  /** Moves a workspace into the cluster. Returns the number of its entries. */
  share(files: Files): Promise<number> {
    return this.#move(files, undefined, share)
  }

  unshare(files: Files): Promise<number> {
    return this.#move(files, this.#options.membership.machine, unshare)
  }

  /** Makes another machine the owner of the workspace. */
  async handOver(workspace: string, machine: string): Promise<void> {
    const { id } = new SharedFile(this.#options.dataDir, workspace).read() as { id: string }
    const done = await this.#asked(workspace, () => handOver(this.#cluster, id, machine))
    const why = `the cluster has no machine ${machine}`
    if (done === 'unknown') throw new RefusalError('input.invalid', { operation: 'workspace.hand-over', why })
    if (done === 'owner') throw new RefusalError('cluster.owned', { workspace })
    if (done !== 'ok') throw new RefusalError(`machine.${done}`, { workspace })
  }

  /** Brings back entries that the cluster has lost, as far as this machine may. The workspace must be closed. */
  reconcile(files: Files, tell: Tell): ReturnType<typeof reconcile> {
    return this.#move(files, this.#options.membership.machine, (moving) => reconcile(moving, files.beside, tell))
  }

  /** Brings back entries like `reconcile`, for a workspace that is open. Undefined if it has to be closed: then its database is replaced by another copy. */
  async bringBack(name: string, id: string, tell: Tell): Promise<Reconciled | undefined> {
    return this.#asked(name, async () => this.#open.get(id)?.bringBack(tell))
  }

  /** Finishes a move of a workspace that was cut off. Returns whether the workspace is shared. */
  finishMove(files: Files): Promise<boolean> {
    const shared = new SharedFile(this.#options.dataDir, files.name).read()
    const machine = shared?.phase === 'leaving' ? this.#options.membership.machine : undefined
    return this.#move(files, machine, (moving) => finishMove(moving, shared ?? {}))
  }

  /** Handles the removal of this machine: each of its workspaces learns of that by a look at the cluster, and is only read from here on. */
  #leave(): void {
    const { membership, onTrouble } = this.#options
    for (const opened of this.#open.values()) opened.look()
    onTrouble(new RefusalError('machine.revoked', { workspace: placeText(membership) }))
  }

  async close(): Promise<void> {
    await this.#presence.close()
    await this.#cluster.close()
  }

  async #move<T>(
    { name, database, beside }: Files,
    own: string | undefined,
    work: (moving: Moving) => Promise<T>,
  ): Promise<T> {
    const { dataDir, membership, clock, ids } = this.#options
    const store = new Store(database, beside, own)
    try {
      const moving = { name, id: store.meta('id') as string, store, file: new SharedFile(dataDir, name), ids }
      const cluster = { cluster: this.#cluster, machine: membership.machine, now: () => clock.now() }
      return await this.#asked(name, () => work({ ...moving, ...cluster }))
    } finally {
      store.close()
    }
  }

  /** Runs work on the cluster and turns its failures into refusals. `name`: the workspace that the work is for, if any. */
  async #asked<T>(name: string | undefined, work: () => Promise<T>): Promise<T> {
    const workspace = name === undefined ? {} : { workspace: name }
    try {
      return await work()
    } catch (error) {
      if (error instanceof LoginRefused) throw new RefusalError('machine.revoked', { ...workspace, ...doubtOf(error) })
      if (!(error instanceof ClusterUnreachable)) throw error
      throw new RefusalError(unreachedRefusal(error, { ...workspace, place: placeText(this.#options.membership) }))
    }
  }
}
