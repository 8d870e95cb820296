// The interface of runs for the runner (runs/runner.ts), which reads runs and reports on them. Keeps in memory what is needed only while a run goes on. runs.ts
// answers agents.

import { limits, type SpendNoted } from '@agent-relay/sdk/protocol'
import { daemonEndReasons } from '../../core/needs.ts'
import type { RunRow } from '../../core/view.ts'
import type { WorkspaceParts } from '../call.ts'
import { submitByDaemon } from '../commands.ts'
import { daemonStanding, type Standing, standingWithoutRights } from '../sessions/standing.ts'
import { spawnRight } from '../workers/spawning.ts'
import { recordSpend } from '../workers/spend.ts'
import type { WorkerTerminal } from '../workers/worker-runtime.ts'
import type { Workers } from '../workers/workers.ts'
import type { RunLedger, RunListener } from './run-runtime.ts'

/** What this daemon keeps in memory while a run goes on. Only external runs (by a connected agent) outlive their daemon. */
interface RunningRun {
  /** The rights of the session that asked for the run; the run has no more. */
  readonly asker: Standing
  /** The token of the run's agent, kept in memory until the agent loop fetches it; the database has only the token's hash. */
  token?: string
  /** The end of the run's output. */
  output?: string
}

export class RunReports implements RunLedger {
  readonly #parts: WorkspaceParts
  readonly #workers: Workers
  readonly #running = new Map<string, RunningRun>()

  constructor(parts: WorkspaceParts, workers: Workers) {
    this.#parts = parts
    this.#workers = workers
    this.listen({ onEnd: (run) => this.forget(run) })
  }

  /** Ends runs that an earlier daemon of this machine left behind, whose loops and workers are gone. External runs go on. */
  async endLeftovers(): Promise<void> {
    const left = this.#parts.store.view.runs.running().filter((run) => run.harness !== 'external' && this.#isHere(run))
    await Promise.all(left.map(({ id }) => this.end(id, daemonEndReasons.duringRun)))
  }

  /** Keeps the run's token and rights before its start is committed: the runner hears of the commit, and takes the token, before the start is answered. */
  prepare(run: string, running: Omit<RunningRun, 'output'>): void {
    this.#running.set(run, { ...running })
  }

  forget(run: string): void {
    this.#running.delete(run)
  }

  /** Returns the token for the run's loop and the rights of the run's asker; only the first call gets them. */
  takeLogin(run: string): { token: string; asker: Standing } | undefined {
    const running = this.#running.get(run)
    if (running?.token === undefined) return undefined
    const { token, asker } = running
    running.token = undefined
    return { token, asker }
  }

  outputOf(run: string): string | undefined {
    return this.#running.get(run)?.output?.slice(-limits.previewCharsMax)
  }

  contractOf(run: string): string {
    return this.#parts.store.view.runs.contract(run)
  }

  isRunning(run: string): boolean {
    return this.#parts.store.view.runs.byId(run)?.status === 'running'
  }

  mayStartPrograms(run: string): boolean {
    return spawnRight(this.#askerOf(run), this.#parts.store.view.policy()) !== 'none'
  }

  recordOutput(run: string, text: string): void {
    const all = (this.#running.get(run)?.output ?? '') + text
    this.#put(run, all.length > 2 * limits.previewCharsMax ? all.slice(-limits.previewCharsMax) : all)
  }

  recordScreen(run: string, screen: string): void {
    this.#put(run, screen.trimEnd().slice(-limits.previewCharsMax))
  }

  async complete(run: string, summary: string): Promise<void> {
    await submitByDaemon(this.#parts, 'run.complete', { run, summary, standing: daemonStanding })
  }

  async end(run: string, reason: string): Promise<void> {
    await submitByDaemon(this.#parts, 'run.stop', { run, reason, standing: daemonStanding })
  }

  async recordSpend(run: string, n: number, spend: Pick<SpendNoted, 'model' | 'tokens'>): Promise<void> {
    const agent = this.#parts.store.view.runs.byId(run)?.agent
    if (agent !== undefined) await recordSpend(this.#parts, agent, `${run}/spend/${n}`, { run, ...spend })
  }

  async hireWorker(run: RunRow, task: string, abandoned: AbortSignal): Promise<void> {
    const { id, agent: name, harness: cli, model, cwd, worktree, parent: by } = run
    const hirer = { by, standing: this.#askerOf(id), id: this.#parts.ids('d'), abandoned }
    await this.#workers.hire(hirer, { name, cli, task, model, cwd, worktree })
  }

  workerOf({ agent }: RunRow): { terminal?: WorkerTerminal } | undefined {
    return this.#workers.stateOf(agent) && { terminal: this.#workers.terminalOf(agent) }
  }

  dismissWorker({ agent }: RunRow): Promise<void> {
    return this.#workers.wishes.releaseByDaemon(agent)
  }

  listen({ onStart, onEnd, onWorkerExit, onMessage }: Partial<RunListener>): () => void {
    const { hub, store } = this.#parts
    return hub.listen((entries) => {
      for (const { facts } of entries)
        for (const fact of facts) {
          if (fact.type === 'run.started' && this.#isHere(fact)) onStart?.(store.view.runs.byId(fact.id) as RunRow)
          if (fact.type === 'run.completed' || fact.type === 'run.stopped') onEnd?.(fact.id)
          if (fact.type === 'worker.changed' && fact.status === 'exited') onWorkerExit?.(fact.worker, fact.reason)
          if (fact.type === 'message.created') onMessage?.()
        }
    })
  }

  /** Whether the run is carried out on this machine. */
  #isHere({ machine }: Pick<RunRow, 'machine'>): boolean {
    return machine === this.#parts.sessions.machine
  }

  #askerOf(run: string): Standing {
    return this.#running.get(run)?.asker ?? standingWithoutRights
  }

  #put(run: string, output: string): void {
    const running = this.#running.get(run)
    if (running && this.isRunning(run)) running.output = output
  }
}
