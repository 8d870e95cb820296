// The shared workspaces of this daemon: its way to the cluster, which it takes when the first of them is opened, and what it does with one there.

import type { Ids } from '@agent-relay/sdk/protocol'
import type { Sharing, SharingParts } from '../broker/sharing.ts'
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

/** How long the opening of a workspace waits for what the others have written meanwhile. It goes on without. */
const catchUpMs = 3_000

/** So long a list of machines waits for the cluster; it then has what was known before. */
const machinesMs = 1_500

export interface SharedWorkspacesOptions {
  dataDir: string
  membership: Membership
  clock: Clock
  ids: Ids
  onTrouble(error: Error): void
}

/** A database of this machine that nobody has open. */
export interface Files {
  name: string
  database: string
  /** Other files without which nothing may be written. */
  beside: readonly string[]
}

export class SharedWorkspaces {
  readonly #options: SharedWorkspacesOptions
  readonly #cluster: PostgresCluster
  readonly #presence: Presence
  readonly #questions: Questions
  readonly #open = new Map<string, SharedWorkspace>()
  /** The machines as the cluster has listed them last. */
  #known: ClusterStatus['machines'] = []
  #asking: Promise<void> | undefined

  constructor(options: SharedWorkspacesOptions) {
    this.#options = options
    this.#cluster = new PostgresCluster(options.membership)
    this.#questions = new Questions(this.#cluster, options.ids, async (workspace, machine, input) =>
      this.#open.get(workspace)?.answer(machine, input),
    )
    this.#presence = new Presence(this.#cluster, systemClock, {
      // Out of reach: the next beat looks again.
      onBeat: () => void this.#questions.look().catch(() => {}),
      onRemoved: () => this.#leave(),
    })
  }

  /**
   * What the workspace of this id is opened with. `looked`: the cluster was asked what has happened meanwhile, or is out of reach. `reached`: it
   * has answered, perhaps hours later.
   */
  sharing(id: string): Sharing & { looked(): Promise<void>; reached(): Promise<void> } {
    const { dataDir, membership } = this.#options
    const [{ machine }, place] = [membership, placeText(membership)]
    let opened: SharedWorkspace | undefined
    const open = (parts: SharingParts) => {
      const present = this.#presence.enter(id, () => parts.present())
      const leave = () => {
        present.leave()
        if (this.#open.get(id) === opened) this.#open.delete(id)
      }
      const ask = (other: string, question: object) => this.#questions.ask(id, other, question)
      const otherMachines = { ...present, ask, leave }
      opened = new SharedWorkspace(parts, { machine, place }, this.#cluster.journal(id), otherMachines)
      this.#open.set(id, opened)
      return { engine: opened, otherMachines }
    }
    const looked = async () => {
      const late = new Promise<void>((resolve) => void setTimeout(resolve, catchUpMs).unref())
      await Promise.race([opened?.looked, late])
    }
    const reached = async () => opened?.reached
    // Read again each time; the daemon never writes it.
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
      // Out of reach, or this machine was removed: whoever asks is told so beside the list.
    }
    this.#asking = undefined
  }

  /** Several who ask at once are answered together: where the cluster is out of reach, they would wait behind each other. */
  async #machines(): Promise<ClusterStatus['machines']> {
    this.#asking ??= this.#learn()
    const late = new Promise<void>((resolve) => void setTimeout(resolve, machinesMs).unref())
    await Promise.race([this.#asking, late])
    return this.#known
  }

  /** Somebody came or went. */
  changed(): void {
    this.#presence.soon()
  }

  /** Those that are whole. Throws a refusal where the cluster does not answer. */
  async list(): Promise<Listed[]> {
    const all = await this.#asked(undefined, () => this.#cluster.workspaces())
    return all.filter(({ format }) => format > 0)
  }

  /** Answers how many entries it has. */
  share(files: Files): Promise<number> {
    return this.#move(files, undefined, share)
  }

  unshare(files: Files): Promise<number> {
    return this.#move(files, this.#options.membership.machine, unshare)
  }

  /** From now on the workspace belongs to another machine. */
  async handOver(workspace: string, machine: string): Promise<void> {
    const { id } = new SharedFile(this.#options.dataDir, workspace).read() as { id: string }
    const done = await this.#asked(workspace, () => handOver(this.#cluster, id, machine))
    const why = `the cluster has no machine ${machine}`
    if (done === 'unknown') throw new RefusalError('input.invalid', { operation: 'workspace.hand-over', why })
    if (done === 'owner') throw new RefusalError('cluster.owned', { workspace })
    if (done !== 'ok') throw new RefusalError(`machine.${done}`, { workspace })
  }

  /** What the cluster has lost is brought back, as far as this machine may. */
  reconcile(files: Files, tell: Tell): ReturnType<typeof reconcile> {
    return this.#move(files, this.#options.membership.machine, (moving) => reconcile(moving, files.beside, tell))
  }

  /** The same for one that is open. Undefined where it has to be closed for that: the database has lost something, and it goes on with another copy. */
  async bringBack(name: string, id: string, tell: Tell): Promise<Reconciled | undefined> {
    return this.#asked(name, async () => this.#open.get(id)?.bringBack(tell))
  }

  /** A move was cut off. Answers whether the workspace is shared. */
  finishMove(files: Files): Promise<boolean> {
    const shared = new SharedFile(this.#options.dataDir, files.name).read()
    const machine = shared?.phase === 'leaving' ? this.#options.membership.machine : undefined
    return this.#move(files, machine, (moving) => finishMove(moving, shared ?? {}))
  }

  /** This machine was removed: each of its workspaces finds so when it looks, and is read from here on. */
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

  /** `name`: of a workspace, if it is asked for one. */
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
