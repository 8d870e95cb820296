// The rules on a real store, one command at a time: for table-driven tests of rules, without the broker. No tests.

import { type Fact, makeIds, type Refusal } from '@agent-relay/sdk/protocol'
import type { CallDigest } from '../../src/broker/engine.ts'
import { type RuleInput, type RuleName, ruleOf } from '../../src/core/decide.ts'
import type { Outcome } from '../../src/core/verdict.ts'
import { Store } from '../../src/store/store.ts'

export type Decided = { facts: Fact[]; outcome: Outcome } | { refusal: Refusal }

interface GivenCall {
  cause: string
  digest: CallDigest
}

export class CoreWorld {
  readonly store = new Store(':memory:')
  /** Names and sessions that are live. */
  readonly live = new Set<string>()
  /** The machine of this daemon, where there are several. */
  machine: string | undefined
  at = 1_000_000
  readonly #ids = makeIds(() => this.at)
  #isTogether = false

  constructor() {
    this.give('workspace.begin', 'agent-relay', { id: 'w', keyHash: 'k' })
  }

  /** Decides and, unless it is refused, writes: as the call `call`, if it is somebody's. */
  give<R extends RuleName>(rule: R, by: string, input: RuleInput<R>, session?: string, call?: GivenCall): Decided {
    const mint = this.#ids(rule === 'message.send' ? 'm' : 'a')
    const world = {
      machine: this.machine,
      isLive: (agent: string) => this.live.has(agent),
      liveSession: (hold: string) => (this.live.has(hold) ? hold : undefined),
    }
    return this.#transact((): Decided => {
      const verdict = ruleOf(rule)(this.store.view, { input, by, at: this.at, mint, session, world })
      if ('refusal' in verdict) return verdict
      const { facts, outcome, body, payload } = verdict
      const [at, cause, digest] = [this.at, call?.cause ?? this.#ids('c'), call?.digest(verdict)]
      if (facts.length > 0) this.store.append({ at, by, cause, facts, rule, digest, outcome, body, payload })
      return { facts, outcome }
    })
  }

  /** All that is given inside shares one transaction. */
  together(work: () => void): void {
    this.store.transact(() => {
      this.#isTogether = true
      try {
        work()
      } finally {
        this.#isTogether = false
      }
    })
  }

  #transact<T>(work: () => T): T {
    return this.#isTogether ? work() : this.store.transact(work as () => never)
  }

  register(name: string, more: Partial<RuleInput<'agent.register'>> = {}): Decided {
    const credentials = { proven: false, isHolder: false, mayRetake: true, tokenHash: `hash of ${this.#ids('t')}` }
    return this.give('agent.register', name, { name, ...credentials, ...more })
  }

  /** Registers them all. */
  cast(...names: string[]): this {
    for (const name of names) this.register(name)
    return this
  }

  send(by: string, to: string | string[], more: Partial<RuleInput<'message.send'>> = {}): string {
    const sent = this.give('message.send', by, { to, body: 'words', ...more })
    if ('refusal' in sent) throw new Error(sent.refusal.message)
    return sent.outcome.id as string
  }

  take(by: string, session: string, more: RuleInput<'inbox.take'> = {}): { messages: string[]; more: number } {
    const taken = this.give('inbox.take', by, more, session)
    if ('refusal' in taken) throw new Error(taken.refusal.message)
    return taken.outcome as { messages: string[]; more: number }
  }

  unread(agent: string): string[] {
    return [...this.store.view.inbox.unread(agent, {})].flatMap((each) => each?.head.id ?? [])
  }
}

/** What a session has shown, as far as a rule asks. */
export const asAgent = { rank: 'agent' } as const
export const asHolder = { rank: 'holder' } as const

export const codeOf = (decided: Decided): string => ('refusal' in decided ? decided.refusal.code : 'done')
export const typesOf = (decided: Decided): string[] =>
  'refusal' in decided ? [] : decided.facts.map(({ type }) => type)
export const outcomeOf = (decided: Decided): Outcome =>
  'refusal' in decided ? { refused: decided.refusal.code } : decided.outcome
