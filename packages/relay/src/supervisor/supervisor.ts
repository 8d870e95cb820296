// Starts and ends the programs of a workspace's workers, as the wishes in the workers' rows say. Programs that an earlier daemon left are ended,
// never restarted.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ApprovalQueue } from '../broker/approvals/approval-runtime.ts'
import type { EditChecker } from '../broker/claims/claim-runtime.ts'
import type {
  CheckedWorker,
  PlaceRequest,
  SpawnPlace,
  WorkerLedger,
  WorkerRequest,
  WorkerRuntime,
  WorkerTerminal,
  WorktreeKeeper,
} from '../broker/workers/worker-runtime.ts'
import { daemonEndReasons } from '../core/needs.ts'
import type { WorkerRow } from '../core/view.ts'
import { allowedDirectory, realDirectory } from '../machine/working-directory.ts'
import { checkWorkerStart } from './checking.ts'
import { removeUnneededWorktree, reportWorkerExit, sweepWorkerProcesses } from './ending.ts'
import { acpHarness } from './harness/acp.ts'
import type { Harness } from './harness/harness.ts'
import { harnesses as allHarnesses } from './harness/index.ts'
import { conversationIdPattern, type HarnessSetups, type LaunchOptions, programFileOf } from './launching.ts'
import { openPty } from './pty.ts'
import { SupervisedWorker } from './worker.ts'

export interface SupervisorOptions {
  ledger: WorkerLedger
  approvals: ApprovalQueue
  edits: EditChecker
  worktrees: WorktreeKeeper
  /** The directory that the workspace is named after. */
  project(): string | undefined
  /** The parent folder of the workers' private directories. */
  directory: string
  socketPath: string
  /** The daemon's HTTP address, if it serves HTTP. */
  url?(): string | undefined
  /** The directory with the record of trusted project configurations. */
  dataDir: string
  /** The daemon's environment; a worker sees the allowed part of it. */
  env: Readonly<Record<string, string | undefined>>
  harnesses?: readonly Harness[]
  setups: HarnessSetups
  launchHook?: LaunchOptions['launchHook']
  /** Resolves when a workspace that several machines share can be written to. */
  whenWritable?(): Promise<void>
  onTrouble(error: Error): void
}

