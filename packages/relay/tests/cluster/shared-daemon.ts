// One daemon of a shared workspace over a cluster in memory, as far as its engine goes. No tests.

import { makeIds, refusal } from '@agent-relay/sdk/protocol'
import { until } from '../../../../test/until.ts'
import type { CommandReply } from '../../src/broker/engine.ts'
import { EntryHub } from '../../src/broker/hub.ts'
import { Follower } from '../../src/cluster/follower.ts'
import { ClusterReachability } from '../../src/cluster/reachability.ts'
import { Replica } from '../../src/cluster/replica.ts'
import { SharedEngine } from '../../src/cluster/shared-engine.ts'
import type { RuleInput, RuleName } from '../../src/core/decide.ts'
import { type Clock, systemClock } from '../../src/machine/clock.ts'
import { Store } from '../../src/store/store.ts'
import { FakeCluster, soundWire, type Wire } from './fake-cluster.ts'

const open: SharedDaemon[] = []

export function endAll(): void {
  for (const daemon of open.splice(0)) daemon.end()
}

export class SharedDaemon {
  readonly store: Store
  readonly engine: SharedEngine
  readonly hub: EntryHub
  readonly calls: string[] = []
  readonly reachability: ClusterReachability
  readonly #follower: Follower
  stopped: string | undefined
  /** Machines that this one takes for removed from the cluster. */
  readonly removed = new Set<string>()
  /** The person whose daemon this is. */
  person: string | undefined
  readonly #machine: string
  #causes = 0

  constructor(cluster: FakeCluster, machine: string, wire: Wire = soundWire, clock: Clock = systemClock) {
    this.#machine = machine
    this.store = new Store(':memory:', [], machine)
    const sound = cluster.start(machine, wire)
    this.reachability = new ClusterReachability('db.example:5432/relay', clock)
    const journal = this.reachability.watchJournal({
      append: (append) => {
        this.calls.push(append.drafts.length === 0 ? 'barrier' : 'append')
        return sound.append(append)
      },
      appendInTurn: (known, decide) => {
        this.calls.push('turn')
        return sound.appendInTurn(known, decide)
      },
      follow: (known, limit) => sound.follow(known, limit),
      payload: (seq) => sound.payload(seq),
      onHint: (listener) => sound.onHint(listener),
    })
    const fail = (error: Error) => {
      throw error
    }
    this.hub = new EntryHub(fail)
    const replica = new Replica(this.store, this.hub)
    const isRemoved = (other: string) => this.removed.has(other)
    const personOf = () => this.person
    const world = {
      machine,
      get person() {
        return personOf()
      },
      isLive: () => false,
      liveSession: (hold: string) => hold,
      isRemoved,
    }
    const parts = { replica, journal, reachability: this.reachability, clock, world, onTrouble: fail }
    this.engine = new SharedEngine({ workspace: 'team', machine, ids: makeIds(), ...parts })
    this.#follower = new Follower({
      replica,
      journal,
      clock,
      onTrouble: fail,
      onStopped: (stopped) => {
        this.stopped = stopped.kind
        this.engine.stop(stopped)
      },
    })
    open.push(this)
  }

  give<R extends RuleName>(
    rule: R,
    by: string,
    input: RuleInput<R>,
    cause = `${this.#machine} ${++this.#causes}`,
  ): Promise<CommandReply> {
    return this.engine.submit({ rule, by, input, cause, session: 's_1', digest: () => JSON.stringify(input) })
  }

  register(name: string, more: Partial<RuleInput<'agent.register'>> = {}): Promise<CommandReply> {
    const credentials = { proven: false, isHolder: false, mayRetake: true, tokenHash: `hash of ${name}` }
    return this.give('agent.register', 'agent-relay', { name, strict: true, ...credentials, ...more })
  }

  end(): void {
    this.engine.close(refusal('call.abandoned'))
    this.#follower.stop()
    this.store.close()
  }
}

/** A cluster with a workspace in it, and daemons that have seen the agents: ada is at home on the first machine, bob on the last. */
export async function team(
  ...machines: string[]
): Promise<{ cluster: FakeCluster; daemons: SharedDaemon[]; settled: () => Promise<void> }> {
  const cluster = new FakeCluster()
  const daemons = machines.map((machine) => new SharedDaemon(cluster, machine))
  const [first, last] = [daemons[0], daemons.at(-1)] as [SharedDaemon, SharedDaemon]
  const settled = async () =>
    void (await until(() => daemons.every(({ store }) => store.journal.lastSeq === cluster.entries.length)))
  await first.give('workspace.begin', 'agent-relay', { id: 'w', keyHash: 'k' })
  await first.register('ada')
  await last.register('bob')
  await settled()
  for (const { calls } of daemons) calls.length = 0
  return { cluster, daemons, settled }
}

export const said = (reply: CommandReply): unknown => ('refusal' in reply ? reply.refusal.code : reply.seq)
