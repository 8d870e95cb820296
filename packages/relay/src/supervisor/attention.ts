// What a worker's screen tells, and what it is told when that is safe: the task once it is ready, then its mail, each at an idle prompt and
// never into a dialog.

import { type InjectionOptions, injectionText } from '@agent-relay/sdk/injection'
import type { Workspace } from '../broker/workspace.ts'
import type { WorkerRow } from '../core/view.ts'
import type { Door, Harness, Sign } from './harness/harness.ts'
import { taskText } from './injection.ts'
import type { Output } from './output.ts'
import { enter, type Keyboard, type Look, paste } from './typing.ts'

export interface AttentionOptions {
  row: WorkerRow
  harness: Harness
  workspace: Workspace
  output: Output
  write(data: string): Promise<void>
  onTrouble(error: Error): void
  report(status: WorkerRow['status'], more?: { reason?: string }): Promise<void>
}

/** After it has printed, look this much later: what belongs together comes together. */
const settleMs = 60
/** Without a sign on the screen, a program that has printed nothing for this long waits for input ... */
const quietMs = 600
/** ... unless it has never printed anything: many take their time to begin. */
const silentMs = 3_000
/** A dialog that is answered at once is nobody's business. */
const blockedMs = 700
/** While it is busy look this often: a sign may go without a trace. */
const busyLookMs = 1_000
/** More than this between two looks is a flood: it is busy, and drawing all of it would cost more than it tells. */
const floodBytes = 64 * 1024
/** A person who types is not interrupted. */
const personMs = 2_000
/** Of bodies, in one paste. A line that is typed without marks must stay below the 4,095 bytes that a terminal's own line holds. */
const [marked, unmarked] = [{ bytesMax: 256 * 1024 }, { bytesMax: 2_048, limit: 8 }]

export class Attention {
  readonly #options: AttentionOptions
  readonly #injection: InjectionOptions
  readonly #beganAt = performance.now()
  #door: Door | undefined
  #task: string | undefined
  #activity: 'busy' | 'idle' | undefined
  #isLive = false
  #isReady = false
  #isHeld = false
  #isOver = false
  #blockedSince: number | undefined
  #isBlocked = false
  #seen = 0
  #typedAt = Number.NEGATIVE_INFINITY
  /** Pasted but not entered: a dialog came in between. What is to be recorded when it is. */
  #pasted: (() => Promise<void>) | undefined
  #isWanted = false
  #working: Promise<void> | undefined
  #again: NodeJS.Timeout | undefined
  #againAt = Number.POSITIVE_INFINITY
  #whenPrinted: (() => void) | undefined

  constructor(options: AttentionOptions) {
    this.#options = options
    const { harness, row, workspace } = options
    this.#injection = { toolPrefix: harness.hasMcp && row.isInjected ? harness.toolPrefix : undefined }
    this.#task = workspace.workers.taskOf(row.id)
  }

