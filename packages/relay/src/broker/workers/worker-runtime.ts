// The contract between the broker, which keeps what is wished of workers, and the supervisor, which runs their programs. Both directions.

import type { ControlName, SpendNoted, Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { WorkerRow } from '../../core/view.ts'
import type { WorkerReport } from '../../core/workers.ts'
import type { Sink, Watch } from '../call.ts'
import type { HeldMail, MailRoom } from '../waking/own-session-runtime.ts'

export type { Sink, Watch, WorkerReport }

/** What the broker asks of the supervisor. */
export interface WorkerRuntime {
  /** Where a worker of this parent would work; refuses what is not a directory, and the relay's own. Confined: to the project. */
  place(request: PlaceRequest): SpawnPlace
  /** Refuses what cannot be started before anything is written, such as a CLI that is not installed. */
  check(request: WorkerRequest): Promise<Checked>
  /** The first of these CLIs whose program is on PATH. */
  installed<C extends string>(clis: readonly C[]): C | undefined
  /** Rows have changed: compare what is wished with what runs. A hint: the next one makes up for a lost one. */
  wake(): void
  /** Undefined where its program does not run. */
  terminal(id: string): WorkerTerminal | undefined
}

/** What the supervisor reads of the broker and reports to it. */
export interface WorkerLedger {
  /** The workers of this machine that have not exited, each with what is wished of it. */
  wished(): WorkerRow[]
  /** The workers of this machine that have exited and left their worktree. */
  left(): WorkerRow[]
  forgetWorktree(id: string): Promise<void>
  taskOf(id: string): string | undefined
  /** Where an agent works as a worker or in a run, and where its host does, as far as they are known. */
  directoriesOf(agent: string): { own?: string; host?: string }
  /** The worker's own token, known to nobody but its program; it ends when the program does. */
  issueToken(id: string): Promise<string>
  report(report: WorkerReport): Promise<void>
  notReady(worker: WorkerRow, ms: number, screen: string): Promise<void>
  /** It could not be spoken to over ACP, and is typed into now; there it gets its task, if it has one, from the beginning. */
  fellBack(worker: WorkerRow, why: string, hasTask: boolean): Promise<void>
  /** Its program has refused the task so many times, and is not given it again. `why`: its words. */
  taskRefused(worker: WorkerRow, times: number, why: string): Promise<void>
  /** What turn number `n` of its program has used, where the program says so. */
  spent(worker: WorkerRow, n: number, spend: Pick<SpendNoted, 'model' | 'tokens' | 'usd'>): Promise<void>
  /** A worker's own workers go with it: nobody is left to whom they could report. */
  releaseHiredBy(name: string): Promise<void>
  /** Has one of its MCP sessions come so far that its tools are there? */
  isInitialized(agent: string): boolean
  /** Mail to be put before it outside a call: unread, and not yet shown to it; the oldest first. `young`: what waits may still be taken by a hook. */
  hold(worker: WorkerRow, room: MailRoom): Promise<HeldMail | 'young' | undefined>
  listen(listener: WorkerListener): () => void
}

/** What the supervisor is told as it happens. */
export interface WorkerListener {
  /** The row says what is wished, this also why. */
  onWish(id: string, wish: WorkerRow['wish'], reason?: string): void
  /** Somebody sent something; `to` names the recipients of a direct message. */
  onMessage(to: readonly string[]): void
  /** An agent came, went or is served by one session less. */
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
  /** A real directory. */
  cwd: string
}

export interface PlaceRequest {
  parent: string
  cwd?: string
  isConfined: boolean
}

export interface SpawnPlace {
  /** Where the program would start, without links in its path. */
  directory: string
  /** The directory of the workspace's project, without links in its path. */
  project?: string
}

export interface Checked {
  /** The harness that knows the program, where only its command was given. */
  cli: string
  command?: string[]
  control: ControlName
  cwd: string
  /** The caller's, and before them what the project's configuration adds. */
  args: string[]
  isInjected: boolean
  note?: string
}

/** What the broker and the supervisor ask of what keeps the worktrees (work/worktrees.ts). */
export interface WorktreeKeeper {
  /** Where a worker of this name would have its worktree. Refuses where there can be none; writes nothing. */
  plan(request: { name: string; directory: string }): Promise<PlannedWorktree>
  /** Resolves when it is ready for its worker. */
  make(worktree: Worktree, options: MakeWorktree): Promise<void>
  /** Its worker is gone: removes it unless it holds work. What was not made for this worker is not touched, whatever the row says. */
  leave(worktree: Worktree, by: LeftBy): Promise<EndedWorktree>
  /** Undefined where it is not there any more. */
  changes(worktree: Worktree): Promise<WorktreeChanges | undefined>
  diff(worktree: Worktree): Promise<{ text: string; isCut: boolean }>
  /** The same, with all the work that it holds, and its branch. */
  discard(worktree: Worktree, by: LeftBy): Promise<EndedWorktree>
}

/** The worker that has left a worktree. */
export interface LeftBy {
  /** Its id. */
  worker: string
  /** Its program was started, so that work may be in it. */
  hasRun: boolean
  /** Where in the worktree it worked; left out: in all of it. */
  cwd?: string
}

export interface PlannedWorktree {
  worktree: Worktree
  /** The same place in the worktree. */
  cwd: string
  note?: string
}

export interface MakeWorktree {
  /** The id of who will work in it. */
  worker: string
  cwd: string
  /** By which what was started for it is found again. */
  marker: Record<string, string>
  /** Of its set-up command. */
  environment: Record<string, string>
  signal: AbortSignal
  /** Its set-up command begins, which may take minutes. */
  onSetup(what: string): Promise<void>
}

/** `kept` says what it holds, or why it is not removed; left out where it was. */
export interface EndedWorktree {
  kept?: string
  changes?: WorktreeChanges
}

export interface WorkerTerminal {
  /** As far as the screen tells just now. */
  activity(): 'busy' | 'idle' | undefined
  screen(lines?: number): Promise<string>
  /** All that is kept of what it printed ({data, isPast: true}), then what it prints ({data}); ends with `worker.exited` when it exits. */
  follow(sink: Sink): Pick<Watch, 'drained' | 'stop'>
  /** A dialog stands on the screen at this moment: a key would answer it. */
  isBlocked(): Promise<boolean>
  type(data: string): void
  resize(cols: number, rows: number): void
}
