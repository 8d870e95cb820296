// Wishes for a running worker: that it ends, pauses or goes on. The supervisor of the worker's machine compares wishes with the programs that run, and acts.
// For a worker on another machine, that machine is asked to store the wish.

import {
  daemonName,
  type Fact,
  type OutputOf,
  type ParsedInputOf,
  type Refusal,
  type Worker,
} from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import type { WorkerRow } from '../../core/view.ts'
import { type CallContext, causeOf, type WorkspaceParts } from '../call.ts'
import type { CommandReply } from '../engine.ts'
import { askerFields, type MachineRequests, type ReceivedRequest, type WorkerWishName } from '../requests.ts'
import { daemonStanding, type Standing } from '../sessions/standing.ts'
import type { WorkerReports } from './worker-reports.ts'

interface WishParts extends Pick<WorkspaceParts, 'store' | 'engine' | 'hub' | 'ids'> {
  requests: MachineRequests
  reports: Pick<WorkerReports, 'expectReport'>
  describe(row: WorkerRow): Worker
  /** Makes the supervisor compare wishes with the running programs again. */
  wake(): void
}

type Input = ParsedInputOf<'worker.release'>

/** The origin of a wish: an agent's call, or the daemon. */
export interface Wisher extends Pick<CallContext, 'by' | 'id' | 'digest' | 'abandoned'> {
  readonly standing: Standing
}

export class WorkerWishes {
  readonly #parts: WishParts

  constructor(parts: WishParts) {
    this.#parts = parts
  }

  /** Stores a wish for a worker (that it ends, pauses or goes on), and resolves when the supervisor has fulfilled it. */
  submit(rule: WorkerWishName, asking: CallContext, input: Input): Promise<OutputOf<'worker.release'>> {
    return this.#submit(rule, { ...asking, standing: asking.session.standing }, input)
  }

  /** Releases a worker on the daemon's own behalf, because its work is over. */
  async releaseByDaemon(name: string): Promise<void> {
    const { signal: abandoned } = new AbortController()
    const daemon = { by: daemonName, id: this.#parts.ids('d'), abandoned, standing: daemonStanding }
    await this.#submit('worker.release', daemon, { name })
  }

  /** Stores a wish for a worker for another machine, as this machine's owner has permitted. That machine sees the result in the journal. */
  async submitForMachine(
    rule: WorkerWishName,
    { asker, standing, cause, digest }: ReceivedRequest,
    { name, reason }: Input,
  ): Promise<void> {
    const { engine, wake } = this.#parts
    const input = { name, reason, standing, asker }
    const reply = await engine.submit({ rule, input, by: daemonName, cause, digest })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    wake()
  }

  async #submit(rule: WorkerWishName, wisher: Wisher, input: Input): Promise<OutputOf<'worker.release'>> {
    const { engine, wake } = this.#parts
    const { by, standing, abandoned } = wisher
    const { name, reason } = input
    const wish = () => engine.submit({ rule, input: { name, reason, standing }, by, ...causeOf(wisher) })
    const reply = await wish()
    if ('refusal' in reply) return this.#askMachine(rule, wisher, input, reply.refusal, wish)
    wake()
    return this.#answer(rule, await waitForWorker(this.#parts, reply.outcome.id as string, isFulfilled, abandoned))
  }

  /** Asks the worker's machine to store the wish. Once that machine agrees, the journal tells when the wish is fulfilled. */
  async #askMachine(
    rule: WorkerWishName,
    { by, standing, id, abandoned }: Wisher,
    input: Input,
    refused: Refusal,
    again: () => Promise<CommandReply>,
  ): Promise<OutputOf<'worker.release'>> {
    const { store, requests, reports } = this.#parts
    const worker = store.view.workers.byName(input.name)
    if (refused.code !== 'worker.runs-elsewhere' || !worker) throw new RefusalError(refused)
    // Records first that this call waits for the worker's end, so that no message tells of it: the end may arrive before the answer.
    const awaited = worker.parent === by ? reports.expectReport(worker.id) : undefined
    try {
      await requests.ask(refused, { op: rule, id, ...askerFields(by, standing), input }, again)
      const isDone = (row: WorkerRow) => isFulfilled(row) && isWished(rule, row)
      return this.#answer(rule, await waitForWorker(this.#parts, worker.id, isDone, abandoned), ` on ${worker.machine}`)
    } finally {
      awaited?.done()
    }
  }

  #answer(rule: WorkerWishName, row: WorkerRow, where = ''): OutputOf<'worker.release'> {
    const [worker, { worktree }] = [this.#parts.describe(row), row]
    if (rule !== 'worker.release' || !worktree) return { worker }
    return { worker, note: `Its work is kept on branch ${worktree.branch}, in ${worktree.path}${where}.` }
  }
}

/** Resolves with the worker's row once `isDone` is true of it, or when nobody waits any more. */
export function waitForWorker(
  { store, hub }: Pick<WorkspaceParts, 'store' | 'hub'>,
  id: string,
  isDone: (row: WorkerRow) => boolean,
  abandoned: AbortSignal,
): Promise<WorkerRow> {
  return new Promise((resolve, reject) => {
    const look = () => {
      try {
        const row = store.view.workers.byId(id) as WorkerRow
        if (!isDone(row) && !abandoned.aborted) return
        resolve(row)
      } catch (damage) {
        reject(damage)
      }
      stop()
      abandoned.removeEventListener('abort', look)
    }
    const stop = hub.listen((entries) => {
      if (entries.some(({ facts }) => facts.some((fact) => isNewsOf(id, fact)))) look()
    })
    abandoned.addEventListener('abort', look)
    look()
  })
}

function isNewsOf(id: string, fact: Fact): boolean {
  return (fact.type === 'worker.changed' || fact.type === 'worker.wish-changed') && fact.id === id
}

function isFulfilled({ wish, status }: WorkerRow): boolean {
  if (status === 'exited') return true
  return wish !== 'gone' && (wish === 'paused') === (status === 'paused')
}

const wishOfRule: Record<WorkerWishName, WorkerRow['wish']> = {
  'worker.release': 'gone',
  'worker.pause': 'paused',
  'worker.resume': 'run',
}

/** Whether the row has this wish, or can never have it: a released worker does not come back, whatever is wished later. */
function isWished(rule: WorkerWishName, { wish, status }: WorkerRow): boolean {
  return status === 'exited' || wish === 'gone' || wish === wishOfRule[rule]
}
