// A machine that keeps no rules: it appends facts of every type, of everybody's things, in everybody's name, whole and broken. It also lies to the
// database: about what its entries change, about which of them are notes, and about whose command they answer.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { ChangedKeys, ClusterJournal } from '../../../packages/relay/src/cluster/cluster-journal.ts'
import { changedKeysOf } from '../../../packages/relay/src/cluster/keys.ts'
import { factRowOf, factTypes } from '../../../packages/relay/src/core/facts/table.ts'
import type { FakeCluster } from '../../../packages/relay/tests/cluster/fake-cluster.ts'
import { samples } from '../../../packages/relay/tests/core/fact-samples.ts'
import type { Random } from '../random.ts'

export const forger = 'rogue'

const garbage: readonly unknown[] = [null, -1, 0.5, '', 'x'.repeat(2_000), [], {}, true]

export interface Target {
  agents: readonly string[]
  machines: readonly string[]
  messages: readonly string[]
  /** Ids of commands that agents gave, or will give. */
  causes: readonly string[]
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
    const own = `forged ${++this.#count}`
    // Who speaks as the daemon or from abroad may do so on any machine; the ids of their commands are random, and cannot be guessed.
    const isGuess = target.agents.includes(by) && random.chance(0.3)
    const cause = isGuess ? random.pick(target.causes) : own
    const draft = { at: this.#cluster.now(), by, cause, rule: 'x', outcome: {}, facts, writes: this.#writes(facts) }
    this.#journal.append({ position: { seq, mark }, reads: [], drafts: [draft] }).catch(() => {})
    return `${by}: ${facts.map(({ type }) => type)}`
  }

  #writes(facts: readonly Fact[]): ChangedKeys {
    const random = this.#random
    return random.weighted<() => ChangedKeys>([
      [4, () => truth(facts)],
      [1, () => []],
      [1, () => 'note'],
      [1, () => ['a:ada', 'c:#general', 'o']],
    ])()
  }

  #fact({ agents, machines, messages }: Target): Fact {
    const random = this.#random
    const fact = samples[random.pick(factTypes)]({
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
    const field = random.pick([...Object.keys(factRowOf(fact).shape), 'type'])
    return { ...fact, [field]: random.pick(garbage) } as Fact
  }
}

/** Facts that make no sense change nothing. */
function truth(facts: readonly Fact[]): ChangedKeys {
  try {
    return changedKeysOf(facts)
  } catch {
    return []
  }
}
