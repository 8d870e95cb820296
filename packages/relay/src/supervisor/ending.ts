// Ends a worker: asks its program to exit, then signals the program's process group, then every process that has the worker's marker (RELAY_WORKER)
// in its environment, or on systems without /proc the program's descendants. No other process is signalled.

import type { Worktree } from '@agent-relay/sdk/protocol'
import type { WorkerLedger, WorkerReport, WorktreeKeeper } from '../broker/workers/worker-runtime.ts'
import type { WorkerRow } from '../core/view.ts'
import { isInside } from '../machine/working-directory.ts'
import { workerMarker } from './launching.ts'
import {
  descendantsOf,
  isLinux,
  orphanedGroupMembers,
  processesWithVariable,
  signalGroup,
  signalIfAlive,
  signalProcess,
} from './processes.ts'
import type { ProgramExit } from './pty.ts'

export interface EndProgramOptions {
  id: string
  pid: number
  /** Ways to ask the program to exit, to be tried in this order. */
  exitSteps: readonly (() => unknown)[]
  /** Resolves to true when the program has exited, to false after `ms` milliseconds. */
  exited(ms: number): Promise<boolean>
}

const exitStepMs = 150
/** Time that the program gets to exit after it was asked to, and again after SIGTERM. */
const politeMs = 2_000
/** Time after SIGTERM for processes that the program left behind, for example to close a file. */
const sweepGraceMs = 200
/** Maximum time for ending the processes that the program left behind; the kernel may not end a process at once. */
const sweepMs = 10_000

/** Ends the worker's program. Resolves when no process of the worker is left. */
export async function endProgram({ id, pid, exitSteps, exited }: EndProgramOptions): Promise<void> {
  // A stopped process acts on no signal but SIGKILL, so the group is continued first.
  signalGroup(pid, 'SIGCONT')
  const below = isLinux ? [] : await descendantsOf(pid)
  if (!(await endLeader(exitSteps, exited, pid))) {
    // No other processes can have the group's number: it is not reused while the group has a member.
    signalGroup(pid, 'SIGKILL')
    await exited(politeMs)
  }
  for (const each of below) signalIfAlive(each, 'SIGKILL')
  await sweepWorkerProcesses(id, pid)
}

async function endLeader(
  leave: EndProgramOptions['exitSteps'],
  exited: EndProgramOptions['exited'],
  pid: number,
): Promise<boolean> {
  for (const ask of leave) {
    // The call is not awaited: a program that does not read its input must not delay its own end.
    void ask()
    if (await exited(exitStepMs)) return true
  }
  if (await exited(politeMs)) return true
  signalGroup(pid, 'SIGTERM')
  return exited(politeMs)
}

/**
 * Ends every process that has the worker's marker in its environment, and the rest of its program's process group. Repeats until nothing is found,
 * since a process may fork meanwhile. Resolves to the number of processes found.
 */
export async function sweepWorkerProcesses(id: string, leader?: number): Promise<number> {
  if (!isLinux) return 0
  const swept = new Set<string>()
  const deadline = performance.now() + sweepMs
  for (let signal: NodeJS.Signals = 'SIGTERM'; performance.now() < deadline; signal = 'SIGKILL') {
    const group = leader === undefined ? [] : await orphanedGroupMembers(leader)
    const found = [...(await processesWithVariable(workerMarker, id)), ...group]
    if (found.length === 0) break
    for (const each of found) {
      swept.add(`${each.pid} ${each.startedAt}`)
      signalProcess(each, signal)
      // A stopped process acts on no signal but SIGKILL, so it is continued.
      if (signal !== 'SIGKILL') signalProcess(each, 'SIGCONT')
    }
    await new Promise((resolve) => setTimeout(resolve, signal === 'SIGTERM' ? sweepGraceMs : 10))
  }
  return swept.size
}

interface ExitRecorders {
  ledger: WorkerLedger
  worktrees: WorktreeKeeper
}

/**
 * Removes the worker's worktree, unless it holds work or other workers use it, and then records the worker's exit. If the daemon dies in between, the
 * next daemon finds the worker without an exit, and ends it again.
 */
export async function reportWorkerExit(
  { ledger, worktrees }: ExitRecorders,
  row: WorkerRow,
  exit: Omit<WorkerReport, 'id' | 'status'>,
): Promise<void> {
  const { id, worktree, cwd } = row
  const hasRun = (exit.pid ?? row.pid) !== undefined
  const leave = (tree: Worktree) =>
    isWorktreeInUse(ledger, id, tree)
      ? { kept: 'others still work in it' }
      : worktrees.removeIfClean(tree, { worker: id, hasRun, cwd })
  const left = worktree && (await leave(worktree))
  const isWorktreeRemoved = left !== undefined && left.kept === undefined
  await ledger.report({ ...exit, id, status: 'exited', isWorktreeRemoved, kept: left?.kept })
  // A parent may have ended before this worker, and its worktree may have been kept only because this worker used it.
  for (const other of ledger.exitedWithWorktree())
    if (other.id !== id && other.worktree && isInside(cwd, other.worktree.path))
      await removeUnneededWorktree({ ledger, worktrees }, other)
}

/** Removes the worktree of a worker whose exit is recorded already, unless the worktree holds work or other workers use it. */
export async function removeUnneededWorktree(
  { ledger, worktrees }: ExitRecorders,
  { id, worktree, pid, cwd }: Pick<WorkerRow, 'id' | 'worktree' | 'pid' | 'cwd'>,
): Promise<void> {
  if (!worktree || isWorktreeInUse(ledger, id, worktree)) return
  const { kept } = await worktrees.removeIfClean(worktree, { worker: id, hasRun: pid !== undefined, cwd })
  if (kept === undefined) await ledger.forgetWorktree(id)
}

function isWorktreeInUse(ledger: WorkerLedger, id: string, { path }: Worktree): boolean {
  return ledger.wishedWorkers().some((other) => other.id !== id && isInside(other.cwd, path))
}

/** Returns the program's exit code. Undefined if a signal ended the program: its code is 0 then, which would read as success. */
export function exitCodeOf(exit: ProgramExit | undefined): number | undefined {
  return exit?.signal === undefined ? exit?.code : undefined
}

export function exitReasonOf({ code, signal }: ProgramExit): string {
  if (signal !== undefined) return `its program was ended by signal ${signal}`
  return code === 0 ? 'its program ended' : `its program ended with code ${code}`
}
