// The interfaces between the broker, which keeps the runs, and the runner, which has them carried out.

import type { SpendNoted } from '@agent-relay/sdk/protocol'
import type { RunRow } from '../../core/view.ts'
import type { WorkerTerminal } from '../workers/worker-runtime.ts'

/** The settings of the built-in agent loop, which may differ between directories. */
export interface LoopSettings {
  /** Whether the settings of this directory give the loop MCP servers: programs, which not every asker may start. */
  startsServers(cwd: string | undefined): boolean
  /** Whether the settings of this directory name a model for the loop. */
  isModelConfigured(cwd: string | undefined): boolean
}

/** The broker's side: the runner reads runs from it and reports to it. */
export interface RunLedger {
  contractOf(run: string): string
  isRunning(run: string): boolean
  /** Whether the run may start programs; it may if its asker may. */
  mayStartPrograms(run: string): boolean
  /** Records output of a running run; only the end of the output is kept. */
  recordOutput(run: string, text: string): void
  /** Records the screen of the run's worker, which replaces the output shown before. */
  recordScreen(run: string, screen: string): void
  /** Completes a run whose agent says only in its output that it is done, for harnesses (ways to run an agent) that cannot call a tool. */
  complete(run: string, summary: string): Promise<void>
  /** Records the tokens and cost of answer number `n` of the run's model. */
  recordSpend(run: string, n: number, spend: Pick<SpendNoted, 'model' | 'tokens'>): Promise<void>
  /** Ends a run whose loop or worker has stopped without completing it. `reason`: why, as the runner says. */
  end(run: string, reason: string): Promise<void>
  /** Starts a worker that carries out the run, under the name of the run's agent. Resolves when the worker's program has started. */
  hireWorker(run: RunRow, task: string, abandoned: AbortSignal): Promise<void>
  /** Returns the run's worker; undefined once the worker has exited. */
  workerOf(run: RunRow): { terminal?: WorkerTerminal } | undefined
  /** Ends the run's worker. Resolves when none of its processes is left. */
  dismissWorker(run: RunRow): Promise<void>
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
