// The interface of workers for the supervisor, which reads the wished workers and reports on them. Tells their parents (the agents that hired them). workers.ts
// answers agents.

import { lastScreenText, splitReason } from '@agent-relay/sdk/internal/printed'
import { type Entry, noticeFixes } from '@agent-relay/sdk/protocol'
import { directMembers } from '../../core/conversations.ts'
import { carriesOutRun } from '../../core/run-notice.ts'
import type { WorkerRow } from '../../core/view.ts'
import type { WorkerReport } from '../../core/workers.ts'
import type { WorkspaceParts } from '../call.ts'
import { acceptedReplyOrThrow, submitByDaemon, tellAgent } from '../commands.ts'
import { hashSecret, newSecret } from '../sessions/credentials.ts'
import type { Session } from '../sessions/session.ts'
import { daemonStanding } from '../sessions/standing.ts'
import { holdMail } from '../waking/held-mail.ts'
import type { HeldMail, MailLimits } from '../waking/user-session-runtime.ts'
import { recordSpend } from './spend.ts'
import type { WorkerLedger, WorkerListener } from './worker-runtime.ts'

/** The text in front of the task of a worker whose new program goes on with the former conversation. */
const continuedText =
  'Your program ended before you were done, and goes on with this conversation. See what is done already, then finish your task:\n\n'

export class WorkerReports implements WorkerLedger {
  readonly #parts: WorkspaceParts
  readonly #present = new Map<string, Session>()
  /** Workers whose start or end a call waits for, each with the last screen of a program that ended at once. */
  readonly #awaited = new Map<string, { screen?: string }>()

  constructor(parts: WorkspaceParts) {
    this.#parts = parts
  }

