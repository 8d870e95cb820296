// A shared workspace that is open on this machine: its replica, the follower that fetches other machines' entries, and the engine that decides commands. The
// rest of the daemon uses this object as the workspace's engine.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { CommandReply, Engine, Submission } from '../broker/engine.ts'
import { type LocalMachine, type OtherMachines, type SharingParts, worldWithOtherMachines } from '../broker/sharing.ts'
import type { RuleInput, RuleName } from '../core/decide.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { systemClock } from '../machine/clock.ts'
import { resultWithin } from '../machine/within.ts'
import { type DecisionContext, registerFromReplica } from './batch.ts'
import type { ClusterJournal } from './cluster-journal.ts'
import { Follower } from './follower.ts'
import { ClusterReachability } from './reachability.ts'
import { isDiverged, type ReconcileResult, type ReportProgress, restoreWaitingEntries } from './reconciling.ts'
import { Replica } from './replica.ts'
import { SharedEngine } from './shared-engine.ts'
import { isStopRefusal } from './stops.ts'
import { isUnreachedRefusal } from './unreached.ts'

/** How long a workspace that closes waits until its latest receipts are reported to the other machines. What is left is reported after the next start. */
const tellMs = 1_000

/** How long a known agent that connects waits for the cluster. Then it is let in without the cluster. */
const knownMs = 1_500

/** Asks an agent's home machine to make the asking machine the agent's home. */
interface ReleaseQuestion {
  op: 'home.release'
  agent: string
}

export class SharedWorkspace implements Engine {
  readonly #parts: SharingParts
  readonly #machine: string
  readonly #journal: ClusterJournal
  readonly #otherMachines: OtherMachines & { leave(): void }
  readonly #reachability: ClusterReachability
  readonly #replica: Replica
  readonly #engine: SharedEngine
  readonly #follower: Follower
  readonly #deciding: DecisionContext
  #served: LocalMachine | undefined
  #isClosed = false
  /** Resolves when the first attempt to fetch entries from the cluster is over, successful or not. */
  readonly looked: Promise<void>

  /** `place`: the cluster's server, in the form that people are shown. */
  constructor(
    parts: SharingParts,
    { machine, place }: { machine: string; place: string },
    cluster: ClusterJournal,
    otherMachines: OtherMachines & { leave(): void },
  ) {
    this.#parts = parts
    this.#machine = machine
    this.#otherMachines = otherMachines
    const { store, hub, clock, ids, localWorld, onTrouble } = parts
    const world = worldWithOtherMachines(localWorld, otherMachines)
    this.#replica = new Replica(store, hub, ({ seq, machine: other, why }) =>
      onTrouble(new Error(`entry ${seq} of machine ${other} in "${parts.name}" is ignored: ${why}`)),
    )
    // Entries get their times from the workspace's clock. Timeouts use this computer's clock, because they are about the network.
    const replica = this.#replica
    const ownClock = { ...systemClock, now: () => clock.now() }
    this.#reachability = new ClusterReachability(place, ownClock)
    this.#journal = this.#reachability.watchJournal(cluster)
    const own = { replica, journal: this.#journal, reachability: this.#reachability, onTrouble, clock: ownClock }
    this.#deciding = { workspace: parts.name, replica, clock: own.clock, ids, world }
    const onStopped = (refused: Refusal) => onTrouble(new RefusalError(refused))
    this.#engine = new SharedEngine({ ...own, workspace: parts.name, machine, ids, world, onStopped })
    this.#follower = new Follower({ ...own, onStopped: (stopped) => this.#engine.stop(stopped) })
    this.looked = this.#follower.catchUp()
  }

  /** Resolves once the cluster has answered for the first time. */
  get reached(): Promise<void> {
    return this.#follower.reached
  }

  /** Starts to fetch new entries from the cluster's journal; does not wait for them. */
  lookForEntries(): void {
    void this.#follower.catchUp()
  }

  get trouble(): Engine['trouble'] {
    const { stopped } = this.#engine
    if (stopped) return { stopped: { code: stopped.code, text: stopped.message } }
    const { cutOff } = this.#reachability
    return cutOff && { cutOff }
  }

  get replicaLagMs(): number {
    return this.#follower.lagMs
  }

