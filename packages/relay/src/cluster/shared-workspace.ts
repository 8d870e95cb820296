// A shared workspace as this machine has it open: its replica, what follows the others, and the engine that decides. To the rest of the daemon it
// is the workspace's engine.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { Engine, Reply, Submission } from '../broker/engine.ts'
import type { SharingParts } from '../broker/sharing.ts'
import { type OtherMachines, worldWith } from '../broker/sharing.ts'
import type { RuleInput, RuleName } from '../core/decide.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { systemClock } from '../machine/clock.ts'
import { type Deciding, knownAnswer } from './batch.ts'
import type { ClusterJournal } from './cluster-journal.ts'
import { Contact } from './contact.ts'
import { Follower } from './follower.ts'
import { bringBackMore, isDiverged, type Reconciled, type Tell } from './reconciling.ts'
import { Replica } from './replica.ts'
import { SharedEngine } from './shared-engine.ts'
import { isStopRefusal } from './stops.ts'
import { isUnreachedRefusal } from './unreached.ts'

/** Who leaves waits this long for the others to be told what was done with mail here. What was not told is told after the next start. */
const tellMs = 1_000

/** So long the cluster is waited for before who is known is let in. */
const knownMs = 1_500

/** The home of an agent is asked to let it go. */
interface ReleaseQuestion {
  op: 'home.release'
  agent: string
}

export class SharedWorkspace implements Engine {
  readonly #parts: SharingParts
  readonly #machine: string
  readonly #journal: ClusterJournal
  readonly #otherMachines: OtherMachines & { leave(): void }
  readonly #contact: Contact
  readonly #replica: Replica
  readonly #engine: SharedEngine
  readonly #follower: Follower
  readonly #deciding: Deciding
  #isClosed = false
  /** The first look at the cluster is over, however it went. */
  readonly looked: Promise<void>

  /** `place`: the server of the cluster, as people know it. */
  constructor(
    parts: SharingParts,
    { machine, place }: { machine: string; place: string },
    cluster: ClusterJournal,
    otherMachines: OtherMachines & { leave(): void },
  ) {
    this.#parts = parts
    this.#machine = machine
    this.#otherMachines = otherMachines
    const { store, hub, clock, ids, here, onTrouble } = parts
    const world = worldWith(here, otherMachines)
    this.#replica = new Replica(store, hub, ({ seq, machine: other, why }) =>
      onTrouble(new Error(`entry ${seq} of the machine ${other} in "${parts.name}" counts for nothing: ${why}`)),
    )
    // Stamped by the clock of the workspace; what is waited for is the network, by that of this computer.
    const replica = this.#replica
    const ownClock = { ...systemClock, now: () => clock.now() }
    this.#contact = new Contact(place, ownClock)
    this.#journal = this.#contact.watched(cluster)
    const own = { replica, journal: this.#journal, contact: this.#contact, onTrouble, clock: ownClock }
    this.#deciding = { workspace: parts.name, replica, clock: own.clock, ids, world }
    const onStopped = (refused: Refusal) => onTrouble(new RefusalError(refused))
    this.#engine = new SharedEngine({ ...own, workspace: parts.name, machine, ids, world, onStopped })
    this.#follower = new Follower({ ...own, onStopped: (stopped) => this.#engine.stop(stopped) })
    this.looked = this.#follower.look()
  }

  /** The cluster has answered for the first time. */
  get reached(): Promise<void> {
    return this.#follower.reached
  }

  /** There may be news of it. */
  look(): void {
    void this.#follower.look()
  }

  get trouble(): Engine['trouble'] {
    const { stopped } = this.#engine
    if (stopped) return { stopped: { code: stopped.code, text: stopped.message } }
    const { cutOff } = this.#contact
    return cutOff && { cutOff }
  }

  /** Brings back what a failover had lost and could not be brought back before. Undefined after one of which nothing has been brought back yet. */
  async bringBack(tell: Tell): Promise<Reconciled | undefined> {
    const [replica, { name, store }] = [this.#replica, this.#parts]
    if (await isDiverged(name, this.#journal, replica)) return undefined
    await this.#follower.look()
    return bringBackMore({ machine: this.#machine, engine: this.#engine, replica }, store.database.path, tell)
  }

  get isIdle(): boolean {
    return this.#engine.isIdle
  }

  async submit<R extends RuleName>(submission: Submission<R>): Promise<Reply> {
    const reply = await this.#ask(submission)
    const isElsewhere = 'refusal' in reply && reply.refusal.code === 'agent.elsewhere'
    if (!isElsewhere || submission.rule !== 'agent.register') return reply
    const { name, proven } = submission.input as RuleInput<'agent.register'>
    if (!proven) return reply
    const refused = await this.#bring(name)
    return refused ? { refusal: refused } : this.#engine.submit(submission)
  }

  /** Who is known here may come in and read what there is, while the cluster does not answer or for good: nothing is written for that. */
  async #ask<R extends RuleName>(submission: Submission<R>): Promise<Reply> {
    const asked = this.#engine.submit(submission)
    if (submission.rule !== 'agent.register') return asked
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), knownMs)))
    const reply = await Promise.race([asked, late])
    clearTimeout(timer)
    const isCut = reply && 'refusal' in reply && (isStopRefusal(reply.refusal) || isUnreachedRefusal(reply.refusal))
    if ((reply && !isCut) || this.#isClosed) return reply ?? asked
    return knownAnswer(submission as unknown as Submission<'agent.register'>, this.#deciding) ?? asked
  }

  /** The agent has come here, and is at home elsewhere. Nothing is moved that its home does not let go. */
  async #bring(agent: string): Promise<Refusal | undefined> {
    const machine = this.#parts.store.view.home(agent)?.machine
    if (machine === undefined || machine === this.#machine) return undefined
    const isSeen = this.#otherMachines.isSeen(machine)
    const question: ReleaseQuestion = { op: 'home.release', agent }
    const answer = isSeen ? await this.#otherMachines.ask(machine, question).catch(() => undefined) : undefined
    if (isReleased(answer)) return undefined
    if (isRefused(answer)) return refusal('agent.in-use-elsewhere', { name: agent, machine })
    return refusal('agent.home-away', { name: agent, machine })
  }

  /** Another machine asks something of this one. */
  async answer(machine: string, question: unknown): Promise<unknown> {
    const { op, agent } = (question ?? {}) as Partial<ReleaseQuestion>
    if (op !== 'home.release') return this.#parts.carryOut(machine, question)
    if (typeof agent !== 'string') return { refused: 'operation.unknown' }
    if (this.#parts.isInUse(agent)) return { refused: 'agent.in-use' }
    const reply = await this.#engine.release(agent, machine)
    return 'refusal' in reply ? { refused: reply.refusal.code } : { released: true }
  }

  /** Of an entry of another machine: fetched when somebody asks for it, and kept. */
  async payload(seq: number): Promise<Uint8Array | undefined> {
    const payload = await this.#journal.payload(seq)
    if (payload) this.#parts.store.keepPayload(seq, payload)
    return payload
  }

  /** What was done with mail here is told to the others, if they can be reached soon. */
  async leave(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, tellMs)))
    await Promise.race([this.#engine.tell(), late])
    clearTimeout(timer)
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
