// The daemon's side of the built-in agent loop: connects each run with its model and agent, and owns the worker thread in which the loops run. The thread
// starts with the first run and ends when there has been no run for a while.

import { Worker } from 'node:worker_threads'
import type { Env } from '@agent-relay/sdk/internal/discover'
import type { RunLedger } from '../broker/runs/run-runtime.ts'
import type { RunRow } from '../core/view.ts'
import type { McpServerSettings, ProjectConfigFile } from '../machine/trust.ts'
import { allowedDirectory } from '../machine/working-directory.ts'
import { loopsCloseMs, type RunLimits } from './limits.ts'
import type { LoopTask, MessageToDaemon, MessageToThread, RunAgentCalls } from './loop-protocol.ts'
import { modelSettings } from './model.ts'
import { relayTools } from './relay-tools.ts'
import { type OpenRunSession, RunAgent } from './run-agent.ts'

/** How long an idle worker thread is kept, so that the next run starts at once. Then its memory is freed. */
const idleThreadMs = 60_000

interface ActiveLoop {
  agent: RunAgentCalls
  note(text: string): void
  end(reason: string | undefined): void
}

export class Loops {
  readonly #active = new Map<string, ActiveLoop>()
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #isClosing = false

  /** Runs a loop in the worker thread. Resolves when the loop has ended, with a reason if nobody asked it to end. */
  run(
    task: Omit<LoopTask, 'overFlag'>,
    agent: RunAgentCalls,
    over: AbortSignal,
    note: (text: string) => void,
  ): Promise<string | undefined> {
    const { id } = task.run
    const flag = new Int32Array(new SharedArrayBuffer(4))
    return new Promise((end) => {
      this.#active.set(id, { agent, note, end })
      const tell = () => {
        Atomics.store(flag, 0, 1)
        this.#post({ type: 'over', run: id })
      }
      if (over.aborted) Atomics.store(flag, 0, 1)
      over.addEventListener('abort', tell, { once: true })
      this.#thread ??= this.#start()
      clearTimeout(this.#idle)
      this.#post({ type: 'begin', task: { ...task, overFlag: flag } })
    })
  }

  /** Gives up every active run and ends the worker thread. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#idle)
    this.#post({ type: 'close' })
    for (let waited = 0; this.#active.size > 0 && waited < loopsCloseMs; waited += 10)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await this.#thread?.terminate()
  }

  /** Starts the worker thread from the package's own `dist`, even if this file runs as TypeScript: a thread loads only JavaScript. */
  #start(): Worker {
    const thread = new Worker(new URL('../../dist/runs/loop-thread.js', import.meta.url), { execArgv: [] })
    thread.on('message', (message: MessageToDaemon) => void this.#onMessage(message))
    thread.on('error', (error: Error) => this.#onThreadEnd(thread, error.message))
    thread.on('exit', () => this.#onThreadEnd(thread, 'its thread ended'))
    // The thread must not keep alive a daemon that has nothing else to do.
    thread.unref()
    return thread
  }

  #post(message: MessageToThread): void {
    this.#thread?.postMessage(message)
  }

  async #onMessage(message: MessageToDaemon): Promise<void> {
    const active = this.#active.get(message.run)
    if (message.type === 'ended') return this.#end(message.run, message.reason)
    if (message.type === 'note') return active?.note(message.text)
    const { n, method, args } = message
    try {
      if (!active) throw new Error('the run is over')
      const value = await (active.agent[method] as (...given: unknown[]) => Promise<unknown>)(...args)
      this.#post({ type: 'answer', n, value })
    } catch (error) {
      this.#post({ type: 'answer', n, error: (error as Error).message })
    }
  }

  #end(run: string, reason: string | undefined): void {
    this.#active.get(run)?.end(reason)
    this.#active.delete(run)
    if (this.#active.size > 0 || this.#isClosing) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#thread?.terminate(), idleThreadMs)
    this.#idle.unref()
  }

  #onThreadEnd(thread: Worker, why: string): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    for (const run of [...this.#active.keys()]) this.#end(run, `The loop failed: ${why}`)
  }
}

export interface LoopRunOptions {
  ledger: RunLedger
  run: RunRow
  env: Env
  config: ProjectConfigFile | undefined
  /** The daemon's data directory; no program of a run may work inside it. */
  dataDir: string
  openSession: OpenRunSession
  loops: Loops
  limits: RunLimits
  over: AbortSignal
}

/** Carries out one run with the built-in loop. Resolves when the run is over, with a reason if the loop ended by itself. */
export async function runLoop(options: LoopRunOptions): Promise<string | undefined> {
  const { ledger, run, env, config, dataDir, openSession, loops, limits, over } = options
  const model = modelSettings(env, run.model, config)
  if (typeof model === 'string') return model
  const note = (text: string) => ledger.recordOutput(run.id, text)
  const mayStart = ledger.mayStartPrograms(run.id)
  const trusted = config?.isTrusted ? config : undefined
  if (config?.settings.mcpServers !== undefined && !trusted)
    note(`${config.path} names MCP servers, but is not trusted: agent-relay trust\n`)
  const agent = await RunAgent.open(run.id, ledger, openSession)
  if (!agent) return undefined
  try {
    const tools = await relayTools(() => agent.openTurn(), mayStart)
    const asked: RunAgentCalls = {
      takeMail: () => agent.takeMail(),
      markRead: async () => agent.markRead(),
      waitForMail: (ms) => agent.waitForMail(AbortSignal.any([over, AbortSignal.timeout(ms)])),
      complete: (summary) => agent.complete(summary),
      recordSpend: (n, tokens) => ledger.recordSpend(run.id, n, { model: model.model, tokens }),
      callTool: (name, input) => tools.call(name, input, over),
    }
    const task = {
      run,
      contract: ledger.contractOf(run.id),
      model,
      tools: tools.definitions,
      servers: mayStart && trusted ? placedServers(trusted, run.cwd, dataDir, note) : {},
      limits,
    }
    return await loops.run(task, asked, over, note)
  } finally {
    await agent.leave()
  }
}

/** Returns the MCP servers of the trusted configuration, each with the directory that it starts in. Relative paths in the file are relative to the project. */
function placedServers(
  { settings, directory }: ProjectConfigFile,
  runCwd: string | undefined,
  dataDir: string,
  note: (text: string) => void,
): Record<string, McpServerSettings> {
  const placed = (server: McpServerSettings): McpServerSettings => {
    if ('url' in server) return server
    const known = server.cwd === undefined ? [runCwd, directory] : [directory]
    return { ...server, cwd: allowedDirectory({ dataDir, wanted: server.cwd, defaults: known }) }
  }
  return Object.fromEntries(
    Object.entries(settings.mcpServers ?? {}).flatMap(([name, server]) => {
      try {
        return [[name, placed(server)]]
      } catch (error) {
        note(`The MCP server ${name} is not there: ${(error as Error).message}\n`)
        return []
      }
    }),
  )
}
