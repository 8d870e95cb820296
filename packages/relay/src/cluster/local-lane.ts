// The local lane: commands on an agent's own mail are decided and stored on the agent's home machine alone, without asking the cluster. So only one machine
// shows a message, and an agent on a machine without a network can go on reading.
//
// Before a command is refused, this machine fetches the latest entries of the shared journal, because the message or channel may not have arrived yet.

import { daemonName, type Ids, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { CommandReply, Engine, Submission } from '../broker/engine.ts'
import { LocalEngine, type LocalEngineOptions } from '../broker/local-engine.ts'
import type { RuleName } from '../core/decide.ts'
import { homeOnOtherMachine } from '../core/homes.ts'
import type { EntryDraft, JournalEntry } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import { KeyedQueue } from '../machine/keyed-queue.ts'
import type { Notes } from './notes.ts'
import type { Replica } from './replica.ts'
import { isStopRefusal } from './stops.ts'

export interface LocalLaneOptions {
  machine: string
  replica: Replica
  clock: Clock
  ids: Ids
  world: World
  notes: Notes
  /** The engine that decides commands against the shared journal. */
  shared: Pick<Engine, 'submit'>
  /** Fetches and applies all entries that the cluster has by now. Returns a refusal if that failed. */
  catchUp(): Promise<Refusal | undefined>
  onFatal(error: Error): void
}

export class LocalLane {
  readonly #options: LocalLaneOptions
  readonly #engine: LocalEngine
  #isClosed = false
  /** Agents whose home is being moved to another machine. Their commands wait until the new home is known. */
  readonly #leaving = new KeyedQueue()

  constructor(options: LocalLaneOptions) {
    this.#options = options
    const { replica, clock, ids, world, onFatal } = options
    this.#engine = new LocalEngine({ store: this.#store(), hub: replica.hub, clock, ids, world, onFatal })
  }

  get isIdle(): boolean {
    return this.#engine.isIdle
  }

  close(refused: Refusal): void {
    this.#isClosed = true
    this.#engine.close(refused)
  }

  async submit(submission: Submission<RuleName>): Promise<CommandReply> {
    const reply = await this.#try(submission)
    if (!('refusal' in reply) || reply.refusal.code === 'fault') return reply
    const unreached = await this.#options.catchUp()
    if (!unreached) return this.#try(submission)
    // If this machine has stopped following the cluster, no new entries can change the first refusal.
    return isStopRefusal(unreached) ? reply : { refusal: unreached }
  }

  async #try(submission: Submission<RuleName>): Promise<CommandReply> {
    const { by } = submission
    const refused = await this.#enter(submission)
    if (refused) return refused
    await this.#leaving.whenFree(by)
    const stranger = this.#refuseIfElsewhere(by)
    if (stranger) return { refusal: stranger }
    const reply = await this.#engine.submit(submission)
    if ('refusal' in reply) return reply
    this.#options.notes.schedule()
    return { ...reply, seq: this.#options.replica.position.seq }
  }

  /**
   * If an agent takes messages of a channel that it is not in, joins the channel first. The join goes into the shared journal, because every machine has to
   * know of it.
   */
  async #enter({ rule, input, by, cause }: Submission<RuleName>): Promise<CommandReply | undefined> {
    const { channel } = input as { channel?: string }
    const { replica, shared } = this.#options
    if (rule !== 'inbox.take' || channel === undefined || replica.store.view.isMember(by, channel)) return undefined
    const reply = await shared.submit({ rule: 'channel.join', input: { channel }, by, cause: `${cause} join` })
    return 'refusal' in reply ? reply : undefined
  }

  /** Refuses an agent whose home is another machine, so that no two machines hand out the same messages. */
  #refuseIfElsewhere(agent: string): Refusal | undefined {
    const { replica, world } = this.#options
    const { view } = replica.store
    if (view.home(agent) === undefined) return refusal('agent.required')
    const home = homeOnOtherMachine(view, world, agent)
    return home && refusal('agent.elsewhere', { name: agent, machine: home.machine })
  }

  /** Returns the store in the form that the engine needs. Entries go into this machine's own journal (the local journal). */
  #store(): LocalEngineOptions['store'] {
    const { store } = this.#options.replica
    const append = (draft: EntryDraft): JournalEntry | undefined => {
      // The agent's home may have moved while the command waited.
      const stranger = this.#refuseIfElsewhere(draft.by)
      if (stranger) throw new RefusalError(stranger)
      const entry = store.appendLocal(draft)
      // Entries of the local journal have no number in the shared journal.
      return entry && { ...entry, seq: 0 }
    }
    const answered = (by: string, cause: string) => store.local?.recordedAnswer(by, cause)
    return {
      view: store.view,
      transact: (work) => store.transact(work),
      append,
      journal: { recordedAnswer: answered, lastSeq: 0 },
    }
  }

  /**
   * Makes another machine the home of an agent. Before that, reports everything that was done with the agent's messages here, so that no message is shown
   * twice.
   */
  release(agent: string, machine: string): Promise<CommandReply> {
    return this.#leaving.run(agent, () => this.#letGo(agent, machine))
  }

  async #letGo(agent: string, machine: string): Promise<CommandReply> {
    const { ids, shared, notes } = this.#options
    while (!this.#engine.isIdle) await new Promise((resolve) => void setImmediate(resolve))
    const untold = await notes.flush()
    if (untold) return { refusal: untold }
    const command = { rule: 'agent.home', input: { agent, machine }, by: daemonName, cause: ids('d') } as const
    for (;;) {
      const reply = await shared.submit(command)
      // If the outcome is unknown, asks again: until it is known, this machine may show the agent no messages.
      const isKnown = !('refusal' in reply) || reply.refusal.code !== 'cluster.unknown'
      if (isKnown || this.#isClosed) return reply
    }
  }
}
