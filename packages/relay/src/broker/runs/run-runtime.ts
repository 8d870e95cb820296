// The contracts between the broker, which keeps the runs, and the runner, which has them carried out.

import type { SpendNoted } from '@agent-relay/sdk/protocol'
import type { RunRow } from '../../core/view.ts'
import type { WorkerTerminal } from '../workers/worker-runtime.ts'

/** The settings of the built-in loop, which a directory may have of its own. */
export interface LoopSettings {
  /** Whether the loop would be given MCP servers in this directory; these are programs. */
  startsServers(cwd: string | undefined): boolean
  /** Whether the settings of this directory name a model for the loop. */
  namesModel(cwd: string | undefined): boolean
}

/** The broker's side: the runner reads runs from it and reports to it. */
export interface RunLedger {
  contractOf(run: string): string
  isRunning(run: string): boolean
  /** Whether the run may start programs, as its asker may. */
  mayStart(run: string): boolean
  /** Notes output of a running run; only its end is kept. */
  note(run: string, text: string): void
  /** Notes the run's screen, which replaces the output that was shown before. */
  show(run: string, screen: string): void
  /** Completes a run whose own words said that it is done, for harnesses that cannot call a tool. */
  fulfil(run: string, summary: string): Promise<void>
  /** Notes the spend of answer number `n` of the run's model. */
  spent(run: string, n: number, spend: Pick<SpendNoted, 'model' | 'tokens'>): Promise<void>
  /** Ends a run that stopped by itself, with the harness's reason. */
  end(run: string, reason: string): Promise<void>
  /** Starts a worker that carries out the run, as the run's agent; resolves when the worker's program lives. */
  hire(run: RunRow, task: string, abandoned: AbortSignal): Promise<void>
  /** The run's worker; undefined once the worker has exited. */
  workerOf(run: RunRow): { terminal?: WorkerTerminal } | undefined
  /** Ends the run's worker; resolves when nothing of it is left. */
  dismiss(run: RunRow): Promise<void>
  listen(listener: Partial<RunListener>): () => void
}

/** Events for the runner, as they happen. */
export interface RunListener {
  /** Called with a run that this machine must carry out. */
  onStart(run: RunRow): void
  onEnd(run: string): void
  onWorkerExit(worker: string, reason?: string): void
  /** Called when somebody has sent a message, to any recipient. */
  onMessage(): void
}
