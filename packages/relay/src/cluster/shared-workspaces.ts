// The shared workspaces of this daemon, and its connection to the cluster, which is made when the first of them is opened. Also moves workspaces into the
// cluster and out of it.

import type { Ids } from '@agent-relay/sdk/protocol'
import type { LocalMachine, Sharing, SharingParts } from '../broker/sharing.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { type Clock, systemClock } from '../machine/clock.ts'
import {
  ClusterFile,
  type ClusterMembership,
  clusterAddressText,
  requestsAllowedTo,
  SharedWorkspaceFile,
} from '../machine/cluster-file.ts'
import { resultWithin } from '../machine/within.ts'
import { Store } from '../store/store.ts'
import { ClusterUnreachable } from './cluster-journal.ts'
import { finishMove, share, unshare, type WorkspaceMove } from './moving.ts'
import { LoginRefused, loginFaultReason } from './postgres/connection.ts'
import { handOver } from './postgres/moving.ts'
import { type ListedWorkspace, PostgresCluster } from './postgres/postgres-cluster.ts'
import { type ClusterStatus, clusterStatusOf } from './postgres/status.ts'
import { Presence } from './presence.ts'
import { Questions } from './questions.ts'
import { type ReconcileResult, type ReportProgress, reconcile } from './reconciling.ts'
import { SharedWorkspace } from './shared-workspace.ts'
import { unreachedRefusal } from './unreached.ts'

/** How long opening a workspace waits for entries of other machines. Then it is opened without them. */
const catchUpMs = 3_000

/** How long a list of machines waits for the cluster. Then the list shows what is known already. */
const machinesMs = 1_500

export interface SharedWorkspacesOptions {
  dataDir: string
  membership: ClusterMembership
  clock: Clock
  ids: Ids
  onTrouble(error: Error): void
}

/** The files of a workspace on this machine. Nothing has its database open. */
export interface WorkspaceFiles {
  name: string
  database: string
  /** Other files that must still be in place whenever the daemon writes, such as its lock. */
  beside: readonly string[]
}

export class SharedWorkspaces {
  readonly #options: SharedWorkspacesOptions
  readonly #cluster: PostgresCluster
  readonly #presence: Presence
  readonly #questions: Questions
  readonly #open = new Map<string, SharedWorkspace>()
  /** The machines as the cluster last listed them. */
  #knownMachines: ClusterStatus['machines'] = []
  #machinesQuestion: Promise<void> | undefined

