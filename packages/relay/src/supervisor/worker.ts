// One worker's life: its program is started, watched, spoken to when that is safe, stopped and continued, and ended with all it started.

import { mkdirSync, rmSync } from 'node:fs'
import { limits } from '@agent-relay/sdk/protocol'
import { refusal } from '@agent-relay/sdk/refusals'
import type { WorkerTerminal } from '../broker/worker-runtime.ts'
import { notReadyText } from '../broker/worker-runtime.ts'
import type { Workspace } from '../broker/workspace.ts'
import type { WorkerRow } from '../core/view.ts'
import { Attention } from './attention.ts'
import { endProgram, sweep } from './ending.ts'
import type { Harness } from './harness/harness.ts'
import { prepare } from './launching.ts'
import type { Once } from './once.ts'
import { Output } from './output.ts'
import { signalGroup } from './processes.ts'
import type { Exit, OpenTerminal, Terminal } from './terminal.ts'

export interface WorkerOptions {
  workspace: Workspace
  harness: Harness
  directory: string
  socketPath: string
  env: Readonly<Record<string, string | undefined>>
  /** What its CLI was told before, and need not be told again. */
  once: Once
  openTerminal: OpenTerminal
  /** Something went wrong that its parent cannot mend. */
  onTrouble(error: Error): void
}

const size = { cols: 120, rows: 40 }
/** Of its last screen, as its parent is told. */
const lastLines = 20
/** ... which may be as wide as somebody made it. */
const lastCharsMax = 16_000
/** A text on its way in is finished before a program is stopped, unless the program does not take it. */
const holdMs = 5_000
/** What a person may type ahead of a program that does not read. */
const typedBytesMax = 4 * limits.keysBytesMax

export class Worker {
  readonly #row: WorkerRow
  readonly #options: WorkerOptions
  readonly #output: Output
  readonly #attention: Attention
  readonly #exited: Promise<Exit>
  #setExit!: (exit: Exit) => void
  /** Resolves when nothing of it is left and that is recorded. */
  readonly over: Promise<void>
  #setOver!: () => void
  #terminal: Terminal | undefined
  #notReady: NodeJS.Timeout | undefined
  #isLive = false
  #isPaused = false
  #isOver = false
  /** Why it was told to go; undefined while it may stay. */
  #leaving: string | undefined
  /** Wishes are carried out one after the other. */
  #doing: Promise<void> = Promise.resolve()

