// What is wished of workers and how they fare: asked by agents, reported by what runs the programs, told to their parents.

import {
  daemonName,
  type InboxMessage,
  type OutputOf,
  type ParsedInputOf,
  type Route,
  type Worker,
} from '@agent-relay/sdk/protocol'
import { carriesOutRun } from '../core/run-notice.ts'
import type { WorkerRow } from '../core/view.ts'
import { isInCharge, maySeeTerminal, unknownWorker, type WorkerReport } from '../core/workers.ts'
import { RefusalError } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Asking } from './call.ts'
import { hashOf, newSecret } from './credentials.ts'
import type { Engine } from './engine.ts'
import type { Hub } from './hub.ts'
import type { Parts } from './parts.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Sink, Watch } from './sink.ts'
import { reportText, type WorkerRuntime, type WorkerTerminal } from './worker-runtime.ts'

/** How far back `worker.list` looks when it is asked for all. */
const listMax = 200

type Wish = 'worker.release' | 'worker.pause' | 'worker.resume'

export class Workers {
  readonly #store: Store
  readonly #engine: Engine
  readonly #hub: Hub
  readonly #sessions: Sessions
  readonly #nextCause: () => string
  readonly #present = new Map<string, Session>()
  #runtime: WorkerRuntime | undefined
  /** Spawns that will be answered, with the last screen of a program that ended at once. */
  readonly #awaited = new Map<string, { screen?: string }>()

  constructor({ store, engine, hub, sessions, nextCause }: Omit<Parts, 'clock'>) {
    this.#store = store
    this.#engine = engine
    this.#hub = hub
    this.#sessions = sessions
    this.#nextCause = nextCause
  }

  attach(runtime: WorkerRuntime): void {
    this.#runtime = runtime
  }

