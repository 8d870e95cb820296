// The operations on workers that agents use: start a worker, end it, see its screen, type into it. The supervisor reports on their programs in
// worker-reports.ts.

import { clisWith } from '@agent-relay/sdk/internal/clis'
import type { OutputOf, ParsedInputOf, Worker } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import { findFormerWorker } from '../../core/repeat-work.ts'
import { hasCredential, isInCharge, type Reader, sees } from '../../core/sight.ts'
import { taskOfWorker } from '../../core/tasks.ts'
import type { WorkerRow } from '../../core/view.ts'
import { type RepeatedStart, refuseNotYours, refuseUnknownWorker } from '../../core/workers.ts'
import type { CallContext, Watch, WatchItemSink, WorkspaceParts } from '../call.ts'
import { submitCall } from '../commands.ts'
import type { MachineRequests } from '../requests.ts'
import type { Session } from '../sessions/session.ts'
import type { Standing } from '../sessions/standing.ts'
import type { UnreachableMachine } from '../sharing.ts'
import { WholeTextBudget } from '../whole-text-budget.ts'
import { tellHirersOfRemoteWorkers } from './hired-elsewhere.ts'
import { assertMaySpawn, assertMayStart, checkWorkingDirectory, type SpawnWish } from './spawning.ts'
import { type Wisher, WorkerWishes, waitForWorker } from './wishes.ts'
import type { WorkerReports } from './worker-reports.ts'
import type { PlannedWorktree, WorkerRuntime, WorkerTerminal, WorktreeKeeper } from './worker-runtime.ts'
import { WorkerWorktrees } from './worktrees.ts'

/** Maximum number of workers that `worker.list` returns if it is asked for all. */
const workersMax = 200

/** Who starts a worker: an agent's call, or a run on behalf of its asker. */
export type Hirer = Wisher

const purposes = { look: 'see its screen', type: 'type into its terminal' } as const
type Purpose = keyof typeof purposes

interface WorkerParts {
  requests: MachineRequests
  reports: WorkerReports
  /** The supervisor; unset if no program is started, as in a workspace that is imported. */
  runtime: WorkerRuntime | undefined
  keeper: WorktreeKeeper | undefined
}

export class Workers {
  readonly #parts: WorkspaceParts
  /** The supervisor reads workers and reports on them here. */
  readonly reports: WorkerReports
  readonly worktrees: WorkerWorktrees
  readonly wishes: WorkerWishes
  readonly #runtime: WorkerRuntime | undefined
  readonly #keeper: WorktreeKeeper | undefined