  /** Records that the caller waits for this worker's next report and needs no message about it, until `done` is called. */
  expectReport(id: string): { readonly screen?: string; done(): void } {
    const awaited = { screen: undefined, done: () => void this.#awaited.delete(id) }
    this.#awaited.set(id, awaited)
    return awaited
  }

  isAwaited(id: string): boolean {
    return this.#awaited.has(id)
  }

  wishedWorkers(): WorkerRow[] {
    const { store, sessions } = this.#parts
    return store.view.workers.running().filter(({ machine }) => machine === sessions.machine)
  }

  exitedWithWorktree(): WorkerRow[] {
    const { store, sessions } = this.#parts
    const rows = store.view.workers.withWorktree()
    return rows.filter(({ machine, status }) => machine === sessions.machine && status === 'exited')
  }

  async forgetWorktree(id: string): Promise<void> {
    await submitByDaemon(this.#parts, 'worker.sweep', { ids: [id] })
  }

  taskOf(id: string): string | undefined {
    const { workers } = this.#parts.store.view
    const task = workers.taskOf(id)
    return task !== undefined && workers.byId(id)?.asked?.continues ? continuedText + task : task
  }

  directoriesOf(agent: string): { own?: string; host?: string } {
    const { store, sessions } = this.#parts
    const worker = this.wishedWorkers().find(({ name }) => name === agent)
    const run = store.view.runs.byAgent(agent)
    // Leaves out the directory of a run on another machine, whose path means nothing on this one.
    const ofRun = run?.machine === sessions.machine ? run?.cwd : undefined
    return { own: worker?.cwd ?? ofRun, host: sessions.directoryOf(agent) }
  }

  async issueToken(id: string): Promise<string> {
    const token = newSecret('at')
    acceptedReplyOrThrow(await submitByDaemon(this.#parts, 'worker.issue-token', { id, tokenHash: hashSecret(token) }))
    return token
  }

  /** Tells the worker's parent, once, and then stores the report. If the daemon dies in between, the next daemon tells and reports again. */
  async report(report: WorkerReport): Promise<void> {
    const { store } = this.#parts
    const row = store.view.workers.byId(report.id)
    if (!row || row.status === 'exited' || (row.status === report.status && row.reason === report.reason)) return
    const awaited = this.#awaited.get(row.id)
    if (awaited) awaited.screen = report.screen
    const text = reportText(row, report, this.#reader(row))
    // A parent needs no message if it waits for this report, is told of the worker's run instead, or has released the worker itself and the worker left no work
    // behind.
    const isReleasedByParent = row.wish === 'gone' && row.wishedBy === row.parent && report.kept === undefined
    const isKnown = carriesOutRun(store.view, row) || isReleasedByParent
    // The parent was already told of questions that came by the CLI's own interface, when their approval opened.
    const isAsked = report.status === 'blocked' && this.#parts.isBlocked(row.name)
    const isTold = awaited !== undefined || isAsked || (report.status === 'exited' && isKnown)
    if (text !== undefined && !isTold) await this.#tell(row, text, reportKey(report))
    await submitByDaemon(this.#parts, 'worker.report', report)
    this.#showPresence(row, report.status)
  }

  reportNotReady(worker: WorkerRow, ms: number, screen: string): Promise<void> {
    const { name } = worker
    const fix = noticeFixes['not-ready'][this.#reader(worker)](name)
    return this.#tell(worker, `Worker "${name}" is not ready after ${ms / 1000} s. ${fix}${lastScreenText(screen)}`)
  }

  reportTaskRefused(worker: WorkerRow, times: number, why: string): Promise<void> {
    const { name } = worker
    const fix = noticeFixes['task-refused'][this.#reader(worker)](name)
    const body = `Worker "${name}" has refused its task ${times} times, and is not given it again: ${why}. ${fix}`
    return this.#tell(worker, body)
  }

  async reportFallback({ id }: WorkerRow, why: string, hasTask: boolean): Promise<void> {
    const row = this.#parts.store.view.workers.byId(id)
    if (!row || row.status === 'exited') return
    const task = hasTask ? ' It gets its task there, from the beginning.' : ''
    const body = `Worker "${row.name}" cannot be spoken to over ACP (${why}): it is typed into in its terminal instead.${task}`
    await this.#tell(row, body)
    await submitByDaemon(this.#parts, 'worker.report', { id, status: row.status, reason: row.reason, control: 'pty' })
  }

  async reportConversation({ id }: WorkerRow, conversation: string): Promise<void> {
    const row = this.#parts.store.view.workers.byId(id)
    if (!row || row.status === 'exited' || row.conversation === conversation) return
    await submitByDaemon(this.#parts, 'worker.report', { id, status: row.status, reason: row.reason, conversation })
  }

  /** Records the spend of a worker's turn; if the worker carries out a run, the spend belongs to the run, too. */
  async recordSpend(worker: WorkerRow, n: number, spend: Parameters<WorkerLedger['recordSpend']>[2]): Promise<void> {
    const { view } = this.#parts.store
    // The run may be over: the turn may have completed it.
    const run = carriesOutRun(view, worker) ? view.runs.byAgent(worker.name)?.id : undefined
    const { id, name, model } = worker
    await recordSpend(this.#parts, name, `${id}/spend/${n}`, { worker: id, run, ...spend, model: spend.model ?? model })
  }

  async releaseHiredBy(name: string): Promise<void> {
    const { store } = this.#parts
    const reason = `its parent ${name} has exited`
    // Workers on other machines are released too: the supervisor of their machine follows the wish.
    for (const hired of store.view.workers.running().filter(({ parent }) => parent === name)) {
      const input = { name: hired.name, reason, standing: daemonStanding }
      await submitByDaemon(this.#parts, 'worker.release', input)
    }
  }

  isInitialized(agent: string): boolean {
    return this.#parts.sessions.isInitialized(agent)
  }

  async holdMail({ id, name }: WorkerRow, room: MailLimits): Promise<HeldMail | 'young' | undefined> {
    const present = this.#present.get(id)
    return present?.agent === name ? holdMail(this.#parts, present, room) : undefined
  }

  listen(listener: WorkerListener): () => void {
    const { hub, sessions } = this.#parts
    const stops = [
      hub.listen((entries) => notifyListener(entries, listener)),
      sessions.onChange((agent) => listener.onPresence(agent)),
    ]
    return () => stops.forEach((stop) => void stop())
  }

  /** Keeps a session under the worker's name while its program runs, whether or not the program speaks MCP, since messages can be typed to it. */
  #showPresence({ id, name }: WorkerRow, status: WorkerReport['status']): void {
    const { sessions } = this.#parts
    const present = this.#present.get(id)
    if (status === 'exited') {
      if (present) sessions.end(present)
      this.#present.delete(id)
    } else if (!present) this.#present.set(id, sessions.openForDaemon(name))
  }

  #reader({ parent }: WorkerRow): NoticeReader {
    return this.#parts.store.view.agent(parent)?.type === 'human' ? 'person' : 'agent'
  }

  /** Sends the daemon's message to the worker's parent. */
  async #tell({ parent }: WorkerRow, body: string, cause = this.#parts.ids('d')): Promise<void> {
    await tellAgent(this.#parts, parent, body, cause)
  }
}

function notifyListener(entries: readonly Entry[], { onWish, onMessage }: WorkerListener): void {
  for (const { facts } of entries) {
    for (const fact of facts) {
      if (fact.type === 'worker.wish-changed') onWish(fact.id, fact.wish, fact.reason)
      if (fact.type === 'message.created') onMessage(directMembers(fact.conversation))
      // Messages that came during the approval were not shown, so the listener looks for them now.
      if (fact.type === 'approval.closed') onMessage([fact.agent])
    }
  }
}

/**
 * Returns the cause (command id) by which a report is sent to the parent only once. Undefined if it may happen again: a worker is ready once and exits once,
 * but may be blocked often.
 */
function reportKey({ id, status }: WorkerReport): string | undefined {
  return status === 'ready' || status === 'exited' ? `${id}/${status}` : undefined
}

type NoticeReader = keyof typeof noticeFixes.blocked

/** Returns the text of the daemon's message to a worker's parent about a report; undefined if the parent is not told. */
function reportText(
  { name, worktree }: WorkerRow,
  { status, reason, screen, kept }: WorkerReport,
  reader: NoticeReader,
): string | undefined {
  const { why, printed } = splitReason(reason)
  switch (status) {
    case 'ready':
      return `Worker "${name}" is ready.`
    case 'blocked':
      return `Worker "${name}" is blocked${why}. ${noticeFixes.blocked[reader](name)}${printed}${lastScreenText(screen)}`
    case 'exited':
      return `Worker "${name}" exited${why}.${keptText(worktree, kept)}${printed}${lastScreenText(screen)}`
    default:
      return undefined
  }
}

function keptText(worktree: WorkerRow['worktree'], kept: string | undefined): string {
  return worktree && kept !== undefined
    ? ` Its work is on branch ${worktree.branch}, in ${worktree.path}: ${kept}.`
    : ''
}
