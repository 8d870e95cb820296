// Compares what is wished of a workspace's workers with what runs, and acts. What an earlier daemon left behind is ended, never started again.

import { rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Entry } from '@agent-relay/sdk/protocol'
import type { Checked, WorkerRequest, WorkerRuntime, WorkerTerminal } from '../broker/worker-runtime.ts'
import type { Workspace } from '../broker/workspace.ts'
import { ownerOf } from '../config.ts'
import { directMembers } from '../core/conversations.ts'
import type { WorkerRow } from '../core/view.ts'
import { RefusalError } from '../refusal-error.ts'
import { projectConfig } from '../trust.ts'
import { sweep } from './ending.ts'
import type { Harness } from './harness/harness.ts'
import { harnesses as allHarnesses } from './harness/index.ts'
import { programOf } from './launching.ts'
import { Once } from './once.ts'
import { openPty } from './pty.ts'
import { offerRuntimeActions } from './runtime-actions.ts'
import { Worker } from './worker.ts'

export interface SupervisorOptions {
  workspace: Workspace
  /** Where each worker has its private directory. */
  directory: string
  socketPath: string
  /** Where it is kept which projects' configuration is trusted. */
  dataDir: string
  /** The daemon's own; a worker sees the allowed part. */
  env: Readonly<Record<string, string | undefined>>
  harnesses?: readonly Harness[]
  onTrouble(error: Error): void
}

export class Supervisor implements WorkerRuntime {
  readonly #options: SupervisorOptions
  readonly #harnesses: readonly Harness[]
  readonly #workers = new Map<string, Worker>()
  readonly #names = new Map<string, Worker>()
  readonly #stopListening: (() => void)[]
  #isClosed = false

  private constructor(options: SupervisorOptions) {
    this.#options = options
    this.#harnesses = options.harnesses ?? allHarnesses
    const { hub, sessions } = options.workspace
    this.#stopListening = [
      hub.listen((entries) => this.#hear(entries)),
      sessions.onChange((agent) => this.#names.get(agent)?.wake()),
    ]
  }

  /** When this resolves nothing of an earlier daemon runs any more, and every parent has been told. */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    const { workspace, directory } = options
    const leftovers = workspace.workers.rows()
    await Promise.all(
      leftovers.map(async ({ id }) => {
        await sweep(id)
        await workspace.workers.report({ id, status: 'exited', reason: 'the daemon was restarted' })
      }),
    )
    rmSync(directory, { recursive: true, force: true })
    const supervisor = new Supervisor(options)
    workspace.workers.attach(supervisor)
    await offerRuntimeActions(workspace)
    return supervisor
  }

  async check({ cli, command = [], args: given = [], cwd, parent }: WorkerRequest): Promise<Checked> {
    const harness = this.#harnessOf(cli)
    if (!harness) {
      const clis = this.#harnesses.map(({ name }) => name)
      throw new RefusalError('cli.unknown', { cli, clis })
    }
    const directory = resolve(this.#directoryOf(parent), cwd ?? '.')
    if (!isDirectory(directory)) throw new RefusalError('directory.unknown', { path: directory })
    const program = command[0] ?? harness.program
    if (program === undefined)
      throw new RefusalError('input.invalid', { operation: 'worker.spawn', why: `${cli} needs a command to run` })
    if (programOf(harness, command, this.#options.env, directory) === undefined) {
      throw new RefusalError('cli.not-installed', { program, install: harness.install })
    }
    const config = projectConfig(directory, this.#options.dataDir)
    const added = config?.settings.harness?.[cli]?.args ?? []
    const args = [...(config?.isTrusted ? added : []), ...given]
    const bringsOwn = harness.hasMcp && harness.bringsOwnMcp(args)
    const notes = [
      ...(added.length > 0 && !config?.isTrusted
        ? [`${config?.path} adds arguments, but is not trusted: agent-relay trust`]
        : []),
      ...(bringsOwn ? ['Its arguments bring MCP servers of their own: the relay was not added to them.'] : []),
    ]
    const note = notes.length === 0 ? undefined : notes.join(' ')
    return { cwd: directory, args, isInjected: harness.hasMcp && !bringsOwn, note }
  }

  wake(): void {
    if (this.#isClosed) return
    for (const row of this.#options.workspace.workers.rows()) {
      const worker = this.#workers.get(row.id) ?? this.#begin(row)
      worker?.wish(row.wish)
    }
  }

  terminal(id: string): WorkerTerminal | undefined {
    return this.#workers.get(id)?.terminal
  }

  /** The daemon stops: no program outlives it. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const stop of this.#stopListening) stop()
    const workers = [...this.#workers.values()]
    for (const worker of workers) worker.release('the daemon was stopped')
    await Promise.all(workers.map(({ over }) => over))
  }

  #begin(row: WorkerRow): Worker | undefined {
    const { workspace, directory, socketPath, env, onTrouble } = this.#options
    const { id, name, cli } = row
    const harness = this.#harnessOf(cli)
    if (!harness || row.wish === 'gone') {
      void workspace.workers.report({ id, status: 'exited', reason: 'it was never started' })
      return undefined
    }
    const worker = new Worker(row, {
      once: new Once(join(this.#options.dataDir, 'harnesses'), harness.name),
      ...{ workspace, harness, socketPath, env, openTerminal: openPty, onTrouble },
      directory: join(directory, id),
    })
    this.#workers.set(id, worker)
    this.#names.set(name, worker)
    void worker.over.then(() => {
      if (!this.#isClosed) void workspace.workers.releaseHiredBy(name)
      this.#workers.delete(id)
      if (this.#names.get(name) === worker) this.#names.delete(name)
    })
    return worker
  }

  #hear(entries: Entry[]): void {
    for (const { facts } of entries) {
      for (const fact of facts) {
        // The row says what is wished, the fact also why.
        if (fact.type === 'worker.wish-changed') this.#workers.get(fact.id)?.wish(fact.wish, fact.reason)
        if (fact.type !== 'message.created') continue
        const direct = directMembers(fact.conversation)
        for (const [name, worker] of this.#names) if (direct.length === 0 || direct.includes(name)) worker.wake()
      }
    }
  }

  /** Where the one works who asks: a worker's own directory, else the one that the workspace is named after. */
  #directoryOf(parent: string): string {
    const { workspace, dataDir } = this.#options
    const hired = workspace.workers.rows().find(({ name }) => name === parent)
    return hired?.cwd ?? ownerOf(dataDir, workspace.name) ?? process.cwd()
  }

  #harnessOf(cli: string): Harness | undefined {
    return this.#harnesses.find(({ name }) => name === cli)
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
