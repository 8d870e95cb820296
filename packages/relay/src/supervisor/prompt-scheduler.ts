// Gives a worker its texts when that is safe: the task once the worker is ready, then its mail. Each is given while the worker is idle, and never
// while it waits for a person. The worker's control (control/control.ts) talks to the program and observes it.

import { cleanForModel, cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { answerInstruction, type InjectionOptions, injectionText } from '@agent-relay/sdk/internal/injection'
import type { HeldMail } from '../broker/waking/user-session-runtime.ts'
import type { WorkerLedger } from '../broker/workers/worker-runtime.ts'
import type { WorkerRow } from '../core/view.ts'
import { CoalescedCheck } from '../machine/coalesced-check.ts'
import {
  type ControlState,
  isInTurn,
  type PromptChannel,
  type PromptListener,
  type UnfinishedPrompt,
} from './control/control.ts'
import type { Harness } from './harness/harness.ts'
import { deliverMail } from './mail-delivery.ts'

export interface PromptSchedulerOptions {
  row: WorkerRow
  harness: Harness
  ledger: WorkerLedger
  onTrouble(error: Error): void
  report(status: WorkerRow['status'], more?: { reason?: string }): Promise<void>
}

/** Delay between a prompt and the next read of the program's state: by then most programs show that they are busy. */
const afterPromptMs = 60
/** Time for which a worker must wait for a person before it is reported as blocked; a shorter wait is not reported. */
const blockedMs = 700
/** Maximum interval between two checks of mail that a hook may still take. */
const graceLookMs = 1_000
/** Number of times that the program refuses its task before the task is given up and the worker's parent is told, who may know what to do about it. */
const taskRefusalsMax = 3

/**
 * The worker's task. `given`: sent in a prompt that the model may not have yet. `over`: given up, and the worker's parent was told that the model
 * does not have the task.
 */
interface WorkerTask {
  text: string
  state: 'waits' | 'given' | 'taken' | 'over'
  refusals: number
}

export class PromptScheduler {
  readonly #options: PromptSchedulerOptions
  readonly #injection: InjectionOptions
  #control: PromptChannel | undefined
  readonly #task: WorkerTask | undefined
  /** The mail in a prompt whose outcome is not known yet. */
  #mail: HeldMail | undefined
  #hasGivenMail = false
  #activity: 'busy' | 'idle' | undefined
  #isInTurn = false
  #isLive = false
  #isReady = false
  #isStopped = false
  #isOver = false
  #blockedSince: number | undefined
  #isBlocked = false
  #unfinished: UnfinishedPrompt | undefined
  #isWanted = false
  #working: Promise<void> | undefined
  readonly #next = new CoalescedCheck(() => this.wake())

  constructor(options: PromptSchedulerOptions) {
    this.#options = options
    const { harness, row, ledger } = options
    this.#injection = { toolPrefix: harness.hasMcp && row.isInjected ? harness.toolPrefix : undefined }
    const text = ledger.taskOf(row.id)
    if (text !== undefined) this.#task = { text, state: 'waits', refusals: 0 }
  }

  get activity(): 'busy' | 'idle' | undefined {
    return this.#activity
  }

  /** Whether a turn was under way when the program's state was last read. */
  get isInTurn(): boolean {
    return this.#isInTurn
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get status(): 'starting' | 'ready' | 'blocked' {
    if (this.#isBlocked) return 'blocked'
    return this.#isReady ? 'ready' : 'starting'
  }

  /** Whether mail was given to the model in the present conversation; a new conversation would not contain that mail. */
  get hasGivenMail(): boolean {
    return this.#hasGivenMail
  }

  /** Whether the worker still has to be given its task. */
  get hasWaitingTask(): boolean {
    return this.#task?.state === 'waits'
  }

  /** Begins with a control whose conversation is new: mail that is under way is released, and the task is given again. */
  begin(control: PromptChannel): void {
    this.#control = control
    this.#unfinished = undefined
    this.#releaseMail()
    this.#isReady = false
    if (this.#task && this.#task.state !== 'over') this.#task.state = 'waits'
  }

  /** Notes that the program has lived long enough to count as started. */
  markLive(): void {
    this.#isLive = true
    this.wake()
  }

  /** Reads the worker's state again after `ms` milliseconds at the latest. */
  lookWithin(ms: number): void {
    this.#next.runWithin(ms)
  }

  wake(): void {
    this.#isWanted = true
    this.#working ??= this.#work()
      .catch((error: Error) => this.#options.onTrouble(error))
      .finally(() => {
        this.#working = undefined
        if (this.#isWanted && !this.#isStopped && !this.#isOver) this.wake()
      })
  }

  /** Stops giving prompts, or goes on. When a stop has resolved, no prompt is under way either. */
  async setPromptsStopped(isStopped: boolean): Promise<void> {
    this.#isStopped = isStopped
    if (isStopped) await this.#working
    else this.wake()
  }

  end(): void {
    this.#isOver = true
    this.#activity = undefined
    this.#next.end()
    this.#control?.end()
    this.#releaseMail()
  }

  async #work(): Promise<void> {
    while (this.#isWanted && !this.#isStopped && !this.#isOver) {
      this.#isWanted = false
      const control = this.#control
      const ms = control && (await this.#step(control))
      // An earlier time that was scheduled meanwhile is kept.
      if (ms !== undefined) this.lookWithin(ms)
    }
  }

  /** Reads the program's state and acts on it. Returns the milliseconds until the next step; undefined: the next step waits for a change. */
  async #step(control: PromptChannel): Promise<number | undefined> {
    const look = await control.look()
    const { state, lookAgainMs, typingMs = 0 } = look
    this.#isInTurn = isInTurn(look)
    await this.#tellBlocked(look)
    if (state === 'blocked') {
      if (this.#isBlocked) control.onBlockedReported?.()
      this.#activity = undefined
      return this.#isBlocked ? lookAgainMs : blockedMs
    }
    const isIdle = state === 'idle'
    this.#activity = isIdle ? 'idle' : 'busy'
    await this.#becomeReady(control, isIdle)
    if (!isIdle || !this.#isReady || this.#isStopped) return lookAgainMs
    return typingMs > 0 ? typingMs : this.#give(control)
  }

  async #tellBlocked({ state, reason, isAnswered }: ControlState): Promise<void> {
    if (state !== 'blocked') {
      this.#blockedSince = undefined
      if (this.#isBlocked) {
        this.#isBlocked = false
        await this.#options.report(this.status)
      }
      return
    }
    if (isAnswered) this.#blockedSince = undefined
    this.#blockedSince ??= performance.now()
    if (this.#isBlocked || !this.#isLive || performance.now() - this.#blockedSince < blockedMs) return
    this.#isBlocked = true
    await this.#options.report('blocked', { reason })
  }

  /** Reports the worker as ready: when it has loaded our tools or, for a program without them, when it waits for input. */
  async #becomeReady(control: PromptChannel, isIdle: boolean): Promise<void> {
    if (this.#isReady || !this.#isLive) return
    const { row, ledger } = this.#options
    if (!(control.isReadyWhenIdle ? isIdle : ledger.isInitialized(row.name))) return
    this.#isReady = true
    await this.#options.report('ready')
  }

  async #give(control: PromptChannel): Promise<number | undefined> {
    const [unfinished, task] = [this.#unfinished, this.#task]
    if (unfinished) this.#unfinished = await unfinished()
    else if (task?.state === 'waits') await this.#giveTask(control, task)
    else return this.#deliverMail(control)
    return afterPromptMs
  }

  async #giveTask(control: PromptChannel, task: WorkerTask): Promise<void> {
    task.state = 'given'
    this.#unfinished = await control.prompt(taskPrompt(this.#options.row, task.text, this.#injection), {
      onTaken: async () => {
        task.state = 'taken'
      },
      // A refused task is given again when the program is next idle. The control reports it idle only after a pause, which grows with each refusal.
      onRefused: (why) => {
        task.state = 'waits'
        if (why !== undefined) this.#onTaskRefused(task, why)
      },
    })
  }

  #onTaskRefused(task: WorkerTask, why: string): void {
    const { row, ledger, onTrouble } = this.#options
    if (++task.refusals < taskRefusalsMax) return
    task.state = 'over'
    ledger.reportTaskRefused(row, task.refusals, why).catch(onTrouble)
  }

  async #deliverMail(control: PromptChannel): Promise<number | undefined> {
    const { row, ledger } = this.#options
    const given = await deliverMail<HeldMail>({
      canTakeText: () => !this.#isOver && !this.#isStopped && this.#control === control,
      hold: () => ledger.holdMail(row, control.mailRoom),
      give: (held) => this.#prompt(control, held),
    })
    if (given === 'young') return Math.min(control.mailRoom.graceMs ?? graceLookMs, graceLookMs)
    return given && afterPromptMs
  }

  async #prompt(control: PromptChannel, held: HeldMail): Promise<void> {
    this.#mail = held
    const listener: PromptListener = {
      onTaken: (route) => {
        this.#hasGivenMail = true
        this.#mail = undefined
        return held.markOffered(route)
      },
      onRefused: () => this.#releaseMail(),
    }
    this.#unfinished = await control.prompt(injectionText(held.messages, this.#injection), listener)
  }

  /** Releases the mail of the last prompt: the program does not have the mail, and that prompt will not bring it any more. */
  #releaseMail(): void {
    this.#mail?.release()
    this.#mail = undefined
  }
}

/**
 * Returns the worker's task, with a block about the relay before it. The block comes first because in many CLIs a prompt's first character decides
 * its meaning, and a task may start with `/` or `!`.
 */
export function taskPrompt(
  { name, parent }: Pick<WorkerRow, 'name' | 'parent'>,
  task: string,
  { toolPrefix }: InjectionOptions,
): string {
  const [who, whose] = [cleanLineForModel(name), cleanLineForModel(parent)]
  const report = `You are ${who}, a worker of ${whose} over Agent Relay. Report ${answerInstruction([whose], toolPrefix)}`
  return `<system-reminder>\n${report}\n</system-reminder>\n${cleanForModel(task)}`
}
