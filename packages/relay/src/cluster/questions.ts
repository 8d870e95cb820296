// Questions: one machine asks another, and waits for a moment. Both ways may be lost, and an answer may come too late: whoever asked is told
// that there was none.

import type { Ids } from '@agent-relay/sdk/protocol'
import { answer, answerTo, asked, put } from './postgres/calls.ts'
import type { PostgresCluster } from './postgres/postgres-cluster.ts'

/** How long an answer is waited for. */
const answerMs = 5_000
/** A hint of the answer may be lost. */
const answerLookMs = 250
/** So many of one machine are answered at a time: one that asks without end holds up only itself. */
const underWayMax = 64

/** Answers what was asked about a workspace; JSON both ways. */
export type Answering = (workspace: string, machine: string, input: unknown) => Promise<unknown>

export class Questions {
  readonly #cluster: PostgresCluster
  readonly #ids: Ids
  readonly #answering: Answering
  readonly #waiting = new Set<() => void>()
  /** Being answered, with the machine that asks: a hint may come twice. */
  readonly #underWay = new Map<string, string>()

  constructor(cluster: PostgresCluster, ids: Ids, answering: Answering) {
    this.#cluster = cluster
    this.#ids = ids
    this.#answering = answering
  }

  /** Undefined: there was no answer in time. */
  async ask(workspace: string, machine: string, input: unknown): Promise<unknown> {
    const id = this.#ids('q')
    const until = performance.now() + answerMs
    if (!(await put(this.#cluster, { id, workspace, machine, input: JSON.stringify(input) }, answerMs)))
      return undefined
    while (performance.now() < until) {
      const text = await answerTo(this.#cluster, id)
      if (text !== undefined) return JSON.parse(text)
      await this.#hint()
    }
    return undefined
  }

  /** There may be something to answer, or an answer. */
  async look(): Promise<void> {
    for (const wake of this.#waiting) wake()
    for (const { id, workspace, machine, input } of await asked(this.#cluster)) {
      if (this.#underWay.has(id) || this.#countOf(machine) >= underWayMax) continue
      this.#underWay.set(id, machine)
      // Each by itself: one that is not understood, or takes long, holds up no other.
      void this.#answer(id, () => this.#answering(workspace, machine, JSON.parse(input)))
    }
  }

  async #answer(id: string, work: () => Promise<unknown>): Promise<void> {
    try {
      const told = await Promise.resolve()
        .then(work)
        .catch(() => ({ refused: 'fault' }))
      await answer(this.#cluster, id, JSON.stringify(told ?? { refused: 'workspace.closed' }))
    } catch {
      // Out of reach: whoever asked is told that there was no answer.
    } finally {
      this.#underWay.delete(id)
    }
  }

  #countOf(machine: string): number {
    return [...this.#underWay.values()].filter((each) => each === machine).length
  }

  #hint(): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, answerLookMs)
      this.#waiting.add(wake)
    })
  }
}
