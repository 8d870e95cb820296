// The machines of a simulated cluster: each has a replica, an engine and a follower, and a wire to the cluster that delays and loses.

import { makeIds, refusal } from '@agent-relay/sdk/protocol'
import type { CommandReply, Submission } from '../../../packages/relay/src/broker/engine.ts'
import { EntryHub } from '../../../packages/relay/src/broker/hub.ts'
import { type ClusterJournal, ClusterUnreachable } from '../../../packages/relay/src/cluster/cluster-journal.ts'
import { Follower } from '../../../packages/relay/src/cluster/follower.ts'
import { Replica } from '../../../packages/relay/src/cluster/replica.ts'
import { SharedEngine } from '../../../packages/relay/src/cluster/shared-engine.ts'
import type { RuleName } from '../../../packages/relay/src/core/decide.ts'
import type { Database } from '../../../packages/relay/src/store/database.ts'
import { Store } from '../../../packages/relay/src/store/store.ts'
import type { FakeCluster, Wire } from '../../../packages/relay/tests/cluster/fake-cluster.ts'
import type { Random } from '../random.ts'
import { giveBack, lend } from './kept-database.ts'
import type { Timeline } from './timeline.ts'

/** After so long without an answer a connection is given up. */
const silenceMs = 5_000

/** Changes how the machines reach the cluster, in a test that shows that the simulator notices. */
export type Plant = (journal: ClusterJournal, machine: string) => Partial<ClusterJournal>

export interface Around {
  timeline: Timeline
  random: Random
  cluster: FakeCluster
  plant: Plant
}

export class Machine {
  readonly name: string
  readonly #around: Around
  /** Its disk. */
  readonly #database = lend()
  /** Round trips take about this long. */
  readonly #delayMs: number
  readonly #aheadMs: number
  /** Nothing passes before this time. */
  #cutUntil = 0
  #running: Running | undefined
  lossShare = 0

  constructor(name: string, around: Around) {
    this.name = name
    this.#around = around
    const { random } = around
    this.#delayMs = random.weighted([
      [6, 1],
      [2, 10],
      [1, 60],
    ])
    // Clocks differ; some are an hour wrong.
    this.#aheadMs = random.weighted([
      [6, 0],
      [1, 3_600_000],
      [1, -3_600_000],
    ])
    this.start()
  }

  get store(): Store {
    return (this.#running as Running).store
  }

  get stopped(): string | undefined {
    return this.#running?.stopped
  }

  start(): void {
    this.#running = new Running(this.name, this.#database.open(), this.#around, this.#wire(), this.#aheadMs)
  }

  /** Its process is killed and started again: what was committed to its replica is there, all else is forgotten. */
  kill(): void {
    this.#running?.end()
    this.start()
  }

  sleep(ms: number): void {
    this.#around.timeline.sleep(this.#running as object, ms)
  }

  cut(ms: number): void {
    this.#cutUntil = this.#around.timeline.now + ms
  }

  /** Undefined where the process was killed before it answered. */
  async submit(submission: Submission<RuleName>): Promise<CommandReply | undefined> {
    const running = this.#running as Running
    const reply = await running.submit(submission)
    return running === this.#running ? reply : undefined
  }

  async release(agent: string, machine: string): Promise<CommandReply | undefined> {
    const running = this.#running as Running
    const reply = await running.engine.release(agent, machine)
    return running === this.#running ? reply : undefined
  }

  close(): void {
    this.#running?.end()
    giveBack(this.#database)
  }

  #wire(): Wire {
    const { timeline, random } = this.#around
    const isLost = () => timeline.now < this.#cutUntil || random.chance(this.lossShare)
    const pass = async (): Promise<void> => {
      const owner = this.#running
      await timeline.wait(random.between(0, 2 * this.#delayMs))
      if (!isLost()) return
      await timeline.wait(silenceMs, owner)
      throw new ClusterUnreachable('silence', false)
    }
    return {
      there: async () => {
        // Sometimes it is clear at once that there is no way.
        if (timeline.now < this.#cutUntil && random.chance(0.5)) throw new ClusterUnreachable('refused', true)
        return pass()
      },
      back: async () => {
        const owner = this.#running
        await pass()
        await timeline.wait(0, owner)
      },
      hint: (arrive) => {
        if (isLost() || random.chance(0.2)) return
        for (let times = random.chance(0.1) ? 2 : 1; times > 0; times--) {
          const late = random.chance(0.1) ? 2_000 : 2 * this.#delayMs
          timeline.after(random.between(0, late), arrive, this.#running)
        }
      },
    }
  }
}

/** One process of a machine's daemon. */
class Running {
  readonly store: Store
  readonly engine: SharedEngine
  readonly #follower: Follower
  stopped: string | undefined
  readonly #machine: string
  #lastTold: number

  constructor(
    machine: string,
    database: Database,
    { timeline, random, cluster, plant }: Around,
    wire: Wire,
    aheadMs: number,
  ) {
    this.#machine = machine
    this.store = new Store(database, [], machine)
    const loud = (error: Error) => {
      throw error
    }
    const hub = new EntryHub(loud)
    this.#lastTold = this.store.journal.lastSeq
    hub.listen((entries) => {
      // What this machine has decided by itself has no number.
      for (const { seq } of entries)
        if (seq > 0 && seq !== ++this.#lastTold)
          throw new Error(`${machine} was told of ${seq} instead of ${this.#lastTold}`)
    })
    const sound = cluster.start(machine, wire)
    const journal: ClusterJournal = {
      append: (append) => sound.append(append),
      appendInTurn: (known, decide) => sound.appendInTurn(known, decide),
      follow: (known, limit) => sound.follow(known, limit),
      payload: (seq) => sound.payload(seq),
      onHint: (listener) => sound.onHint(listener),
      ...plant(sound, machine),
    }
    const clock = timeline.clockOf(this, aheadMs)
    const replica = new Replica(this.store, hub)
    const ids = makeIds(clock.now, (bytes) => random.bytes(bytes))
    // Everybody is away, and every session is there until its agent moves: who is connected is not a matter of the journal.
    const liveSession = (hold: string, agent = '') => (hold === this.#sessionOf(agent, hold) ? hold : undefined)
    const world = { machine, isLive: () => false, liveSession }
    const onTrouble = (error: Error) => {
      this.stopped ??= error.message
    }
    this.engine = new SharedEngine({ workspace: 'sim', machine, replica, journal, clock, ids, world, onTrouble })
    this.#follower = new Follower({
      replica,
      journal,
      clock,
      onTrouble,
      onStopped: (stopped) => {
        this.stopped = stopped.kind
        this.engine.stop(stopped)
      },
    })
  }

  submit(submission: Submission<RuleName>): Promise<CommandReply> {
    const { by, session } = submission
    return this.engine.submit({ ...submission, session: session && this.#sessionOf(by, session) })
  }

  /** A session ends when its agent leaves this machine: it is named by how often that has happened. */
  #sessionOf(agent: string, session: string): string {
    const home = this.store.view.home(agent)
    const before = home?.machine === this.#machine ? home.epoch : Number.MAX_SAFE_INTEGER
    const stays = 'SELECT count(*) FROM homes WHERE agent = ? AND machine = ? AND epoch < ?'
    const [left] = this.store.database.prepare(stays).get(agent, this.#machine, before) as [number]
    return `${session.split('@')[0]}@${left}`
  }

  end(): void {
    this.engine.close(refusal('call.abandoned'))
    this.#follower.stop()
    this.store.close()
  }
}
