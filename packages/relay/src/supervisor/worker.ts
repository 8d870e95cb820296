// One worker's life: its program is started, watched, given text when that is safe, paused and resumed, and ended with everything it started.

import { mkdirSync, rmSync } from 'node:fs'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { limits, type WorkerControlName } from '@agent-relay/sdk/protocol'
import { refusal } from '@agent-relay/sdk/protocol/refusals'
import type { WorkerLedger, WorkerTerminal, WorktreeKeeper } from '../broker/workers/worker-runtime.ts'
import type { WorkerRow } from '../core/view.ts'
import type { WorkerTurn } from '../core/workers.ts'
import { resultWithin } from '../machine/within.ts'
import { type CompanionServer, startCompanion } from './companion-server.ts'
import { AcpControl, type AcpControlOptions } from './control/acp-control.ts'
import { type ControlListener, isInTurn, type ProgramControl } from './control/control.ts'
import { PtyControl } from './control/pty-control.ts'
import { endProgram, exitCodeOf, exitReasonOf, reportWorkerExit, sweepWorkerProcesses } from './ending.ts'
import type { Harness } from './harness/harness.ts'
import {
  conversationIdPattern,
  type HarnessSetups,
  type LaunchOptions,
  prepareLaunch,
  workerEnvironment,
  workerMarker,
} from './launching.ts'
import { ProgramOutput } from './output.ts'
import { signalGroup } from './processes.ts'
import { PromptScheduler } from './prompt-scheduler.ts'
import type { OpenTerminal, ProgramExit, Terminal } from './pty.ts'
import { wait } from './typing.ts'

export interface SupervisedWorkerOptions extends Pick<AcpControlOptions, 'approvals' | 'edits'> {
  ledger: WorkerLedger
  worktrees: WorktreeKeeper
  harness: Harness
  directory: string
  launchHook?: LaunchOptions['launchHook']
  socketPath: string
  /** The daemon's HTTP address, if it serves HTTP. */
  url?(): string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** Remembers which one-time set-up commands of the CLI were run, so that they are not repeated. */
  setups: HarnessSetups
  openTerminal: OpenTerminal
  /** Called with an error that the worker's parent cannot fix. */
  onTrouble(error: Error): void
}

const size = { cols: 120, rows: 40 }
/** Number of lines of the last screen that the worker's parent is shown. */
const lastScreenLines = 20
/** Maximum number of characters of the last screen that the worker's parent is shown, since somebody may have made the terminal very wide. */
const lastScreenCharsMax = 16_000
/** Time after which an interrupt is answered, even if the turn is not over. Another machine that interrupts waits five seconds for the answer. */
const interruptMs = 3_000
/** Interval between two checks whether an interrupted turn is over. */
const interruptLookMs = 50
/** Maximum wait before a pause or an interrupt, so that the program can read a text that is being typed into its terminal. */
const typingHoldMs = 5_000

export class SupervisedWorker {
  readonly #row: WorkerRow
  readonly #options: SupervisedWorkerOptions
  readonly #output: ProgramOutput
  readonly #scheduler: PromptScheduler
  readonly #exited: Promise<ProgramExit>
  #resolveExited!: (exit: ProgramExit) => void
  /** Resolves when no process of the worker is left and its exit is recorded. */
  readonly whenEnded: Promise<void>
  #resolveEnded!: () => void
  #control: ProgramControl | undefined
  #terminal: Terminal | undefined
  #companion: CompanionServer | undefined
  #notReady: NodeJS.Timeout | undefined
  #token = ''
  /** The id of the program's conversation, as it was last stored. */
  #conversation: string | undefined
  #isLive = false
  #isPaused = false
  #isOver = false
  /** Aborts the making of the worktree. */
  readonly #worktreeAbort = new AbortController()
  /** Why the worker was released; undefined if it was not. */
  #releaseReason: string | undefined
  /** The interrupt that is under way. Resolves to whether the turn is over. */
  #interrupting: Promise<boolean> | undefined
  /** The last of the queued changes to the worker, which are carried out one after the other. */
  #queue: Promise<void> = Promise.resolve()

