// A machine that keeps no rules: it appends facts of every type, of everybody's things, in everybody's name, whole and broken. What it says of
// homes is left out: those the database keeps beside the entries, and decides by itself who may move them.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { ClusterJournal } from '../../../packages/relay/src/cluster/cluster-journal.ts'
import { keysOf } from '../../../packages/relay/src/cluster/keys.ts'
import { factTypes, rowOf } from '../../../packages/relay/src/core/facts/table.ts'
import type { FakeCluster } from '../../../packages/relay/tests/cluster/fake-cluster.ts'
import { samples } from '../../../packages/relay/tests/core/fact-samples.ts'
import type { Random } from '../random.ts'

export const forger = 'rogue'

/** It says that it decides, and which keys its facts write: machines cannot see either of an entry, so that is for the database to demand. */
function keysIn(facts: readonly Fact[]): string[] {
  try {
    return facts.flatMap(keysOf)
  } catch {
    return []
  }
}

const types = factTypes.filter((type) => type !== 'agent.homed')
const garbage: readonly unknown[] = [null, -1, 0.5, '', 'x'.repeat(2_000), [], {}, true]

export interface Target {
  agents: readonly string[]
  machines: readonly string[]
  messages: readonly string[]
}

export class Forger {
  readonly #cluster: FakeCluster
  readonly #journal: ClusterJournal
  readonly #random: Random
  #count = 0

  constructor(cluster: FakeCluster, random: Random) {
    this.#cluster = cluster
    this.#journal = cluster.start(forger)
    this.#random = random
  }

  /** Answers what it was. */
  forge(target: Target): string {
    const random = this.#random
    const facts = Array.from({ length: random.between(1, 3) }, () => this.#fact(target))
    const by = random.pick(['agent-relay', 'notes:kim', 'mallory', random.pick(target.agents)])
    const { seq, mark } = this.#cluster.entries.at(-1) ?? { seq: 0, mark: '' }
    const draft = { at: this.#cluster.now(), by, cause: `forged ${++this.#count}`, rule: 'x', outcome: {}, facts }
    this.#journal
      .append({
        known: { seq, mark },
        reads: [],
        writes: keysIn(facts),
        homes: [],
        drafts: [draft],
      })
      .catch(() => {})
    return `${by}: ${facts.map(({ type }) => type)}`
  }

  #fact({ agents, machines, messages }: Target): Fact {
    const random = this.#random
    const fact = samples[random.pick(types)]({
      agent: random.pick([...agents, 'mallory', 'agent-relay', 'notes:kim']),
      machine: random.pick([...machines, forger]),
      next: random.pick([...machines, forger]),
      epoch: random.between(0, 3),
      message: random.pick(messages.length === 0 ? ['m_never'] : messages),
      worker: { id: `wk_${random.between(1, 3)}`, name: random.pick(agents) },
      run: `run_${random.between(1, 3)}`,
      approval: `ap-${random.between(1, 3)}`,
      action: 'do',
      call: `act_${random.between(1, 3)}`,
      fresh: `${random.between(1, 3)}`,
    })
    if (random.chance(0.6)) return fact
    const field = random.pick([...Object.keys(rowOf(fact).shape), 'type'])
    return { ...fact, [field]: random.pick(garbage) } as Fact
  }
}
