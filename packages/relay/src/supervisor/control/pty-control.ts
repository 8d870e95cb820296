// The control of a program in a terminal: it types texts, and reads the program's state off the screen. If the CLI has a server of its own, a message
// goes there first and is typed only if that fails, and the state that the server reports counts before the screen.

import { limits } from '@agent-relay/sdk/protocol'
import type { ApprovalQueue } from '../../broker/approvals/approval-runtime.ts'
import type { WorkerRow } from '../../core/view.ts'
import type { CliFollower, CliServer, CliState } from '../cli-server.ts'
import { type Dialog, DialogQuestions } from '../dialog.ts'
import type { Harness } from '../harness/harness.ts'
import type { ProgramOutput } from '../output.ts'
import type { Terminal } from '../pty.ts'
import { readScreenDialog } from '../screen-dialog.ts'
import { type Keyboard, pasteText, pressEnter, type ScreenState, wait } from '../typing.ts'
import type { ControlListener, ControlState, ProgramControl, PromptListener, UnfinishedPrompt } from './control.ts'

export interface PtyControlOptions {
  row: WorkerRow
  approvals: ApprovalQueue
  harness: Harness
  output: ProgramOutput
  cliServer?: CliServer
  listener: ControlListener
}

/** Delay before the screen is read after the program has printed: output comes in several pieces. */
const settleMs = 60
const openDialogText = 'a dialog is open'
/** If the screen shows no sign of the program's state, a program that has printed nothing for this long counts as waiting for input. */
const quietMs = 600
/** A program that has never printed anything counts as waiting for input after this long: many start slowly. */
const silentMs = 3_000
/** Interval between two reads of a busy program's screen: the sign that it is busy may disappear without further output. */
const busyLookMs = 1_000
/** More output than this between two reads of the screen is a flood: the program counts as busy, and the output is not drawn, which would cost too much. */
const floodBytes = 64 * 1024
/** Time after a person's last key in which nothing else is typed into the terminal. */
const typingPauseMs = 2_000
/** Time that a program may take to draw its screen again after a change of size; an open dialog may be invisible meanwhile. */
const redrawMs = 2_000
/** Maximum number of typed bytes that may wait for a program that does not read. */
const typedBytesMax = 4 * limits.keysBytesMax
/** Pause between two keys: a program reads Escape and a key right after it as one key. */
const betweenKeysMs = 200
/**
 * Limits of the mail in one paste, with and without marks around it (bracketed paste). Without marks, a line must stay below 4,095 bytes, which is
 * all that a terminal's line buffer holds.
 */
const [marked, unmarked] = [{ bytesMax: 256 * 1024 }, { bytesMax: 2_048, limit: 8 }]

export class PtyControl implements ProgramControl {
  readonly name = 'pty'
  readonly isReadyWhenIdle: boolean
  readonly #terminal: Terminal
  readonly #options: PtyControlOptions
  readonly #beganAt = performance.now()
  readonly #dialogs: DialogQuestions
  readonly #follower: CliFollower | undefined
  #turns = 0
  #hasPrompted = false
  #isOver = false
  #seen = 0
  #blocked = Promise.resolve(false)
  #typedAt = Number.NEGATIVE_INFINITY
  #resizedAt = Number.NEGATIVE_INFINITY
  #whenPrinted: (() => void) | undefined

