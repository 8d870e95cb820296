// The contract between the broker, which keeps the runs, and the runner, which has them carried out. Both directions.

import type { SpendNoted } from '@agent-relay/sdk/protocol'
import type { RunRow } from '../../core/view.ts'
import type { WorkerTerminal } from '../workers/worker-runtime.ts'

/** What the broker asks of the runner. */
export interface RunRuntime {
  /** Would the loop be given MCP servers there, which are programs? */
  startsServers(cwd: string | undefined): boolean
  /** Is a model named there for the loop? */
  namesModel(cwd: string | undefined): boolean
}

/** What the runner reads of the broker and reports to it. */
export interface RunLedger {
  contractOf(run: string): string
  isRunning(run: string): boolean
  /** May the run start programs, as who asked for it may? */
  mayStart(run: string): boolean
  /** What a running run puts out; only its end is kept. */
  note(run: string, text: string): void
  /** A screen takes the place of what was shown before. */
  show(run: string, screen: string): void
  /** Its own words said that it is done, where it could not call a tool. */
  fulfil(run: string, summary: string): Promise<void>
  /** What answer number `n` of its model has used. */
  spent(run: string, n: number, spend: Pick<SpendNoted, 'model' | 'tokens'>): Promise<void>
  /** It ended by itself: what carried it out says why. */
  end(run: string, reason: string): Promise<void>
  /** Starts a worker that carries it out, as its agent; resolves when its program lives. */
  hire(run: RunRow, task: string, abandoned: AbortSignal): Promise<void>
  /** Its worker; undefined once that has exited. */
  workerOf(run: RunRow): { terminal?: WorkerTerminal } | undefined
  /** Ends its worker; resolves when nothing of it is left. */
  dismiss(run: RunRow): Promise<void>
  listen(listener: Partial<RunListener>): () => void
}

/** What the runner is told as it happens. */
export interface RunListener {
  /** A run that this machine must carry out. */
  onStart(run: RunRow): void
  onEnd(run: string): void
  onWorkerExit(worker: string, reason?: string): void
  /** Somebody sent something, to whomever. */
  onMessage(): void
}