  get activity(): 'busy' | 'idle' | undefined {
    return this.#activity
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get status(): 'starting' | 'ready' | 'blocked' {
    if (this.#isBlocked) return 'blocked'
    return this.#isReady ? 'ready' : 'starting'
  }

  begin(door: Door | undefined): void {
    this.#door = door
  }

  /** It has lived long enough to count. */
  live(): void {
    this.#isLive = true
    this.wake()
  }

  printed(): void {
    this.#whenPrinted?.()
    if (performance.now() + settleMs < this.#againAt) this.#later(settleMs)
  }

  typed(data: string): void {
    this.#typedAt = /[\r\n]$/.test(data) ? Number.NEGATIVE_INFINITY : performance.now()
  }

  wake(): void {
    this.#isWanted = true
    this.#working ??= this.#work()
      .catch((error: Error) => this.#options.onTrouble(error))
      .finally(() => {
        this.#working = undefined
        if (this.#isWanted && !this.#isHeld && !this.#isOver) this.wake()
      })
  }

  /** Held: nothing is typed any more when this resolves. */
  async hold(isHeld: boolean): Promise<void> {
    this.#isHeld = isHeld
    if (isHeld) await this.#working
    else this.wake()
  }

  end(): void {
    this.#isOver = true
    this.#activity = undefined
    clearTimeout(this.#again)
    this.#whenPrinted?.()
  }

  async #work(): Promise<void> {
    while (this.#isWanted && !this.#isHeld && !this.#isOver) {
      this.#isWanted = false
      const ms = await this.#step()
      // What it printed meanwhile may have brought an earlier one.
      if (ms !== undefined && performance.now() + ms < this.#againAt) this.#later(ms)
    }
  }

  /** One look and what follows from it. Milliseconds until the next; undefined: when something happens. */
  async #step(): Promise<number | undefined> {
    const { output } = this.#options
    const printed = output.position - this.#seen
    this.#seen = output.position
    if (printed > floodBytes) {
      this.#activity = 'busy'
      output.rest()
      return busyLookMs
    }
    const { sign } = await this.#look()
    const quiet = this.#quiet()
    if (await this.#isStuck(sign)) return busyLookMs
    const isIdle = sign === 'idle' || (sign === undefined && quiet >= 0)
    this.#activity = isIdle ? 'idle' : 'busy'
    await this.#becomeReady(isIdle)
    if (!isIdle) return sign === undefined ? Math.max(settleMs, -quiet) : busyLookMs
    return this.#isReady && !this.#isHeld ? this.#give() : undefined
  }

  /** How long it has been quiet beyond what makes it idle; below zero: not yet. */
  #quiet(): number {
    const { output } = this.#options
    if (output.lastAt === 0) return performance.now() - this.#beganAt - silentMs
    return performance.now() - output.lastAt - quietMs
  }

  async #isStuck(sign: Sign | undefined): Promise<boolean> {
    if (sign !== 'blocked') {
      this.#blockedSince = undefined
      if (this.#isBlocked) {
        this.#isBlocked = false
        await this.#options.report(this.status)
      }
      return false
    }
    this.#activity = undefined
    this.#blockedSince ??= performance.now()
    if (!this.#isBlocked && this.#isLive && performance.now() - this.#blockedSince >= blockedMs) {
      this.#isBlocked = true
      await this.#options.report('blocked', { reason: 'a dialog is open' })
    }
    return true
  }

  /** Its tools are there; or, for one without ours, it waits for input. */
  async #becomeReady(isIdle: boolean): Promise<void> {
    if (this.#isReady || !this.#isLive) return
    const { harness, row, workspace } = this.#options
    const isConnected = harness.hasMcp && row.isInjected ? workspace.sessions.isInitialized(row.name) : isIdle
    if (!isConnected) return
    this.#isReady = true
    await this.#options.report('ready')
  }

  async #give(): Promise<number | undefined> {
    const untouched = performance.now() - this.#typedAt
    if (untouched < personMs) return personMs - untouched
    const pasted = this.#pasted
    if (pasted) {
      await this.#enter(pasted)
      return settleMs
    }
    const { row } = this.#options
    const task = this.#task
    if (task !== undefined) {
      this.#task = undefined
      await this.#say(taskText({ ...row, task }, this.#injection), async () => {})
      return settleMs
    }
    return this.#giveMail()
  }

  async #giveMail(): Promise<number | undefined> {
    const { row, harness, workspace, output } = this.#options
    const waiting = workspace.workers.waiting(row.name, output.isPasteMarked ? marked : unmarked)
    const graceMs = harness.hookGraceMs ?? 0
    const messages = row.isInjected
      ? waiting.filter(({ ts }) => workspace.clock.now() - Date.parse(ts) >= graceMs)
      : waiting
    if (messages.length === 0) return waiting.length === 0 ? undefined : Math.min(graceMs, busyLookMs)
    const ids = messages.map(({ id }) => id)
    const text = injectionText(messages, this.#injection)
    const record = () => workspace.workers.offered(row.name, ids, 'paste')
    if (await this.#door?.send(text).catch(() => false)) await record()
    else await this.#say(text, record)
    return settleMs
  }

  async #say(text: string, record: () => Promise<void>): Promise<void> {
    await paste(this.#keyboard, text)
    await this.#enter(record)
  }

  async #enter(record: () => Promise<void>): Promise<void> {
    let recorded: Promise<void> | undefined
    const isIn = await enter(this.#keyboard, this.#options.harness.typing, () => {
      recorded = record()
      // Awaited below; until then it must not count as unhandled.
      recorded.catch(() => {})
    })
    this.#pasted = isIn ? undefined : record
    await recorded
  }

  get #keyboard(): Keyboard {
    const { output, write } = this.#options
    return {
      write,
      isEnded: () => this.#isOver,
      isPasteMarked: () => output.isPasteMarked,
      look: () => this.#look(),
      printed: (position, ms) =>
        new Promise((resolve) => {
          if (output.position > position) return resolve()
          const timer = setTimeout(done, ms)
          this.#whenPrinted = done
          function done() {
            clearTimeout(timer)
            resolve()
          }
        }),
    }
  }

  async #look(): Promise<Look> {
    const { output, harness } = this.#options
    const lines = await output.lines()
    return { sign: harness.read({ title: output.title, lines }), position: output.position, titles: output.titles }
  }

  #later(ms: number): void {
    clearTimeout(this.#again)
    if (this.#isOver) return
    this.#againAt = performance.now() + ms
    this.#again = setTimeout(() => {
      this.#againAt = Number.POSITIVE_INFINITY
      this.wake()
    }, ms).unref()
  }
}
