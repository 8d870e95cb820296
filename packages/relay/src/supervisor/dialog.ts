// Dialogs: questions of a program to a person, read off a worker's screen or reported by the program's own server. They go into the queue of
// approvals like any other question; an answer at the terminal counts if it comes first.

import {
  type ApprovalEnd,
  type ApprovalQueue,
  type AskedApproval,
  markOf,
} from '../broker/approvals/approval-runtime.ts'
import type { WorkerRow } from '../core/view.ts'

export interface Dialog
  extends Pick<AskedApproval, 'tool' | 'input' | 'isCut' | 'choices' | 'questions' | 'passesWords'> {
  /** Identity of the dialog: equal values mean the same dialog. */
  same: string
  /** The program's own id of the question, the same for every daemon that reads it. */
  key?: string
  answer(end: Extract<ApprovalEnd, { how: 'answered' }>): Promise<unknown>
}

/** A worker, or a program that a person started. */
interface Asker extends Pick<WorkerRow, 'id' | 'name' | 'cli' | 'cwd'> {
  /** The program goes on without the daemon, and the next daemon finds its question still open. */
  livesOn?: boolean
}

/** Reads the dialog that is open now; undefined where none is. Rejects where that cannot be found out. */
export type ReadDialog = () => Promise<Dialog | undefined>

export class DialogQuestions {
  readonly #row: Asker
  readonly #queue: ApprovalQueue
  readonly #read: ReadDialog
  #open: { source: string; same: string; isTyped: boolean } | undefined
  #count = 0
  /** Grows when a dialog goes, so that a dialog that was read before is not asked about any more. */
  #gone = 0

  constructor(row: Asker, queue: ApprovalQueue, read: ReadDialog) {
    this.#row = row
    this.#queue = queue
    this.#read = read
  }

  /** Asks about the dialog that is open now. */
  async look(): Promise<void> {
    const gone = this.#gone
    const dialog = await this.#read().catch(() => undefined)
    if (dialog && gone === this.#gone && this.#open?.same !== dialog.same) this.#ask(dialog)
  }

  #ask({ same, key, answer, ...asked }: Dialog): void {
    this.gone()
    // The CLI may have asked by a hook already, or the answer may be on its way to the screen.
    const { id, name, cli, cwd, livesOn } = this.#row
    const mark = livesOn && key !== undefined ? markOf(name, key) : undefined
    if (this.#queue.isOpen(name, mark) || this.#queue.isJustOver(name)) return
    const source = `${id}/dialog/${++this.#count}`
    this.#open = { source, same, isTyped: false }
    const check = async () => {
      if (!(await this.#stands(same)) && this.#open?.source === source) this.gone()
    }
    const about = { ...asked, source, mark, agent: name, vendor: cli, directory: cwd, isTold: true, check }
    void this.#queue.open(about).then(async (end) => {
      // Another dialog may be open by now.
      const isStill = this.#open?.source === source
      if (isStill) this.#open = undefined
      // The screen is read again before the answer is typed: it would go to whatever is open now.
      if (isStill && end.how === 'answered' && (await this.#stands(same))) await answer(end).catch(() => {})
    })
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Somebody types into the terminal, and may be answering the open dialog. */
  typed(): void {
    if (this.#open) this.#open.isTyped = true
  }

  /** Closes the dialog, which is not open any more: answered if somebody has typed, else taken back by its program. */
  gone(): void {
    const open = this.#open
    this.#gone++
    this.#open = undefined
    if (open) this.#queue.close(open.source, open.isTyped ? 'terminal' : 'cancelled')
  }

  /** Forgets the dialog without closing it: the daemon ends, and nobody has answered. */
  letGo(): void {
    this.#gone++
    this.#open = undefined
  }

  /** Closes the dialog because its program has ended. */
  end(): void {
    const open = this.#open
    this.#gone++
    this.#open = undefined
    if (open) this.#queue.close(open.source, 'gone')
  }

  async #stands(same: string): Promise<boolean> {
    return this.#read().then(
      (dialog) => dialog?.same === same,
      () => true,
    )
  }
}