  /** Answered when its program has started and lives, or has ended at once. */
  async spawn(
    { by, id: cause, abandoned }: Pick<Asking, 'by' | 'id' | 'abandoned'>,
    input: ParsedInputOf<'worker.spawn'>,
  ): Promise<OutputOf<'worker.spawn'>> {
    const runtime = this.#runtime
    if (!runtime) throw new RefusalError('worker.unavailable')
    const { note, ...checked } = await runtime.check({ ...input, parent: by })
    const reply = await this.#engine.submit({ rule: 'worker.spawn', input: { ...input, ...checked }, by, cause })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    const { id } = reply.outcome as { id: string }
    const awaited: { screen?: string } = {}
    this.#awaited.set(id, awaited)
    runtime.wake()
    const row = await this.#until(id, ({ status }) => status !== 'wished', abandoned)
    this.#awaited.delete(id)
    const { name, status, reason } = row
    if (status === 'exited') throw new RefusalError('worker.died', { name, reason, screen: awaited.screen })
    return { worker: this.#worker(row), note }
  }

  async wish(
    rule: Wish,
    asking: Pick<Asking, 'by' | 'id' | 'abandoned'> & { session: Pick<Session, 'isHolder'> },
    { name, reason }: ParsedInputOf<'worker.release'>,
  ): Promise<{ worker: Worker }> {
    const { by, id: cause, session, abandoned } = asking
    const input = { name, reason, isHolder: session.isHolder }
    const reply = await this.#engine.submit({ rule, input, by, cause })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    this.#runtime?.wake()
    const { id } = reply.outcome as { id: string }
    const row = await this.#until(id, (now) => isFulfilled(now), abandoned)
    return { worker: this.#worker(row) }
  }

  list(all: boolean): Worker[] {
    const { workers } = this.#store.view
    return (all ? workers.latest(listMax) : workers.running()).map((row) => this.#worker(row))
  }

  /** For the list of agents: the state of the program that runs under this name. */
  stateOf(name: string): Pick<Worker, 'status' | 'reason'> | undefined {
    const row = this.#store.view.workers.byName(name)
    if (!row || row.status === 'exited') return undefined
    const { status, reason } = this.#worker(row)
    return { status, reason }
  }

  async screen(asking: Asking, { name, lines }: ParsedInputOf<'worker.screen'>): Promise<OutputOf<'worker.screen'>> {
    const row = this.#allowed(asking, name, 'look')
    const terminal = this.#runtime?.terminal(row.id)
    if (terminal) return { text: await terminal.screen(lines) }
    const exited = new RefusalError('worker.exited', { name, reason: row.reason })
    const text = this.lastScreenOf(row)
    if (text === undefined) throw exited
    return { text: lines === undefined ? text : text.split('\n').slice(-lines).join('\n'), exited: exited.message }
  }

  follow(session: Session, name: string, sink: Sink): Watch {
    const asking = { by: session.agent ?? '', session }
    const { drained, stop } = this.#terminal(asking, name, 'look').follow(sink)
    return { seq: this.#store.journal.lastSeq, drained, stop }
  }

  type(asking: Asking, { name, data }: ParsedInputOf<'worker.type'>): OutputOf<'worker.type'> {
    this.#terminal(asking, name, 'type').type(data)
    return {}
  }

  resize(asking: Asking, { name, cols, rows }: ParsedInputOf<'worker.resize'>): OutputOf<'worker.resize'> {
    this.#terminal(asking, name, 'type').resize(cols, rows)
    return {}
  }

  // What runs the programs comes here.

  /** Those that have not exited. */
  rows(): WorkerRow[] {
    return this.#store.view.workers.running()
  }

  /** Of a program that runs, for what gave it its task. */
  terminalOf(name: string): WorkerTerminal | undefined {
    const row = this.#store.view.workers.byName(name)
    return row && this.#runtime?.terminal(row.id)
  }

  /** What stood in the terminal of one that has exited, where it was kept. */
  lastScreenOf({ id }: Pick<WorkerRow, 'id'>): string | undefined {
    return this.#store.view.workers.lastScreenOf(id)
  }

  taskOf(id: string): string | undefined {
    return this.#store.view.workers.taskOf(id)
  }

  /** What may be put before it outside a call: unread, and not yet shown to it; the oldest, up to the limits. */
  waiting(agent: string, most: { bytesMax: number; limit?: number }): InboxMessage[] {
    return this.#store.queries.unshown(agent, most)
  }

  /** The worker's own token, known to nobody but its program; it ends when the program does. */
  async issueToken(id: string): Promise<string> {
    const token = newSecret('at')
    const input = { id, tokenHash: hashOf(token) }
    const reply = await this.#engine.submit({
      rule: 'worker.issue-token',
      input,
      by: daemonName,
      cause: this.#nextCause(),
    })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return token
  }

  /** The parent is told first, once: should the daemon die in between, the next one tells and reports again. */
  async report(report: WorkerReport): Promise<void> {
    const row = this.#store.view.workers.byId(report.id)
    if (!row || row.status === 'exited' || (row.status === report.status && row.reason === report.reason)) return
    const awaited = this.#awaited.get(row.id)
    if (awaited) awaited.screen = report.screen
    const text = reportText(row.name, report)
    // Who waits for the answer, or hears of its run, needs no message that says the same.
    const isTold = awaited !== undefined || (report.status === 'exited' && carriesOutRun(this.#store.view, row))
    if (text !== undefined && !isTold) await this.tell(row, text, onceOnly(report))
    await this.#engine.submit({ rule: 'worker.report', input: report, by: daemonName, cause: this.#nextCause() })
    this.#showPresence(row, report.status)
  }

  /** As long as its program runs somebody is there under its name, whether or not it speaks MCP: what is typed reaches it. */
  #showPresence({ id, name }: WorkerRow, status: WorkerReport['status']): void {
    const present = this.#present.get(id)
    if (status === 'exited') {
      if (present) this.#sessions.end(present)
      this.#present.delete(id)
    } else if (!present) {
      const session = this.#sessions.open('owner')
      this.#sessions.bind(session, name)
      this.#present.set(id, session)
    }
  }

  /** Whom a worker hired goes with it: nobody is left to whom they could report. */
  async releaseHiredBy(name: string): Promise<void> {
    const reason = `its parent ${name} has exited`
    for (const hired of this.rows().filter(({ parent }) => parent === name)) {
      const input = { name: hired.name, reason, isHolder: true }
      await this.#engine.submit({ rule: 'worker.release', input, by: daemonName, cause: this.#nextCause() })
    }
  }

  /** A message of the daemon's own to the one who asked for the worker. */
  async tell({ parent }: Pick<WorkerRow, 'parent'>, body: string, cause = this.#nextCause()): Promise<void> {
    const input = { to: parent, body, kind: 'status' as const }
    await this.#engine.submit({ rule: 'message.send', input, by: daemonName, cause })
  }

  /** Put before the worker outside any answer of ours: offered now, read at its next call. */
  async offered(agent: string, messages: string[], route: Route): Promise<void> {
    const input = { messages, route }
    const reply = await this.#engine.submit({ rule: 'inbox.offer', input, by: agent, cause: this.#nextCause() })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    this.#sessions.paste(agent, messages)
  }

  #terminal(asking: Pick<Asking, 'by' | 'session'>, name: string, purpose: 'look' | 'type'): WorkerTerminal {
    const { id, reason } = this.#allowed(asking, name, purpose)
    const terminal = this.#runtime?.terminal(id)
    if (!terminal) throw new RefusalError('worker.exited', { name, reason })
    return terminal
  }

  #allowed({ by, session }: Pick<Asking, 'by' | 'session'>, name: string, purpose: 'look' | 'type'): WorkerRow {
    const { view } = this.#store
    const row = view.workers.byName(name)
    if (!row) throw new RefusalError(unknownWorker(view, name).refusal)
    const isAllowed = purpose === 'look' ? maySeeTerminal : isInCharge
    if (!isAllowed(view, row, by, session.isHolder)) {
      const what = purpose === 'look' ? 'see its screen' : 'type into its terminal'
      throw new RefusalError('worker.not-yours', { name, parent: row.parent, what })
    }
    return row
  }

  #worker(row: WorkerRow): Worker {
    const { id, name, cli, model, parent, cwd, status, reason, pid, code, at, changedAt } = row
    const activity = status === 'ready' ? this.#runtime?.terminal(id)?.activity() : undefined
    return {
      id,
      name,
      cli,
      model,
      parent,
      cwd,
      status: activity ?? status,
      reason,
      pid,
      code,
      startedAt: new Date(at).toISOString(),
      changedAt: new Date(changedAt).toISOString(),
    }
  }

  /** The row once it is as wished, or as it is when nobody waits any more. */
  #until(id: string, isDone: (row: WorkerRow) => boolean, abandoned: AbortSignal): Promise<WorkerRow> {
    const { workers } = this.#store.view
    const read = () => workers.byId(id) as WorkerRow
    return new Promise((resolve) => {
      const look = () => {
        const row = read()
        if (!isDone(row) && !abandoned.aborted) return
        stop()
        abandoned.removeEventListener('abort', look)
        resolve(row)
      }
      const stop = this.#hub.listen((entries) => {
        const isAboutIt = entries.some(({ facts }) =>
          facts.some((fact) => fact.type === 'worker.changed' && fact.id === id),
        )
        if (isAboutIt) look()
      })
      abandoned.addEventListener('abort', look)
      look()
    })
  }
}

function isFulfilled({ wish, status }: WorkerRow): boolean {
  if (status === 'exited') return true
  return wish !== 'gone' && (wish === 'paused') === (status === 'paused')
}

/** A worker is ready once and exits once; it may be blocked again and again. */
function onceOnly({ id, status }: WorkerReport): string | undefined {
  return status === 'ready' || status === 'exited' ? `${id}/${status}` : undefined
}
