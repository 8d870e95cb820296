// What a program waits for a person to answer: read off a worker's screen, or told by the program's own door. It goes into the queue of approvals like
// any other question; whoever answers it at the terminal first is the one who has answered.

import {
  type ApprovalEnd,
  type ApprovalQueue,
  type AskedApproval,
  markOf,
} from '../broker/approvals/approval-runtime.ts'
import type { WorkerRow } from '../core/view.ts'

export interface Dialog
  extends Pick<AskedApproval, 'tool' | 'input' | 'isCut' | 'choices' | 'questions' | 'passesWords'> {
  /** Two with the same are one. */
  same: string
  /** As its program calls it, whichever daemon reads it. */
  key?: string
  answer(end: Extract<ApprovalEnd, { how: 'answered' }>): Promise<unknown>
}

/** A worker, or a program that a person started. */
interface Asker extends Pick<WorkerRow, 'id' | 'name' | 'cli' | 'cwd'> {
  /** It goes on without the daemon, and the next one finds its question still open. */
  livesOn?: boolean
}

/** The dialog that is open now; undefined where none is. Rejects where that cannot be told. */
export type ReadDialog = () => Promise<Dialog | undefined>

export class DialogQuestions {
  readonly #row: Asker
  readonly #queue: ApprovalQueue
  readonly #read: ReadDialog
  #open: { source: string; same: string; isTyped: boolean } | undefined
  #count = 0
  /** Grows when a dialog goes: what was read before is not asked any more. */
  #gone = 0

  constructor(row: Asker, queue: ApprovalQueue, read: ReadDialog) {
    this.#row = row
    this.#queue = queue
    this.#read = read
  }

  /** A dialog is open. */
  async look(): Promise<void> {
    const gone = this.#gone
    const dialog = await this.#read().catch(() => undefined)
    if (dialog && gone === this.#gone && this.#open?.same !== dialog.same) this.#ask(dialog)
  }

  #ask({ same, key, answer, ...asked }: Dialog): void {
    this.gone()
    // Its CLI has asked by a hook, or the answer is on its way to the screen.
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
      // It may be another dialog by now.
      const isStill = this.#open?.source === source
      if (isStill) this.#open = undefined
      // Also since it was last looked at: an answer would go to whatever is open now.
      if (isStill && end.how === 'answered' && (await this.#stands(same))) await answer(end).catch(() => {})
    })
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Somebody types into the terminal, and may answer what stands there. */
  typed(): void {
    if (this.#open) this.#open.isTyped = true
  }

  /** It is not open any more: whoever has typed has answered it, else its program took it back. */
  gone(): void {
    const open = this.#open
    this.#gone++
    this.#open = undefined
    if (open) this.#queue.close(open.source, open.isTyped ? 'terminal' : 'cancelled')
  }

  /** The daemon ends, and nobody has answered. */
  letGo(): void {
    this.#gone++
    this.#open = undefined
  }

  /** Its program has ended. */
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