  constructor(options: SharedWorkspacesOptions) {
    this.#options = options
    this.#cluster = new PostgresCluster(options.membership)
    this.#questions = new Questions(this.#cluster, options.ids, async (workspace, machine, input) =>
      this.#open.get(workspace)?.answer(machine, input),
    )
    this.#presence = new Presence(this.#cluster, systemClock, {
      // A failure needs no handling: the next presence broadcast tries again.
      onBeat: () => void this.#questions.checkForNews().catch(() => {}),
      onRemoved: () => this.#leave(),
    })
  }

  /**
   * Returns the functions with which the daemon opens a shared workspace of this id. `looked`: resolves once the cluster has answered or a timeout has
   * passed. `reached`: resolves once the cluster has answered, perhaps hours later.
   */
  sharing(id: string): Sharing & { machine: string; looked(): Promise<void>; reached(): Promise<void> } {
    const { dataDir, membership } = this.#options
    const [{ machine }, place] = [membership, clusterAddressText(membership)]
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
      const serve = (here: LocalMachine) => {
        opened?.serve(here)
        present.report(() => here.agents())
      }
      return { engine: opened, otherMachines, serve }
    }
    const looked = async () => opened && resultWithin(opened.looked, catchUpMs)
    const reached = async () => opened?.reached
    // The cluster file is read again at each call, because a command may have changed it; the daemon itself never writes it.
    const file = new ClusterFile(dataDir)
    const allows: Sharing['allows'] = (other, kind) => file.allows(other, kind, () => this.#askForMachines())
    const machines = async () => {
      const [listed, own] = [await this.#machines(), file.read() ?? {}]
      return listed.map((each) => ({ ...each, may: requestsAllowedTo(own, each) }))
    }
    return { machine, allows, machines, open, looked, reached }
  }

  async #askForMachines(): Promise<ClusterStatus['machines']> {
    return (await this.#cluster.asReader(clusterStatusOf))?.machines ?? []
  }

  async #learn(): Promise<void> {
    try {
      this.#knownMachines = await this.#askForMachines()
    } catch {
      // Ignored: the cluster cannot be reached, or this machine was removed, and people are shown that beside the list.
    }
    this.#machinesQuestion = undefined
  }

  /** Lists the machines. Simultaneous callers share one call to the cluster: while it cannot be reached, they would otherwise wait one after the other. */
  async #machines(): Promise<ClusterStatus['machines']> {
    this.#machinesQuestion ??= this.#learn()
    await resultWithin(this.#machinesQuestion, machinesMs)
    return this.#knownMachines
  }

  /** Broadcasts, within milliseconds, which agents are connected on this machine. Called when an agent has connected or left. */
  presenceChanged(): void {
    this.#presence.reportSoon()
  }

  /** Lists the cluster's workspaces, without those that are still being copied into it. Throws a refusal if the cluster does not answer. */
  async list(): Promise<ListedWorkspace[]> {
    const all = await this.#askCluster(undefined, () => this.#cluster.workspaces())
    return all.filter(({ format }) => format > 0)
  }

  /** Moves a workspace into the cluster. Returns the number of its entries. */
  share(files: WorkspaceFiles): Promise<number> {
    return this.#move(files, undefined, share)
  }

  unshare(files: WorkspaceFiles): Promise<number> {
    return this.#move(files, this.#options.membership.machine, unshare)
  }

  /** Makes another machine the owner of the workspace. */
  async handOver(workspace: string, machine: string): Promise<void> {
    const { id } = new SharedWorkspaceFile(this.#options.dataDir, workspace).read() as { id: string }
    const done = await this.#askCluster(workspace, () => handOver(this.#cluster, id, machine))
    const why = `the cluster has no machine ${machine}`
    if (done === 'unknown') throw new RefusalError('input.invalid', { operation: 'workspace.hand-over', why })
    if (done === 'owner') throw new RefusalError('cluster.owned', { workspace })
    if (done !== 'ok') throw new RefusalError(`machine.${done}`, { workspace })
  }

  /** Brings back entries that the cluster has lost, as far as this machine may. The workspace must be closed. */
  reconcile(files: WorkspaceFiles, tell: ReportProgress): ReturnType<typeof reconcile> {
    return this.#move(files, this.#options.membership.machine, (moving) => reconcile(moving, files.beside, tell))
  }

  /**
   * Brings back further entries like `reconcile`, but into an open workspace. Undefined if the workspace has to be closed for it, because its database would
   * be replaced.
   */
  async bringBack(name: string, id: string, tell: ReportProgress): Promise<ReconcileResult | undefined> {
    return this.#askCluster(name, async () => this.#open.get(id)?.bringBack(tell))
  }

  /** Finishes a move of a workspace that was interrupted. Returns whether the workspace is shared. */
  finishMove(files: WorkspaceFiles): Promise<boolean> {
    const shared = new SharedWorkspaceFile(this.#options.dataDir, files.name).read()
    const machine = shared?.phase === 'leaving' ? this.#options.membership.machine : undefined
    return this.#move(files, machine, (moving) => finishMove(moving, shared ?? {}))
  }

  /**
   * Handles the removal of this machine from the cluster: each open workspace asks the cluster, learns that it was removed, and can only be read from then
   * on.
   */
  #leave(): void {
    const { membership, onTrouble } = this.#options
    for (const opened of this.#open.values()) opened.lookForEntries()
    onTrouble(new RefusalError('machine.revoked', { workspace: clusterAddressText(membership) }))
  }

  async close(): Promise<void> {
    await this.#presence.close()
    await this.#cluster.close()
  }

  async #move<T>(
    { name, database, beside }: WorkspaceFiles,
    own: string | undefined,
    work: (moving: WorkspaceMove) => Promise<T>,
  ): Promise<T> {
    const { dataDir, membership, clock, ids } = this.#options
    const store = new Store(database, beside, own)
    try {
      const moving = { name, id: store.meta('id') as string, store, file: new SharedWorkspaceFile(dataDir, name), ids }
      const cluster = { cluster: this.#cluster, machine: membership.machine, now: () => clock.now() }
      return await this.#askCluster(name, () => work({ ...moving, ...cluster }))
    } finally {
      store.close()
    }
  }

  /** Runs work on the cluster, and turns failures of the cluster into refusals. `name`: the workspace that the work is for, if any. */
  async #askCluster<T>(name: string | undefined, work: () => Promise<T>): Promise<T> {
    const workspace = name === undefined ? {} : { workspace: name }
    try {
      return await work()
    } catch (error) {
      if (error instanceof LoginRefused)
        throw new RefusalError('machine.revoked', { ...workspace, ...loginFaultReason(error) })
      if (!(error instanceof ClusterUnreachable)) throw error
      throw new RefusalError(
        unreachedRefusal(error, { ...workspace, place: clusterAddressText(this.#options.membership) }),
      )
    }
  }
}
