// Interrupting the turn that a worker is in. A rule decides and records who has interrupted whom; then the supervisor stops the turn. A worker on another
// machine is interrupted there, by a request.

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

const stillAtWork = 'It was asked to stop, and is still at work.'

export class WorkerInterrupts {
  readonly #parts: InterruptParts

  constructor(parts: InterruptParts) {
    this.#parts = parts
  }

  /** Interrupts the worker's turn; resolves when the turn is over, or when its program has not ended it for a while. */
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
      await requests.ask(reply.refusal, request, decide)
      return { worker: this.#parts.describe(store.view.workers.byName(name) as WorkerRow) }
    }
    const isOver = await this.#carryOut(reply)
    const row = store.view.workers.byId(reply.outcome.id as string) as WorkerRow
    return { worker: this.#parts.describe(row), ...(isOver ? {} : { note: stillAtWork }) }
  }

  /** Interrupts a worker's turn on behalf of another machine, which this machine's owner allows. */
  async submitForMachine({ asker, standing, cause, digest }: ReceivedRequest, { name }: Input): Promise<void> {
    const input = { name, standing, asker, turn: this.#turnOf(name) }
    const reply = await this.#parts.engine.submit({ rule: 'worker.interrupt', input, by: daemonName, cause, digest })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    await this.#carryOut(reply)
  }

  /** Returns whether the turn is over. A repeated call changes nothing: the worker may be in another turn by now. */
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