  constructor(parts: WorkspaceParts, { requests, reports, runtime, keeper }: WorkerParts) {
    this.#parts = parts
    this.#runtime = runtime
    this.#keeper = keeper
    this.reports = reports
    tellHirersOfRemoteWorkers({ ...parts, isAwaited: (id) => reports.isAwaited(id) })
    const described = { ...parts, describe: (row: WorkerRow) => this.#describe(row) }
    this.worktrees = new WorkerWorktrees(described, keeper)
    this.wishes = new WorkerWishes({ ...described, requests, reports, runtime })
  }

  /** Ends the programs that an earlier daemon left; workers can be hired from then on. */
  async start(): Promise<void> {
    await this.#runtime?.start()
  }

  /** Ends the programs of all workers. */
  async close(): Promise<void> {
    await this.#runtime?.close()
  }

  spawn(asking: CallContext, input: ParsedInputOf<'worker.spawn'>): Promise<OutputOf<'worker.spawn'>> {
    return this.hire({ ...asking, standing: asking.session.standing }, input)
  }

  /** Starts a worker. Resolves when its program has started and lives; rejects if the program ended at once. */
  async hire(
    hirer: Hirer,
    input: ParsedInputOf<'worker.spawn'>,
    repeated: RepeatedStart = {},
  ): Promise<OutputOf<'worker.spawn'>> {
    const { by, standing, abandoned } = hirer
    const { parent = by } = repeated
    const { runtime, cwd, assertMayWorkIn } = this.assertMayStart(standing, parent, input)
    const { note: checkNote, ...checked } = await runtime.check({ ...input, parent, cwd })
    const planned = await this.#plan(input, cwd)
    assertMayWorkIn(planned.cwd)
    const note = [checkNote, planned.note].filter((text) => text !== undefined).join(' ') || undefined
    const { cli, command, args, control, worktree } = input
    const asked = { cli, command, args, control, cwd, worktree }
    const wished = { ...input, ...checked, cwd: planned.cwd, worktree: planned.worktree, asked, ...repeated }
    const { outcome } = await submitCall(this.#parts, hirer, 'worker.spawn', wished)
    const { id } = outcome as { id: string }
    const awaited = this.reports.expectReport(id)
    runtime.wake()
    const row = await waitForWorker(this.#parts, id, ({ status }) => status !== 'wished', abandoned)
    awaited.done()
    const { name, status, reason } = row
    if (status === 'exited') throw new RefusalError('worker.died', { name, reason, screen: awaited.screen })
    return { worker: this.#describe(row), note }
  }

  /** Repeats the task of a worker that has exited, in a new conversation or in the one that its program had. */
  retry(
    asking: CallContext,
    { name, continue: goesOn = false }: ParsedInputOf<'worker.retry'>,
  ): Promise<OutputOf<'worker.retry'>> {
    const { standing } = asking.session
    // Refuses a session that may start nothing first: it must not learn what ran in this workspace.
    assertMaySpawn(standing, this.#parts.store.view.policy())
    const former = findFormerWorker(this.#parts.store.view, asking.session, {
      name,
      machine: this.#parts.sessions.machine,
    })
    if ('refusal' in former) throw new RefusalError(former.refusal)
    const { id, model, parent } = former.worker
    const { continues = id, ...asked } = former.worker.asked
    const input = { name, ...asked, model, task: former.task }
    const repeated = { again: id, parent }
    if (!goesOn) return this.hire({ ...asking, standing }, input, repeated)
    const why = this.whyNotContinue(former.worker)
    if (why !== undefined) throw new RefusalError('worker.no-conversation', { name, why })
    // The new program goes on in the worker's former worktree. If that was removed, it is made again at the same place.
    const left = this.#parts.store.view.workers.byId(continues)
    const place = left?.worktree ? { cwd: left.cwd, worktree: false } : {}
    return this.hire({ ...asking, standing }, { ...input, ...place }, { ...repeated, asked: { ...asked, continues } })
  }

  /** Returns why the conversation of an exited worker cannot be continued; undefined if it can. */
  whyNotContinue(worker: WorkerRow): string | undefined {
    return this.#runtime ? this.#runtime.whyNotContinue(worker) : 'no programs are started here'
  }

  /** Plans the worker's working directory: a worktree of its own if it gets one, otherwise the directory as it is. */
  async #plan(
    { name, worktree }: ParsedInputOf<'worker.spawn'>,
    cwd: string,
  ): Promise<Partial<PlannedWorktree> & { cwd: string }> {
    const isWanted = worktree ?? this.#parts.store.view.policy().worktree
    if (!isWanted || !this.#keeper) return { cwd }
    try {
      return await this.#keeper.plan({ name, directory: cwd })
    } catch (error) {
      // Outside a git repository, starts the worker without a worktree if only the policy asks for one, and refuses if the caller does.
      if (worktree || !isNoWorktreeHere(error)) throw error
      return { cwd, note: (error as Error).message }
    }
  }

  /** Refuses the start of a program that is not allowed, before anything is written. */
  assertMayStart(standing: Standing, parent: string, wish: SpawnWish) {
    return assertMayStart(this.#runtime, { standing, view: this.#parts.store.view, parent, wish })
  }

  /** Returns the choices in the page's form for a new worker of this parent: the CLIs that are installed, and the directory in which it would start. */
  choicesFor(parent: string): { clis: string[]; directory?: string } {
    const clis = this.#runtime?.installed(clisWith('worker').map(({ name }) => name)) ?? []
    try {
      return { clis, directory: this.#runtime?.findPlace({ parent, isConfined: false }).directory }
    } catch (error) {
      if (error instanceof RefusalError) return { clis }
      throw error
    }
  }

  /** Returns the directory of a run that starts no program; refuses a directory that the asker may not name. */
  checkWorkingDirectory(standing: Standing, parent: string, cwd: string): string {
    return checkWorkingDirectory(this.#runtime, { standing, view: this.#parts.store.view, parent, wish: { cwd } })
  }

  list(
    reader: Reader,
    { all = false, whole = false }: ParsedInputOf<'worker.list'>,
  ): OutputOf<'worker.list'>['workers'] {
    const { view } = this.#parts.store
    const texts = new WholeTextBudget(whole)
    const rows = all ? view.workers.latest(workersMax) : view.workers.running()
    const described = (row: WorkerRow) => {
      const task = texts.add(taskOfWorker(view, row, texts.hasRoom))
      return { ...this.#describe(row), ...(task === undefined ? {} : { task }) }
    }
    return rows.filter((row) => sees(view, reader, 'worker', row)).map(described)
  }

  /** Returns the last worker of this name. */
  find(reader: Reader, name: string): Worker {
    const { view } = this.#parts.store
    const row = view.workers.byName(name)
    if (row && sees(view, reader, 'worker', row)) return this.#describe(row)
    throw new RefusalError(refuseUnknownWorker(view, reader, name).refusal)
  }

  /** Returns the status of the worker's program that runs under this name, for the list of agents. */
  stateOf(name: string): Pick<Worker, 'status' | 'reason'> | undefined {
    const row = this.#parts.store.view.workers.byName(name)
    return row && row.status !== 'exited' ? { status: this.#statusOf(row), reason: row.reason } : undefined
  }

  async screen(
    asking: CallContext,
    { name, lines }: ParsedInputOf<'worker.screen'>,
  ): Promise<OutputOf<'worker.screen'>> {
    const row = this.#rowFor(asking, name, 'look')
    const terminal = this.#runtime?.terminalOf(row.id)
    if (terminal) return { text: await terminal.screen(lines) }
    this.#assertRunsHere(row, 'look')
    const exited = new RefusalError('worker.exited', { name, reason: row.reason })
    const text = this.lastScreenOf(row)
    if (text === undefined) throw exited
    return { text: lines === undefined ? text : text.split('\n').slice(-lines).join('\n'), exited: exited.message }
  }

  follow(session: Session, name: string, sink: WatchItemSink): Watch {
    const { drained, stop } = this.#terminal({ session }, name, 'look').follow(sink)
    return { seq: this.#parts.store.journal.lastSeq, drained, stop }
  }

  type(asking: CallContext, { name, data }: ParsedInputOf<'worker.type'>): OutputOf<'worker.type'> {
    this.#terminal(asking, name, 'type').type(data)
    return {}
  }

  /** Whether typed text would answer a dialog, even one that the queue of approvals does not know yet. */
  isBlocked(asking: CallContext, { name }: ParsedInputOf<'worker.type'>): Promise<boolean> {
    return this.#terminal(asking, name, 'type').isBlocked()
  }

  resize(asking: CallContext, { name, cols, rows }: ParsedInputOf<'worker.resize'>): OutputOf<'worker.resize'> {
    this.#terminal(asking, name, 'type').resize(cols, rows)
    return {}
  }

  /** Returns the terminal of the running worker of this name. */
  terminalOf(name: string): WorkerTerminal | undefined {
    const row = this.#parts.store.view.workers.byName(name)
    return row && this.#runtime?.terminalOf(row.id)
  }

  /** Returns the last screen of a worker that has exited, if it was kept. */
  lastScreenOf({ id }: Pick<WorkerRow, 'id'>): string | undefined {
    return this.#parts.store.view.workers.lastScreenOf(id)
  }

  #terminal(asking: Pick<CallContext, 'session'>, name: string, purpose: Purpose): WorkerTerminal {
    const row = this.#rowFor(asking, name, purpose)
    const { id, reason } = row
    this.#assertRunsHere(row, purpose)
    const terminal = this.#runtime?.terminalOf(id)
    if (!terminal) throw new RefusalError('worker.exited', { name, reason })
    return terminal
  }

  #rowFor({ session }: Pick<CallContext, 'session'>, name: string, purpose: Purpose): WorkerRow {
    const { view } = this.#parts.store
    const row = view.workers.byName(name)
    if (!row) throw new RefusalError(refuseUnknownWorker(view, session, name).refusal)
    if (purpose === 'look' ? sees(view, session, 'terminal', row) : isInCharge(view, session, row)) return row
    // The session knows from lists of agents that this is a worker, and whose, so the refusal may tell it that much.
    if (purpose === 'look' && hasCredential(session))
      throw new RefusalError('worker.screen-hidden', { name, parent: row.parent, agent: session.agent })
    throw new RefusalError(refuseNotYours(view, session, row, purposes[purpose]).refusal)
  }

  /** Refuses a running worker of another machine, since its terminal is there. */
  #assertRunsHere({ name, status, machine }: WorkerRow, purpose: Purpose): void {
    if (status !== 'exited' && machine !== undefined && machine !== this.#parts.sessions.machine)
      throw new RefusalError('worker.runs-elsewhere', { name, machine, what: purposes[purpose] })
  }

  /** Returns the machine of a running worker if that machine is unreachable; undefined otherwise. */
  #unreachableMachine({ status, machine }: WorkerRow): UnreachableMachine | undefined {
    if (status === 'exited' || machine === undefined || machine === this.#parts.sessions.machine) return undefined
    return this.#parts.otherMachines.unreachable(machine)
  }

  #statusOf(row: WorkerRow): Worker['status'] {
    const { id, status } = row
    if (this.#unreachableMachine(row)) return 'unreachable'
    return (status === 'ready' ? this.#runtime?.terminalOf(id)?.activity() : undefined) ?? status
  }

  #describe(row: WorkerRow): Worker {
    const { id, name, cli, model, parent, cwd, worktree, control, reason, pid, code, at, changedAt, again } = row
    const machine = row.machine === this.#parts.sessions.machine ? undefined : row.machine
    const seenAt = this.#unreachableMachine(row)?.since
    return {
      ...{ id, name, cli, model, parent, cwd, worktree, control },
      status: this.#statusOf(row),
      machine,
      machineSeenAt: seenAt === undefined ? undefined : new Date(seenAt).toISOString(),
      reason,
      pid,
      code,
      startedAt: new Date(at).toISOString(),
      changedAt: new Date(changedAt).toISOString(),
      again,
      spend: this.#parts.store.spend.ofWorker(id),
    }
  }
}

/** Whether the error means that the directory can have no worktree, or this machine has no git. */
function isNoWorktreeHere(error: unknown): boolean {
  return error instanceof RefusalError && ['worktree.none', 'cli.not-installed'].includes(error.refusal.code)
}