  constructor(row: WorkerRow, options: SupervisedWorkerOptions) {
    this.#row = row
    this.#options = options
    this.#exited = new Promise((resolve) => {
      this.#resolveExited = resolve
    })
    this.whenEnded = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
    this.#output = new ProgramOutput(size, (data) => this.#terminal?.answer(data))
    this.#scheduler = new PromptScheduler({
      ...{ row, harness: options.harness, ledger: options.ledger, onTrouble: options.onTrouble },
      report: (status, more) => this.#report(status, more),
    })
    this.#queue = this.#start().catch((error: Error) => this.#finish(`it could not be started: ${error.message}`))
  }

  get terminal(): WorkerTerminal | undefined {
    const control = this.#control
    if (!control || this.#isOver) return undefined
    return {
      activity: () => this.#scheduler.activity,
      screen: async (lines) => (await this.#output.lines(lines)).join('\n'),
      follow: (sink) => this.#output.follow(sink),
      isBlocked: async () => (await control.isBlocked?.()) ?? false,
      turn: () => this.#turnOf(control),
      interrupt: () => this.#interrupt(),
      type: (data) => control.type(data),
      resize: (cols, rows) => {
        control.resize(cols, rows)
        this.#output.resize(cols, rows)
      },
    }
  }

  #turnOf(control: ProgramControl): WorkerTurn {
    if (!control.canInterrupt) return 'unknown'
    if (!this.#scheduler.isReady) return 'starting'
    return this.#scheduler.isInTurn ? 'under way' : 'none'
  }

  /**
   * Interrupts the turn that is under way. Resolves to whether the turn is over by now. Two calls at the same time interrupt one turn, and not the
   * next one too.
   */
  async #interrupt(): Promise<boolean> {
    this.#interrupting ??= this.#interruptNow().finally(() => {
      this.#interrupting = undefined
    })
    const ending = this.#interrupting
    return (await resolvesWithin(ending, interruptMs)) && ending
  }

  #interruptNow(): Promise<boolean> {
    return new Promise((resolve) =>
      this.#enqueue(async () => {
        try {
          resolve(await this.#interruptStopped())
        } finally {
          resolve(false)
          if (!this.#isPaused) void this.#scheduler.setPromptsStopped(false)
        }
      }),
    )
  }

  async #interruptStopped(): Promise<boolean> {
    const control = this.#control
    const isGone = () => this.#isOver || this.#releaseReason !== undefined
    // Until the turn is over nothing else is typed: Escape and a key right after it would be read as one key.
    const isStopped = await resolvesWithin(this.#scheduler.setPromptsStopped(true), typingHoldMs)
    if (!control || isGone()) return true
    if (!isStopped || this.#isPaused) return false
    if (!isInTurn(await control.look())) return true
    await control.interrupt()
    for (const deadline = performance.now() + interruptMs; performance.now() < deadline && !isGone(); ) {
      if (!isInTurn(await control.look())) return true
      await wait(interruptLookMs)
    }
    return isGone()
  }

  /** Checks the worker again: mail may have arrived, or the worker's MCP session may have connected. */
  wake(): void {
    this.#scheduler.wake()
  }

  /** Does what the wish in the worker's row says, such as to pause. A repeated wish changes nothing. */
  carryOutWish(wish: WorkerRow['wish'], reason?: string): void {
    if (wish === 'gone') return this.release(reason === undefined ? 'released' : `released: ${reason}`)
    this.#enqueue(async () => {
      if ((wish === 'paused') === this.#isPaused || this.#isOver || !this.#control) return
      this.#isPaused = wish === 'paused'
      await resolvesWithin(this.#scheduler.setPromptsStopped(this.#isPaused), typingHoldMs)
      this.#signal(this.#isPaused ? 'SIGSTOP' : 'SIGCONT')
      await this.#report(this.#isPaused ? 'paused' : this.#scheduler.status)
    })
  }

  release(reason: string): void {
    if (this.#releaseReason !== undefined || this.#isOver) return
    this.#releaseReason = reason
    this.#worktreeAbort.abort()
    this.#enqueue(async () => {
      if (this.#isOver) return
      // The worker's end does not wait for text that is being typed, since the program may not read it.
      this.#scheduler.end()
      const control = this.#control
      if (control)
        await endProgram({
          id: this.#row.id,
          pid: control.pid,
          exitSteps: control.exitSteps(),
          exited: (ms) => resolvesWithin(this.#exited, ms),
        })
      await this.#finish(reason)
    })
  }

  async #start(): Promise<void> {
    const { ledger, directory } = this.#options
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    this.#token = await ledger.issueToken(this.#row.id)
    await this.#makeWorktree()
    if (this.#releaseReason !== undefined) return
    await this.#open(this.#row.control)
    if (!this.#control) return
    setTimeout(() => this.#enqueue(() => this.#markLive()), limits.spawnLiveMs).unref()
    this.#notReady = setTimeout(() => this.#enqueue(() => this.#tellNotReady()), waitLimitMs('workerStart'))
    this.#notReady.unref()
  }

  async #open(name: WorkerControlName): Promise<void> {
    const { harness, directory, launchHook, socketPath, url, env, setups, openTerminal } = this.#options
    const { approvals, edits, ledger } = this.#options
    const [row, output, token] = [this.#row, this.#output, this.#token]
    const { options, cliServer, companion, acp } = await prepareLaunch({
      ...{ row, harness, directory, launchHook, socketPath, url, token, env, setups },
      isAcp: name === 'acp',
    })
    if (this.#releaseReason !== undefined) return
    let control: ProgramControl | undefined
    const listener: ControlListener = {
      onChange: (ms) => (ms === undefined ? this.#scheduler.wake() : this.#scheduler.lookWithin(ms)),
      onExit: (exit) => control === this.#control && this.#onExit(exit),
      onBroken: (why, hasTalked) => control === this.#control && this.#enqueue(() => this.#fallBack(why, hasTalked)),
      onConversation: (id) => this.#keepConversation(id, name),
      onSpent: (n, spend) => void ledger.recordSpend(row, n, spend).catch(this.#options.onTrouble),
      onTrouble: this.#options.onTrouble,
    }
    this.#companion = companion && (await startCompanion(companion))
    if (acp) control = AcpControl.start({ ...options, ...acp, row, approvals, edits, output, listener })
    else {
      // The screen must exist before the first output: a program may ask its terminal a question at the start, and wait for the answer.
      void output.lines()
      const args = companion && this.#companion ? companion.clientArgs : options.args
      const terminal = await openTerminal({ ...options, args, ...size })
      this.#terminal = terminal
      control = new PtyControl(terminal, { row, approvals, harness, output, cliServer, listener })
    }
    this.#control = control
    this.#scheduler.begin(control)
  }

  #onExit(exit: ProgramExit): void {
    this.#resolveExited(exit)
    if (this.#releaseReason === undefined) void this.#finish(exitReasonOf(exit), exit)
  }

  /**
   * Starts the program in a terminal, if possible, because ACP has failed, and tells the worker's parent. The terminal begins a new conversation,
   * which can be given the task but does not contain earlier mail and turns.
   */
  async #fallBack(why: string, hasTalked: boolean): Promise<void> {
    const { harness, ledger } = this.#options
    const { id, command } = this.#row
    const control = this.#control
    if (this.#isOver || this.#releaseReason !== undefined || !control) return
    control.end()
    signalGroup(control.pid, 'SIGKILL')
    await sweepWorkerProcesses(id, control.pid)
    const goesOn = this.#row.asked?.continues !== undefined
    const isLost = hasTalked || this.#scheduler.hasGivenMail || goesOn
    if (harness.isAcpOnly || command !== undefined || isLost)
      return this.#finish(`it cannot be spoken to over ACP: ${why}`)
    try {
      await this.#open('pty')
    } catch (error) {
      return this.#finish(
        `it cannot be spoken to over ACP (${why}), nor be started in a terminal: ${(error as Error).message}`,
      )
    }
    await ledger.reportFallback(this.#row, why, this.#scheduler.hasWaitingTask)
  }

  /**
   * Stores the id of the conversation, so that a later program can continue it. An id in an unexpected form is not stored, since it will be an
   * argument.
   */
  #keepConversation(id: string, control: WorkerControlName): void {
    const { harness, ledger } = this.#options
    if (id === this.#conversation || !conversationIdPattern(harness, control)?.test(id)) return
    this.#conversation = id
    this.#enqueue(() => ledger.reportConversation(this.#row, id))
  }

  async #makeWorktree(): Promise<void> {
    const { ledger, worktrees, env } = this.#options
    const { id, cwd, worktree } = this.#row
    if (!worktree) return
    const marker = { [workerMarker]: id }
    const environment = workerEnvironment(env, marker)
    // This report answers the call that asked for the worker, before the worktree is set up, which may take minutes.
    const onSetup = (reason: string) => ledger.report({ id, status: 'starting', reason })
    await worktrees.make(worktree, {
      worker: id,
      cwd,
      marker,
      environment,
      signal: this.#worktreeAbort.signal,
      onSetup,
    })
  }

  async #markLive(): Promise<void> {
    if (this.#isOver || this.#releaseReason !== undefined) return
    this.#isLive = true
    await this.#report(this.#isPaused ? 'paused' : 'starting')
    this.#scheduler.markLive()
  }

  async #tellNotReady(): Promise<void> {
    if (this.#isOver || this.#scheduler.isReady) return
    // The CLI may have lost the result of its one-time set-up, so the next start repeats the set-up.
    this.#options.setups.forget(this.#options.harness.name)
    await this.#options.ledger.reportNotReady(this.#row, waitLimitMs('workerStart'), await this.#lastScreen())
  }

  /** Ends the worker. Its exit is recorded once none of its processes is left. */
  async #finish(reason: string, exit?: ProgramExit): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#notReady)
    this.#scheduler.end()
    const { name, id } = this.#row
    try {
      const screen = await this.#lastScreen()
      this.#companion?.signal('SIGKILL')
      await sweepWorkerProcesses(id, this.#control?.pid)
      this.#output.end(refusal('worker.exited', { name, reason }))
      rmSync(this.#options.directory, { recursive: true, force: true })
      const code = exitCodeOf(exit ?? (await valueIfResolved(this.#exited)))
      const pid = this.#control?.pid
      await reportWorkerExit(this.#options, this.#row, { pid, code, reason, screen })
    } catch (error) {
      this.#options.onTrouble(error as Error)
    }
    this.#resolveEnded()
  }

  async #report(status: WorkerRow['status'], more: { reason?: string } = {}): Promise<void> {
    if (this.#isOver || (!this.#isLive && status !== 'exited')) return
    // A paused worker is reported as paused, whatever its screen shows.
    if (this.#isPaused && status !== 'paused') return
    const screen = status === 'blocked' ? await this.#lastScreen() : undefined
    const { id } = this.#row
    await this.#options.ledger.report({ id, status, pid: this.#control?.pid, ...more, screen })
  }

  async #lastScreen(): Promise<string> {
    return (await this.#output.lines()).slice(-lastScreenLines).join('\n').slice(-lastScreenCharsMax)
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#control) signalGroup(this.#control.pid, signal)
    this.#companion?.signal(signal)
  }

  #enqueue(work: () => Promise<void>): void {
    this.#queue = this.#queue.then(work).catch((error: Error) => this.#options.onTrouble(error))
  }
}

async function resolvesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return (
    (await resultWithin(
      promise.then(() => true),
      ms,
    )) ?? false
  )
}

/** Returns the promise's value, if the promise has resolved already. */
function valueIfResolved<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, Promise.resolve(undefined)])
}