  constructor(row: WorkerRow, options: WorkerOptions) {
    this.#row = row
    this.#options = options
    this.#exited = new Promise((resolve) => {
      this.#setExit = resolve
    })
    this.over = new Promise((resolve) => {
      this.#setOver = resolve
    })
    this.#output = new Output(size, (data) => this.#terminal?.answer(data))
    this.#attention = new Attention({
      ...{ row, harness: options.harness, workspace: options.workspace, output: this.#output },
      ...{ write: async (data) => this.#terminal?.write(data), onTrouble: options.onTrouble },
      report: (status, more) => this.#report(status, more),
    })
    this.#doing = this.#start().catch((error: Error) => this.#finish(`it could not be started: ${error.message}`))
  }

  get terminal(): WorkerTerminal | undefined {
    if (!this.#terminal || this.#isOver) return undefined
    return {
      activity: () => this.#attention.activity,
      screen: async (lines) => (await this.#output.lines(lines)).join('\n'),
      follow: (sink) => this.#output.follow(sink),
      type: (data) => this.#type(data),
      resize: (cols, rows) => {
        this.#terminal?.resize(cols, rows)
        this.#output.resize(cols, rows)
      },
    }
  }

  /** Mail may have come, or its MCP session. */
  wake(): void {
    this.#attention.wake()
  }

  /** Brings it to what is wished of it; a repeat changes nothing. */
  wish(wish: WorkerRow['wish'], reason?: string): void {
    if (wish === 'gone') return this.release(reason === undefined ? 'released' : `released: ${reason}`)
    this.#then(async () => {
      if ((wish === 'paused') === this.#isPaused || this.#isOver || !this.#terminal) return
      this.#isPaused = wish === 'paused'
      await within(this.#attention.hold(this.#isPaused), holdMs)
      signalGroup(this.#terminal.pid, this.#isPaused ? 'SIGSTOP' : 'SIGCONT')
      await this.#report(this.#isPaused ? 'paused' : this.#attention.status)
    })
  }

  release(reason: string): void {
    if (this.#leaving !== undefined || this.#isOver) return
    this.#leaving = reason
    this.#then(async () => {
      if (this.#isOver) return
      // Not waited for: what is being typed may wait for a program that does not read.
      this.#attention.end()
      const terminal = this.#terminal
      if (terminal)
        await endProgram({
          id: this.#row.id,
          pid: terminal.pid,
          exitKeys: this.#options.harness.exitKeys,
          press: (key) => terminal.write(key),
          exited: (ms) => within(this.#exited, ms),
        })
      await this.#finish(reason)
    })
  }

  async #start(): Promise<void> {
    const { workspace, harness, directory, socketPath, env, once, openTerminal } = this.#options
    const row = this.#row
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const token = await workspace.workers.issueToken(row.id)
    const { options, door } = await prepare({ row, harness, directory, socketPath, token, env, once })
    if (this.#leaving !== undefined) return
    // There from the first byte: a program that asks its terminal a question at the start waits for the answer.
    void this.#output.lines()
    const terminal = await openTerminal({ ...options, ...size })
    this.#terminal = terminal
    this.#attention.begin(door)
    terminal.onData((data) => {
      this.#output.push(data)
      this.#attention.printed()
    })
    terminal.onExit((exit) => {
      this.#setExit(exit)
      if (this.#leaving === undefined) void this.#finish(reasonOf(exit), exit)
    })
    setTimeout(() => this.#then(() => this.#lived()), limits.spawnLiveMs).unref()
    this.#notReady = setTimeout(() => this.#then(() => this.#tellNotReady()), limits.spawnReadyMs)
    this.#notReady.unref()
  }

  async #lived(): Promise<void> {
    if (this.#isOver || this.#leaving !== undefined) return
    this.#isLive = true
    await this.#report(this.#isPaused ? 'paused' : 'starting')
    this.#attention.live()
  }

  async #tellNotReady(): Promise<void> {
    if (this.#isOver || this.#attention.isReady) return
    // Perhaps what it was told once is no longer there: the next one is told again.
    this.#options.once.forget()
    const text = notReadyText(this.#row.name, limits.spawnReadyMs, await this.#lastScreen())
    await this.#options.workspace.workers.tell(this.#row, text)
  }

  /** Nothing of it is left when its end is recorded. */
  async #finish(reason: string, exit?: Exit): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#notReady)
    this.#attention.end()
    const { name, id } = this.#row
    try {
      const screen = await this.#lastScreen()
      await sweep(id, this.#terminal?.pid)
      this.#output.end(refusal('worker.exited', { name, reason }))
      rmSync(this.#options.directory, { recursive: true, force: true })
      const code = codeOf(exit ?? (await settled(this.#exited)))
      const pid = this.#terminal?.pid
      await this.#options.workspace.workers.report({ id, status: 'exited', pid, code, reason, screen })
    } catch (error) {
      this.#options.onTrouble(error as Error)
    }
    this.#setOver()
  }

  async #report(status: WorkerRow['status'], more: { reason?: string } = {}): Promise<void> {
    if (this.#isOver || (!this.#isLive && status !== 'exited')) return
    // A stopped one stays so, whatever its screen shows.
    if (this.#isPaused && status !== 'paused') return
    const screen = status === 'blocked' ? await this.#lastScreen() : undefined
    const { id } = this.#row
    await this.#options.workspace.workers.report({ id, status, pid: this.#terminal?.pid, ...more, screen })
  }

  async #lastScreen(): Promise<string> {
    return (await this.#output.lines()).slice(-lastLines).join('\n').slice(-lastCharsMax)
  }

  #type(data: string): void {
    const terminal = this.#terminal
    if (!terminal || terminal.waitingBytes > typedBytesMax) return
    this.#attention.typed(data)
    void terminal.write(data)
  }

  #then(work: () => Promise<void>): void {
    this.#doing = this.#doing.then(work).catch((error: Error) => this.#options.onTrouble(error))
  }
}

/** None where a signal ended it: the 0 that stands there then would read as success. */
function codeOf(exit: Exit | undefined): number | undefined {
  return exit?.signal === undefined ? exit?.code : undefined
}

function reasonOf({ code, signal }: Exit): string {
  if (signal !== undefined) return `its program was ended by signal ${signal}`
  return code === 0 ? 'its program ended' : `its program ended with code ${code}`
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const isThere = await Promise.race([promise.then(() => true), late])
  clearTimeout(timer)
  return isThere
}

/** Its value, if it has one by now. */
function settled<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, Promise.resolve(undefined)])
}
