// Interrupts the turn that a worker is in (its work on one prompt). A rule decides and records who has interrupted whom; then the supervisor stops the turn.
// For a worker on another machine, that machine is asked to do so.

import { daemonName, type OutputOf, type ParsedInputOf, type Worker } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import type { WorkerRow } from '../../core/view.ts'
import { type CallContext, causeOf, type WorkspaceParts } from '../call.ts'
import type { CommandReply } from '../engine.ts'
import { askerFields, type MachineRequests, type ReceivedRequest } from '../requests.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

interface InterruptParts extends Pick<WorkspaceParts, 'store' | 'engine'> {
  requests: MachineRequests
  runtime: Pick<WorkerRuntime, 'terminalOf'> | undefined
  describe(row: WorkerRow): Worker
}

type Input = ParsedInputOf<'worker.interrupt'>

const goesOn = 'Its turn has not ended yet.'

export class WorkerInterrupts {
  readonly #parts: InterruptParts

  constructor(parts: InterruptParts) {
    this.#parts = parts
  }

  /** Interrupts the worker's turn. Resolves when the turn is over, or a few seconds later, with a note that it goes on. */
  async submit(asking: CallContext, { name }: Input): Promise<OutputOf<'worker.interrupt'>> {
    const { store, engine, requests } = this.#parts
    const { by, id } = asking
    const { standing } = asking.session
    const decide = () => {
      const input = { name, standing, turn: this.#turnOf(name) }
      return engine.submit({ rule: 'worker.interrupt', input, by, ...causeOf(asking) })
    }
    const reply = await decide()
    if ('refusal' in reply) {
      if (reply.refusal.code !== 'worker.runs-elsewhere') throw new RefusalError(reply.refusal)
      const request = { op: 'worker.interrupt', id, ...askerFields(by, standing), input: { name } } as const
      const { isOver } = await requests.ask(reply.refusal, request, decide)
      return this.#answer(store.view.workers.byName(name) as WorkerRow, isOver)
    }
    const isOver = await this.#carryOut(reply)
    return this.#answer(store.view.workers.byId(reply.outcome.id as string) as WorkerRow, isOver)
  }

  /** Interrupts a worker's turn for another machine, as this machine's owner has permitted. Returns whether the turn is over. */
  async submitForMachine({ asker, standing, cause, digest }: ReceivedRequest, { name }: Input): Promise<boolean> {
    const input = { name, standing, asker, turn: this.#turnOf(name) }
    const reply = await this.#parts.engine.submit({ rule: 'worker.interrupt', input, by: daemonName, cause, digest })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return this.#carryOut(reply)
  }

  #answer(row: WorkerRow, isOver: boolean): OutputOf<'worker.interrupt'> {
    const { name, status, reason } = row
    // The program may have exited during the call, for example because the daemon was restarted.
    if (status === 'exited') throw new RefusalError('worker.exited', { name, reason })
    return { worker: this.#parts.describe(row), ...(isOver ? {} : { note: goesOn }) }
  }

  /** Interrupts the turn and returns whether it is over. A repeated call does not interrupt again: the worker may be in another turn by now. */
  async #carryOut(reply: Exclude<CommandReply, { refusal: unknown }>): Promise<boolean> {
    const terminal = reply.repeat ? undefined : this.#parts.runtime?.terminalOf(reply.outcome.id as string)
    return terminal === undefined || terminal.interrupt()
  }

  #turnOf(name: string) {
    const { store, runtime } = this.#parts
    const row = store.view.workers.byName(name)
    return (row && runtime?.terminalOf(row.id)?.turn()) ?? 'starting'
  }
}
