// The contracts between the broker, which keeps the wishes for workers, and the supervisor, which runs their programs: one for each direction.

import type { ControlName, SpendNoted, Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { WorkerRow } from '../../core/view.ts'
import type { WorkerReport } from '../../core/workers.ts'
import type { Sink, Watch } from '../call.ts'
import type { HeldMail, MailRoom } from '../waking/own-session-runtime.ts'

export type { Sink, Watch, WorkerReport }

/** The supervisor's answers to the broker. */
export interface WorkerRuntime {
  /**
   * Ends the programs that an earlier daemon left, and starts those that are wished from now on. When this resolves, no program of an earlier daemon runs
   * any more.
   */
  begin(): Promise<void>
  /** Ends all programs because the daemon stops: none outlives it. */
  close(): Promise<void>
  /** The directory for a worker of this parent; refuses a path that is no directory, and the relay's own. Confined: to the project. */
  place(request: PlaceRequest): SpawnPlace
  /** Refuses a request that cannot be started before anything is written, such as a CLI that is not installed. */
  check(request: WorkerRequest): Promise<Checked>
  /** The first of these CLIs whose program is on PATH. */
  installed<C extends string>(clis: readonly C[]): C | undefined
  /** Rows have changed: the supervisor compares wishes with what runs. A lost hint is made up for by the next one. */
  wake(): void
  /** The worker's terminal; undefined if its program does not run. */
  terminal(id: string): WorkerTerminal | undefined
}

/** The broker's side: the supervisor reads workers from it and reports to it. */
export interface WorkerLedger {
  /** The workers of this machine that have not exited, each with its wish. */
  wished(): WorkerRow[]
  /** The exited workers of this machine that have left their worktree. */
  left(): WorkerRow[]
  forgetWorktree(id: string): Promise<void>
  taskOf(id: string): string | undefined
  /** The directories where an agent works as a worker or in a run, and where its host does, as far as they are known. */
  directoriesOf(agent: string): { own?: string; host?: string }
  /** Makes the worker's own token, known to nobody but its program; it ends with the program. */
  issueToken(id: string): Promise<string>
  report(report: WorkerReport): Promise<void>
  notReady(worker: WorkerRow, ms: number, screen: string): Promise<void>
  /** The worker could not be spoken to over ACP, and is typed into now; if it has a task, it gets it there from the beginning. */
  fellBack(worker: WorkerRow, why: string, hasTask: boolean): Promise<void>
  /** The worker's program has refused the task `times` times, and is not given it again. `why`: the program's words. */
  taskRefused(worker: WorkerRow, times: number, why: string): Promise<void>
  /** Notes the spend of turn number `n` of the worker's program, if the program tells it. */
  spent(worker: WorkerRow, n: number, spend: Pick<SpendNoted, 'model' | 'tokens' | 'usd'>): Promise<void>
  /** Releases the workers that this one has hired: nobody is left to whom they could report. */
  releaseHiredBy(name: string): Promise<void>
  /** Whether one of the agent's MCP sessions is initialized, so that its tools are there. */
  isInitialized(agent: string): boolean
  /** Holds mail to put before the worker outside a call: unread and not yet shown, the oldest first. `young`: a hook may still take the waiting mail. */
  hold(worker: WorkerRow, room: MailRoom): Promise<HeldMail | 'young' | undefined>
  listen(listener: WorkerListener): () => void
}

/** Events for the supervisor, as they happen. */
export interface WorkerListener {
  /** Called with a new wish of the row, and its reason. */
  onWish(id: string, wish: WorkerRow['wish'], reason?: string): void
  /** Called when somebody has sent a message; `to` names the recipients of a direct message. */
  onMessage(to: readonly string[]): void
  /** Called when an agent came, went or lost one of several sessions. */
  onPresence(agent: string): void
}

export interface WorkerRequest {
  name: string
  parent: string
  cli: string
  command?: string[]
  control?: ControlName
  args?: string[]
  task?: string
  model?: string
  /** The working directory, an existing one without links in its path. */
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

export interface Checked {
  /** The harness that knows the program, if only the program's command was given. */
  cli: string
  command?: string[]
  control: ControlName
  cwd: string
  /** The arguments: those that the project's configuration adds, then the caller's. */
  args: string[]
  isInjected: boolean
  note?: string
}

/** The keeper of worktrees, for the broker and the supervisor. Implemented in work/worktrees.ts. */
export interface WorktreeKeeper {
  /** The place of the worktree for a worker of this name. Refuses if there can be none; writes nothing. */
  plan(request: { name: string; directory: string }): Promise<PlannedWorktree>
  /** Makes the worktree; resolves when it is ready for its worker. */
  make(worktree: Worktree, options: MakeWorktree): Promise<void>
  /** Removes the worktree of a worker that is gone, unless it holds work. A worktree not made for this worker is never touched, whatever the row says. */
  leave(worktree: Worktree, by: LeftBy): Promise<EndedWorktree>
  /** The changes in the worktree; undefined if it is not there any more. */
  changes(worktree: Worktree): Promise<WorktreeChanges | undefined>
  diff(worktree: Worktree): Promise<{ text: string; isCut: boolean }>
  /** Removes the worktree with all its work, and its branch. */
  discard(worktree: Worktree, by: LeftBy): Promise<EndedWorktree>
}

/** The worker that has left a worktree. */
export interface LeftBy {
  /** The worker's id. */
  worker: string
  /** The worker's program was started, so that work may be in the worktree. */
  hasRun: boolean
  /** The worker's directory in the worktree; unset: all of it. */
  cwd?: string
}

export interface PlannedWorktree {
  worktree: Worktree
  /** The place in the worktree that corresponds to the requested directory. */
  cwd: string
  note?: string
}

export interface MakeWorktree {
  /** The id of the worker that will use the worktree. */
  worker: string
  cwd: string
  /** The marker by which processes that were started for the worker are found again. */
  marker: Record<string, string>
  /** The variables of the set-up command. */
  environment: Record<string, string>
  signal: AbortSignal
  /** Called when the set-up command begins, which may take minutes. */
  onSetup(what: string): Promise<void>
}

/** The end of a worktree. `kept`: the work that it holds, or why it is not removed; unset if it was removed. */
export interface EndedWorktree {
  kept?: string
  changes?: WorktreeChanges
}

export interface WorkerTerminal {
  /** The activity, as far as the screen shows it just now. */
  activity(): 'busy' | 'idle' | undefined
  screen(lines?: number): Promise<string>
  /** Sends the kept output ({data, isPast: true}), then new output ({data}); ends with `worker.exited` when the program exits. */
  follow(sink: Sink): Pick<Watch, 'drained' | 'stop'>
  /** Whether a dialog stands on the screen at this moment: a key would answer it. */
  isBlocked(): Promise<boolean>
  type(data: string): void
  resize(cols: number, rows: number): void
}
