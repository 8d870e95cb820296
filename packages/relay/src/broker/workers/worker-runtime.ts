// The interfaces between the broker, which keeps the wishes for workers, and the supervisor, which runs their programs: one for each direction.

import type { ParsedInputOf, SpendNoted, WorkerControlName, Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { WorkerRow } from '../../core/view.ts'
import type { WorkerReport, WorkerTurn } from '../../core/workers.ts'
import type { Watch, WatchItemSink } from '../call.ts'
import type { HeldMail, MailLimits } from '../waking/user-session-runtime.ts'

export type { Watch, WatchItemSink, WorkerReport }

/** The supervisor's side: runs the programs of workers for the broker. */
export interface WorkerRuntime {
  /**
   * Ends the programs that an earlier daemon left, and from then on starts the programs of wished workers. When this resolves, no program of an earlier daemon
   * runs any more.
   */
  start(): Promise<void>
  /** Ends all programs because the daemon stops: none outlives it. */
  close(): Promise<void>
  /**
   * Returns the directory for a worker of this parent. Refuses a path that is no directory, the relay's own directory, and, if `isConfined`, directories
   * outside the project.
   */
  findPlace(request: PlaceRequest): SpawnPlace
  /** Refuses a worker that cannot be started, such as one of a CLI that is not installed, before anything is written. */
  check(request: WorkerRequest): Promise<CheckedWorker>
  /** Returns those of the given CLIs whose program is on PATH, in the given order. */
  installed<C extends string>(clis: readonly C[]): C[]
  /** Returns why the conversation of an exited worker cannot be continued; undefined if it can. */
  whyNotContinue(worker: WorkerRow): string | undefined
  /** Hints that rows of workers have changed: the supervisor compares wishes with the programs that run. A lost hint is made up for by the next one. */
  wake(): void
  /** Returns the worker's terminal; undefined if its program does not run. */
  terminalOf(id: string): WorkerTerminal | undefined
}

/** The broker's side: the supervisor reads workers from it and reports to it. */
export interface WorkerLedger {
  /** Lists the workers of this machine that have not exited, each with its wish. */
  wishedWorkers(): WorkerRow[]
  /** Lists the exited workers of this machine that have left their worktree. */
  exitedWithWorktree(): WorkerRow[]
  forgetWorktree(id: string): Promise<void>
  /** Returns the text that the worker's program is given first. */
  taskOf(id: string): string | undefined
  /** Returns the directories where an agent works as a worker or in a run (`own`), and where its CLI runs (`host`), as far as they are known. */
  directoriesOf(agent: string): { own?: string; host?: string }
  /** Makes the worker's own token, known to nobody but its program; it ends with the program. */
  issueToken(id: string): Promise<string>
  report(report: WorkerReport): Promise<void>
  reportNotReady(worker: WorkerRow, ms: number, screen: string): Promise<void>
  /**
   * Reports that the daemon could not speak with the worker's program over ACP (Agent Client Protocol), and types into its terminal instead. If the worker has
   * a task, it is given there from the beginning.
   */
  reportFallback(worker: WorkerRow, why: string, hasTask: boolean): Promise<void>
  /** Reports the conversation that the worker's program is in, by the id that the program gave it. */
  reportConversation(worker: WorkerRow, conversation: string): Promise<void>
  /** Reports that the worker's program has refused the task `times` times, and is not given it again. `why`: the program's words. */
  reportTaskRefused(worker: WorkerRow, times: number, why: string): Promise<void>
  /** Records the tokens and cost of turn number `n` of the worker's program, if the program tells them. */
  recordSpend(worker: WorkerRow, n: number, spend: Pick<SpendNoted, 'model' | 'tokens' | 'usd'>): Promise<void>
  /** Releases the workers that this agent has hired: nobody is left to whom they could report. */
  releaseHiredBy(name: string): Promise<void>
  /** Whether one of the agent's MCP sessions is initialized, so that the agent has the relay's tools. */
  isInitialized(agent: string): boolean
  /**
   * Holds (reserves) messages to show the worker outside a call: unread and not yet shown, the oldest first. `young`: the waiting messages are so new that a
   * hook may still take them.
   */
  holdMail(worker: WorkerRow, room: MailLimits): Promise<HeldMail | 'young' | undefined>
  listen(listener: WorkerListener): () => void
}

/** Events for the supervisor, as they happen. */
export interface WorkerListener {
  /** Called with a new wish for the worker of this id, and its reason. */
  onWish(id: string, wish: WorkerRow['wish'], reason?: string): void
  /** Called when somebody has sent a message; `to` names the recipients of a direct message. */
  onMessage(to: readonly string[]): void
  /** Called when an agent connected, left or lost one of several sessions. */
  onPresence(agent: string): void
}

export interface WorkerRequest extends Omit<ParsedInputOf<'worker.spawn'>, 'worktree' | 'role'> {
  parent: string
  /** The working directory of the worker, an existing directory without links in its path. */
  cwd: string
}

export interface PlaceRequest {
  parent: string
  cwd?: string
  isConfined: boolean
}

export interface SpawnPlace {
  /** The directory in which the program would start, without links in its path. */
  directory: string
  /** The directory of the workspace's project, without links in its path. */
  project?: string
}

export interface CheckedWorker {
  /** The CLI that the program belongs to, found out if only the program's command was given. */
  cli: string
  command?: string[]
  control: WorkerControlName
  cwd: string
  /** The program's arguments: those that the project's configuration adds, then the caller's. */
  args: string[]
  isInjected: boolean
  note?: string
}

/** Makes, inspects and removes the git worktrees of workers, for the broker and the supervisor. Implemented in work/worktrees.ts. */
export interface WorktreeKeeper {
  /** Chooses the place of the worktree for a worker of this name. Refuses if there can be none; writes nothing. */
  plan(request: { name: string; directory: string }): Promise<PlannedWorktree>
  /** Makes the worktree; resolves when it is ready for its worker. */
  make(worktree: Worktree, options: WorktreeOptions): Promise<void>
  /**
   * Removes the worktree of a worker that has ended, unless it holds work. A worktree that was not made for this worker is never touched, whatever the worker's
   * row says.
   */
  removeIfClean(worktree: Worktree, by: EndedWorker): Promise<WorktreeRemovalResult>
  /** Returns the changes in the worktree; undefined if it does not exist any more. */
  changes(worktree: Worktree): Promise<WorktreeChanges | undefined>
  diff(worktree: Worktree): Promise<{ text: string; isCut: boolean }>
  /** Removes the worktree with all its work, and its branch. */
  discard(worktree: Worktree, by: EndedWorker): Promise<WorktreeRemovalResult>
}

/** An exited worker whose worktree is still there. */
export interface EndedWorker {
  /** The worker's id. */
  worker: string
  /** Whether the worker's program was started, so that work may be in the worktree. */
  hasRun: boolean
  /** The worker's directory in the worktree; unset if that is the whole worktree. */
  cwd?: string
}

export interface PlannedWorktree {
  worktree: Worktree
  /** The directory in the worktree that corresponds to the requested directory. */
  cwd: string
  note?: string
}

export interface WorktreeOptions {
  /** The id of the worker that will use the worktree. */
  worker: string
  cwd: string
  /** The environment variables that mark processes started for the worker, by which they are found again. */
  marker: Record<string, string>
  /** The environment variables of the set-up command. */
  environment: Record<string, string>
  signal: AbortSignal
  /** Called when the set-up command begins, which may take minutes. */
  onSetup(what: string): Promise<void>
}

/** The result of removing a worktree. `kept`: the work that it holds, or why it was not removed; unset if it was removed. */
export interface WorktreeRemovalResult {
  kept?: string
  changes?: WorktreeChanges
}

export interface WorkerTerminal {
  /** Returns the program's activity, as far as the screen shows it just now. */
  activity(): 'busy' | 'idle' | undefined
  screen(lines?: number): Promise<string>
  /** Returns the state of the program's turn, as far as the program shows it just now. */
  turn(): WorkerTurn
  /** Interrupts the turn. Resolves to whether the turn is over: at once, or after a short wait for a program that goes on. */
  interrupt(): Promise<boolean>
  /** Sends the output that the terminal has kept ({data, isPast: true}), then new output ({data}). Ends with `worker.exited` when the program exits. */
  follow(sink: WatchItemSink): Pick<Watch, 'drained' | 'stop'>
  /** Whether a dialog is on the screen at this moment, so that a typed key would answer it. */
  isBlocked(): Promise<boolean>
  type(data: string): void
  resize(cols: number, rows: number): void
}
