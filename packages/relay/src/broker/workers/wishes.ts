// Wishes for a running worker: that it ends, pauses or goes on. The supervisor of the worker's machine compares wishes with the programs that run, and acts.
// Interrupts of its turn: a rule records who has interrupted whom, then the supervisor stops the turn. What concerns a worker on another machine is sent to
// that machine as a request.

import {
  daemonName,
  type Fact,
  type OutputOf,
  type ParsedInputOf,
  type Refusal,
  type Worker,
} from '@agent-relay/sdk/protocol'
import type { RuleInput, RuleName } from '../../core/decide.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import type { WorkerRow } from '../../core/view.ts'
import { type CallContext, causeOf, type WorkspaceParts } from '../call.ts'
import { type AcceptedReply, acceptedReplyOrThrow } from '../commands.ts'
import type { CommandReply, Submission } from '../engine.ts'
import type { MachineRequests, ReceivedRequest, WorkerRequestName, WorkerWishName } from '../requests.ts'
import { daemonStanding, type Standing } from '../sessions/standing.ts'
import type { WorkerReports } from './worker-reports.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

interface WishParts extends Pick<WorkspaceParts, 'store' | 'engine' | 'hub' | 'ids'> {
  requests: MachineRequests
  reports: Pick<WorkerReports, 'expectReport'>
  runtime: Pick<WorkerRuntime, 'terminalOf' | 'wake'> | undefined
  describe(row: WorkerRow): Worker
}

type Input = ParsedInputOf<'worker.release'>

/** The origin of a wish: an agent's call, or the daemon. */
export interface Wisher extends Pick<CallContext, 'by' | 'id' | 'digest' | 'abandoned'> {
  readonly standing: Standing
}

const goesOn = 'Its turn has not ended yet.'

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

  /** Interrupts the worker's turn. Resolves when the turn is over, or a few seconds later, with a note that it goes on. */
  async interrupt(asking: CallContext, { name }: Input): Promise<OutputOf<'worker.interrupt'>> {
    const { store, requests, describe } = this.#parts
    const { by, id, session } = asking
    const { standing } = session
    const decide = () => this.#decide('worker.interrupt', { by, ...causeOf(asking) }, { name, standing })
    const reply = await decide()
    const { isOver } =
      'refusal' in reply
        ? await requests.ask(reply.refusal, { op: 'worker.interrupt', id, by, standing, input: { name } }, decide)
        : await this.#carryOut('worker.interrupt', reply)
    const { workers } = store.view
    const row = 'refusal' in reply ? workers.byName(name) : workers.byId(reply.outcome.id as string)
    const { status, reason } = row as WorkerRow
    // The program may have exited during the call, for example because the daemon was restarted.
    if (status === 'exited') throw new RefusalError('worker.exited', { name, reason })
    return { worker: describe(row as WorkerRow), ...(isOver ? {} : { note: goesOn }) }
  }

  /** Carries out a request of another machine, which this machine's owner allows. That machine sees in the journal how a wish is fulfilled. */
  async submitForMachine(
    rule: WorkerRequestName,
    { asker, standing, cause, digest }: ReceivedRequest,
    { name, reason }: Input,
  ): Promise<{ isOver?: boolean }> {
    const input = { name, reason, standing, asker }
    return this.#carryOut(
      rule,
      acceptedReplyOrThrow(await this.#decide(rule, { by: daemonName, cause, digest }, input)),
    )
  }

  #decide(
    rule: WorkerRequestName,
    who: Pick<Submission<RuleName>, 'by' | 'cause' | 'digest'>,
    input: RuleInput<WorkerWishName>,
  ): Promise<CommandReply> {
    const { store, engine, runtime } = this.#parts
    if (rule !== 'worker.interrupt') return engine.submit({ rule, input, ...who })
    const row = store.view.workers.byName(input.name)
    const turn = (row && runtime?.terminalOf(row.id)?.turn()) ?? 'starting'
    return engine.submit({ rule, input: { ...input, turn }, ...who })
  }

  /**
   * Has the supervisor do what was decided. Returns whether an interrupted turn is over. A repeated interrupt changes nothing: the worker may be in another turn
   * by now.
   */
  async #carryOut(rule: WorkerRequestName, { outcome, repeat }: AcceptedReply): Promise<{ isOver?: boolean }> {
    const { runtime } = this.#parts
    if (rule === 'worker.interrupt') {
      const terminal = repeat ? undefined : runtime?.terminalOf(outcome.id as string)
      return { isOver: terminal === undefined || (await terminal.interrupt()) }
    }
    runtime?.wake()
    return {}
  }

  async #submit(rule: WorkerWishName, wisher: Wisher, input: Input): Promise<OutputOf<'worker.release'>> {
    const { by, standing, abandoned } = wisher
    const { name, reason } = input
    const wish = () => this.#decide(rule, { by, ...causeOf(wisher) }, { name, reason, standing })
    const reply = await wish()
    if ('refusal' in reply) return this.#askMachine(rule, wisher, input, reply.refusal, wish)
    await this.#carryOut(rule, reply)
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
      await requests.ask(refused, { op: rule, id, by, standing, input }, again)
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