  /**
   * Brings back entries lost in a failover that earlier reconciliations could not bring back. Undefined if the workspace has to be reconciled first, which
   * needs it closed.
   */
  async bringBack(tell: ReportProgress): Promise<ReconcileResult | undefined> {
    const [replica, { name, store }] = [this.#replica, this.#parts]
    if (await isDiverged(name, this.#journal, replica)) return undefined
    await this.#follower.catchUp()
    return restoreWaitingEntries({ machine: this.#machine, engine: this.#engine, replica }, store.database.path, tell)
  }

  get isIdle(): boolean {
    return this.#engine.isIdle
  }

  async submit<R extends RuleName>(submission: Submission<R>): Promise<CommandReply> {
    const reply = await this.#ask(submission)
    const isElsewhere = 'refusal' in reply && reply.refusal.code === 'agent.elsewhere'
    if (!isElsewhere || submission.rule !== 'agent.register') return reply
    const { name, proven } = submission.input as RuleInput<'agent.register'>
    if (!proven) return reply
    const refused = await this.#bring(name)
    return refused ? { refusal: refused } : this.#engine.submit(submission)
  }

  /**
   * Submits a command. If the cluster does not answer, or this machine no longer follows it, a known agent may still register and read the messages on this
   * machine. Nothing is stored for such a registration.
   */
  async #ask<R extends RuleName>(submission: Submission<R>): Promise<CommandReply> {
    const asked = this.#engine.submit(submission)
    if (submission.rule !== 'agent.register') return asked
    const reply = await resultWithin(asked, knownMs)
    const isCut = reply && 'refusal' in reply && (isStopRefusal(reply.refusal) || isUnreachedRefusal(reply.refusal))
    if ((reply && !isCut) || this.#isClosed) return reply ?? asked
    return registerFromReplica(submission as unknown as Submission<'agent.register'>, this.#deciding) ?? asked
  }

  /** Makes this machine the home of an agent, if the agent's present home machine agrees. */
  async #bring(agent: string): Promise<Refusal | undefined> {
    const machine = this.#parts.store.view.home(agent)?.machine
    if (machine === undefined || machine === this.#machine) return undefined
    const isSeen = this.#otherMachines.isReached(machine)
    const question: ReleaseQuestion = { op: 'home.release', agent }
    const answer = isSeen ? await this.#otherMachines.ask(machine, question).catch(() => undefined) : undefined
    if (isReleased(answer)) return undefined
    if (isRefused(answer)) return refusal('agent.in-use-elsewhere', { name: agent, machine })
    return refusal('agent.home-away', { name: agent, machine })
  }

  /** Begins to answer questions of other machines. */
  serve(here: LocalMachine): void {
    this.#served = here
  }

  /** Answers a question of another machine. Undefined before `serve` was called. */
  async answer(machine: string, question: unknown): Promise<unknown> {
    const here = this.#served
    if (!here) return undefined
    const { op, agent } = (question ?? {}) as Partial<ReleaseQuestion>
    if (op !== 'home.release') return here.carryOutRequest(machine, question)
    if (typeof agent !== 'string') return { refused: 'operation.unknown' }
    if (here.isInUse(agent)) return { refused: 'agent.in-use' }
    const reply = await this.#engine.release(agent, machine)
    return 'refusal' in reply ? { refused: reply.refusal.code } : { released: true }
  }

  /** Fetches the payload of an entry of another machine, when somebody asks for it, and stores it here. */
  async fetchPayload(seq: number): Promise<Uint8Array | undefined> {
    const payload = await this.#journal.payload(seq)
    if (payload) this.#parts.store.keepPayload(seq, payload)
    return payload
  }

  /** Reports the latest receipts to the other machines, if that is possible within a second. */
  async reportBeforeClose(): Promise<void> {
    await resultWithin(this.#engine.reportReceipts(), tellMs)
  }

  close(refused: Refusal): void {
    this.#isClosed = true
    this.#follower.stop()
    this.#otherMachines.leave()
    this.#engine.close(refused)
  }
}

function isReleased(answer: unknown): boolean {
  return (answer as { released?: unknown } | undefined)?.released === true
}

function isRefused(answer: unknown): boolean {
  return (answer as { refused?: unknown } | undefined)?.refused !== undefined
}