export class Supervisor implements WorkerRuntime {
  readonly #options: SupervisorOptions
  readonly #harnesses: readonly Harness[]
  readonly #workers = new Map<string, SupervisedWorker>()
  readonly #workersByName = new Map<string, SupervisedWorker>()
  #stopListening = () => {}
  /** Resolves when the worktrees of an earlier daemon's workers are removed, or kept because they hold work. */
  #removingWorktrees: Promise<void> | undefined
  #state: 'new' | 'open' | 'closed' = 'new'

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#harnesses = options.harnesses ?? allHarnesses
  }

  /**
   * Ends the programs that an earlier daemon left. When this resolves, none of them runs any more, and every parent has been told, or will be as soon
   * as the workspace can be written to. Worktrees are removed afterwards, so that nobody waits for git. If the daemon ends before that is done,
   * `agent-relay sweep` does the rest.
   */
  async start(): Promise<void> {
    const { ledger, directory, onTrouble } = this.#options
    const reached = this.#options.whenWritable?.()
    const ended = ledger.wishedWorkers()
    await Promise.all(ended.map(({ id }) => sweepWorkerProcesses(id)))
    const report = ({ id, worktree }: WorkerRow) =>
      ledger.report({
        ...{ id, status: 'exited', reason: daemonEndReasons.restarted },
        kept: worktree && 'it stays if it holds any',
      })
    const told = (reached ?? Promise.resolve()).then(() => Promise.all(ended.map(report)))
    if (reached) void told.catch(onTrouble)
    else await told
    rmSync(directory, { recursive: true, force: true })
    if (this.#state === 'closed') return
    this.#state = 'open'
    this.#stopListening = ledger.listen({
      onWish: (id, wish, reason) => this.#workers.get(id)?.carryOutWish(wish, reason),
      onMessage: (to) => this.#wakeFor(to),
      onPresence: (agent) => this.#workersByName.get(agent)?.wake(),
    })
    this.#removingWorktrees = this.#removeLeftWorktrees(ended).catch(onTrouble)
  }

  /**
   * Returns a new worker's directory: the one that was asked for; else the parent's, if the parent is a worker or carries out a run; else the
   * project's; else that of the parent's CLI.
   */
  findPlace({ parent, cwd, isConfined }: PlaceRequest): SpawnPlace {
    const { ledger, dataDir } = this.#options
    const project = realDirectory(this.#options.project())
    const { own, host } = ledger.directoriesOf(parent)
    const within = isConfined ? { directory: project } : undefined
    return { directory: allowedDirectory({ dataDir, wanted: cwd, defaults: [own, project, host], within }), project }
  }

  async check(request: WorkerRequest): Promise<CheckedWorker> {
    const { env, dataDir, url } = this.#options
    return checkWorkerStart(request, { harnesses: this.#harnesses, env, dataDir, hasHttp: url?.() !== undefined })
  }

  installed<C extends string>(clis: readonly C[]): C[] {
    return clis.filter((cli) => {
      const harness = this.#harnessOf(cli)
      return harness && programFileOf(harness, [], this.#options.env, '/') !== undefined
    })
  }

  whyNotContinue({ cli, args = [], control, conversation }: WorkerRow): string | undefined {
    const harness = this.#harnessOf(cli)
    if (control !== 'acp' && !harness?.canContinue)
      return `the relay knows no way to have ${cli} continue a conversation`
    if (control !== 'acp' && !harness?.canContinue?.(args))
      return `${cli} cannot continue a conversation that was started with these arguments`
    const form = conversationIdPattern(harness, control)
    return form?.test(conversation ?? '') === false
      ? `${cli} has reported no conversation that it could open again`
      : undefined
  }

  wake(): void {
    if (this.#state !== 'open') return
    for (const row of this.#options.ledger.wishedWorkers()) {
      const worker = this.#workers.get(row.id) ?? this.#begin(row)
      worker?.carryOutWish(row.wish)
    }
  }

  terminalOf(id: string): WorkerTerminal | undefined {
    return this.#workers.get(id)?.terminal
  }

  /** Ends all programs because the daemon stops: no program outlives the daemon. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#stopListening()
    const workers = [...this.#workers.values()]
    for (const worker of workers) worker.release(daemonEndReasons.stopped)
    await Promise.all([this.#removingWorktrees, ...workers.map(({ whenEnded }) => whenEnded)])
  }

  async #removeLeftWorktrees(ended: readonly WorkerRow[]): Promise<void> {
    for (const row of ended) if (this.#state !== 'closed') await removeUnneededWorktree(this.#options, row)
  }

  #begin(row: WorkerRow): SupervisedWorker | undefined {
    const { ledger, directory } = this.#options
    const { id, name, cli } = row
    const harness = this.#harnessOf(cli) ?? (row.control === 'acp' ? acpHarness : undefined)
    if (!harness || row.wish === 'gone') {
      void reportWorkerExit(this.#options, row, { reason: 'it was never started' })
      return undefined
    }
    const worker = new SupervisedWorker(row, {
      ...{ ...this.#options, harness, openTerminal: openPty },
      directory: join(directory, id),
    })
    this.#workers.set(id, worker)
    this.#workersByName.set(name, worker)
    void worker.whenEnded.then(() => {
      if (this.#state === 'open') void ledger.releaseHiredBy(name)
      this.#workers.delete(id)
      if (this.#workersByName.get(name) === worker) this.#workersByName.delete(name)
    })
    return worker
  }

  /** Wakes the workers with these names, for which messages have come. Without names the messages are in a channel, and may be for any worker. */
  #wakeFor(to: readonly string[]): void {
    for (const [name, worker] of this.#workersByName) if (to.length === 0 || to.includes(name)) worker.wake()
  }

  #harnessOf(cli: string): Harness | undefined {
    return this.#harnesses.find(({ name }) => name === cli)
  }
}