  constructor(terminal: Terminal, options: PtyControlOptions) {
    this.#terminal = terminal
    this.#options = options
    const { harness, row, approvals, output, cliServer, listener } = options
    this.#dialogs = new DialogQuestions(row, approvals, () => this.#readDialog())
    this.isReadyWhenIdle = !(harness.hasMcp && row.isInjected)
    terminal.onData((data) => {
      output.push(data)
      this.#whenPrinted?.()
      listener.onChange(settleMs)
    })
    terminal.onExit((exit) => listener.onExit(exit))
    this.#follower = cliServer?.follow?.({
      onChange: () => listener.onChange(),
      onSpent: (spend) => listener.onSpent(++this.#turns, spend),
      onConversation: (id) => listener.onConversation(id),
    })
  }

  get pid(): number {
    return this.#terminal.pid
  }

  get mailRoom(): ProgramControl['mailRoom'] {
    const { harness, row, output } = this.#options
    const graceMs = row.isInjected ? harness.hookGraceMs : undefined
    return { ...(output.supportsPasteMarks ? marked : unmarked), graceMs }
  }

  async look(): Promise<ControlState> {
    const { output } = this.#options
    const printed = output.position - this.#seen
    this.#seen = output.position
    if (printed > floodBytes) output.stopDrawing()
    const told = this.#follower?.doing
    if (told) return this.#controlStateOf(told)
    // After a flood the screen is not known. An open dialog does not count as gone, since it may still be there.
    if (printed > floodBytes) return { state: 'busy', lookAgainMs: busyLookMs }
    const { sign } = await this.#readScreen()
    const quiet = this.#quietTimeMs()
    const isRedrawing = this.#dialogs.isOpen && performance.now() - this.#resizedAt < redrawMs
    if (isRedrawing && sign !== 'blocked') return { state: 'blocked', reason: openDialogText, lookAgainMs: settleMs }
    if (sign === undefined && quiet < 0)
      return { ...this.#controlStateOf({ state: 'busy' }), lookAgainMs: Math.max(settleMs, -quiet) }
    return this.#controlStateOf({ state: sign ?? 'idle', reason: openDialogText })
  }

  #controlStateOf({ state, reason }: CliState): ControlState {
    const { approvals, row } = this.#options
    if (state === 'blocked')
      return { state, reason, lookAgainMs: busyLookMs, isAnswered: approvals.hasJustEnded(row.name) }
    this.#dialogs.onDialogGone()
    if (state === 'busy') return { state, lookAgainMs: busyLookMs }
    return { state, typingMs: typingPauseMs - (performance.now() - this.#typedAt) }
  }

  /** Reads the screen, one read after the other, so that keys that are typed afterwards stay in their order. */
  isBlocked(): Promise<boolean> {
    const look = async () => (await this.#readScreen()).sign === 'blocked' || this.#follower?.doing?.state === 'blocked'
    this.#blocked = this.#blocked.then(look, look)
    return this.#blocked
  }

  onBlockedReported(): void {
    void this.#dialogs.look()
  }

  async prompt(text: string, listener: PromptListener): Promise<UnfinishedPrompt | undefined> {
    // Before the first prompt, the CLI's server has no conversation to which a text could be sent.
    const server = this.#hasPrompted ? this.#options.cliServer : undefined
    this.#hasPrompted = true
    if (server) this.#follower?.onMessageGiven()
    if (await server?.send?.(text).catch(() => false)) {
      await listener.onTaken('http')
      return undefined
    }
    await pasteText(this.#keyboard, text)
    return this.#enter(listener)
  }

  get canInterrupt(): boolean {
    return this.#options.harness.interruptKeys !== undefined
  }

  /** Interrupts through the CLI's own server, which knows its turns; otherwise by keys, which may be lost in a program that is drawing. */
  async interrupt(): Promise<void> {
    const { cliServer, harness } = this.#options
    if (await cliServer?.interrupt?.().catch(() => false)) return
    for (const [at, key] of (harness.interruptKeys ?? []).entries()) {
      if (at > 0) await wait(betweenKeysMs)
      // The write is not awaited: a program that does not read would delay it for ever, and with it the worker's release.
      void this.#terminal.write(key)
    }
  }

  type(data: string): void {
    if (this.#terminal.waitingBytes > typedBytesMax) return
    this.#typedAt = /[\r\n]$/.test(data) ? Number.NEGATIVE_INFINITY : performance.now()
    this.#dialogs.onTyped()
    void this.#terminal.write(data)
  }

  resize(cols: number, rows: number): void {
    this.#resizedAt = performance.now()
    this.#terminal.resize(cols, rows)
  }

  exitSteps(): readonly (() => unknown)[] {
    return this.#options.harness.exitKeys.map((key) => () => this.#terminal.write(key))
  }

  end(): void {
    this.#isOver = true
    this.#follower?.end()
    this.#dialogs.end()
    this.#whenPrinted?.()
  }

  /** How long the program has counted as idle, in milliseconds; negative: the time until it counts as idle. */
  #quietTimeMs(): number {
    const { output } = this.#options
    if (output.lastOutputAt === 0) return performance.now() - this.#beganAt - silentMs
    return performance.now() - output.lastOutputAt - quietMs
  }

  async #enter(listener: PromptListener): Promise<UnfinishedPrompt | undefined> {
    let taken: Promise<void> | undefined
    const isIn = await pressEnter(this.#keyboard, this.#options.harness.typing, () => {
      taken = listener.onTaken('paste')
      // The promise is awaited below. Without this handler, a rejection before that would count as unhandled.
      taken.catch(() => {})
    })
    if (!isIn) return () => this.#enter(listener)
    if (taken) await taken
    else listener.onRefused()
    return undefined
  }

  get #keyboard(): Keyboard {
    const { output } = this.#options
    return {
      write: (data) => this.#terminal.write(data),
      isEnded: () => this.#isOver,
      supportsPasteMarks: () => output.supportsPasteMarks,
      look: () => this.#readScreen(),
      whenPrinted: (position, ms) =>
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

  /** Reads the open dialog, from the CLI's own server if that knows it: a screen may show only a part. */
  async #readDialog(): Promise<Dialog | undefined> {
    const { sign, lines } = await this.#readScreen()
    const { state = sign } = this.#follower?.doing ?? {}
    if (state !== 'blocked') return undefined
    try {
      const told = await this.#options.cliServer?.readDialog?.()
      if (told) return told
    } catch (error) {
      // The screen is not read instead: it words the dialog differently, so the dialog would pass for another one.
      if (this.#dialogs.isOpen) throw error
    }
    if (sign !== 'blocked') return undefined
    return readScreenDialog(lines, (key) => this.#terminal.write(key))
  }

  async #readScreen(): Promise<ScreenState & { lines: readonly string[] }> {
    const { output, harness } = this.#options
    const lines = await output.lines()
    const sign = harness.readScreenSign({ title: output.title, lines })
    return { lines, sign, position: output.position, titleChanges: output.titleChanges }
  }
}
