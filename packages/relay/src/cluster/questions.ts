// Questions: one machine asks another, through the database, and waits up to five seconds. Question and answer may both be lost; the asking machine then
// gets no answer.

import type { Ids } from '@agent-relay/sdk/protocol'
import { putAnswer, putQuestion, readAnswer, unansweredQuestions } from './postgres/calls.ts'
import type { PostgresCluster } from './postgres/postgres-cluster.ts'

/** How long the asking machine waits for an answer. */
const answerMs = 5_000
/** Interval between looks for the answer in the database, because the hint that it is there may be lost. */
const answerLookMs = 250
/** Maximum number of questions of one machine that are answered at a time, so that a machine that asks without end delays only itself. */
const underWayMax = 64

/** Answers another machine's question about a workspace. Question and answer are JSON. */
export type AnswerQuestion = (workspace: string, machine: string, input: unknown) => Promise<unknown>

export class Questions {
  readonly #cluster: PostgresCluster
  readonly #ids: Ids
  readonly #answering: AnswerQuestion
  readonly #waiting = new Set<() => void>()
  /** Ids of the questions that are being answered, each with the machine that asks. A hint may come twice, but a question is answered once. */
  readonly #underWay = new Map<string, string>()

  constructor(cluster: PostgresCluster, ids: Ids, answering: AnswerQuestion) {
    this.#cluster = cluster
    this.#ids = ids
    this.#answering = answering
  }

  /** Asks another machine and returns its answer; undefined if no answer came in time. */
  async ask(workspace: string, machine: string, input: unknown): Promise<unknown> {
    const id = this.#ids('q')
    const until = performance.now() + answerMs
    if (!(await putQuestion(this.#cluster, { id, workspace, machine, input: JSON.stringify(input) }, answerMs)))
      return undefined
    while (performance.now() < until) {
      const text = await readAnswer(this.#cluster, id)
      if (text !== undefined) return JSON.parse(text)
      await this.#hint()
    }
    return undefined
  }

  /** Looks for new questions from other machines, and for answers to this machine's questions. */
  async checkForNews(): Promise<void> {
    for (const wake of this.#waiting) wake()
    for (const { id, workspace, machine, input } of await unansweredQuestions(this.#cluster)) {
      if (this.#underWay.has(id) || this.#countOf(machine) >= underWayMax) continue
      this.#underWay.set(id, machine)
      // Questions are answered concurrently, so that a malformed or slow one does not delay the others.
      void this.#answer(id, () => this.#answering(workspace, machine, JSON.parse(input)))
    }
  }

  async #answer(id: string, work: () => Promise<unknown>): Promise<void> {
    try {
      const told = await Promise.resolve()
        .then(work)
        .catch(() => ({ refused: 'fault' }))
      await putAnswer(this.#cluster, id, JSON.stringify(told ?? { refused: 'workspace.closed' }))
    } catch {
      // If the cluster cannot be reached, the asking machine gets no answer.
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
