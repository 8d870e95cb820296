// Puts dialogs into the queue of approvals: questions of a program to a person, read off a worker's screen or reported by the program's own server.
// An answer that is typed at the terminal counts if it comes first.

import {
  type ApprovalEnd,
  type ApprovalQueue,
  approvalMark,
  type NewApproval,
} from '../broker/approvals/approval-runtime.ts'
import type { WorkerRow } from '../core/view.ts'

export interface Dialog
  extends Pick<NewApproval, 'tool' | 'input' | 'isCut' | 'choices' | 'questions' | 'passesWords'> {
  /** Identifies the dialog: equal values mean the same dialog. */
  identity: string
  /** The program's own id of the question, the same for every daemon that reads the question. */
  key?: string
  answer(end: Extract<ApprovalEnd, { how: 'answered' }>): Promise<unknown>
}

/** The program that asks: a worker, or a program that a person started. */
interface Asker extends Pick<WorkerRow, 'id' | 'name' | 'cli' | 'cwd'> {
  /** Whether the program keeps running without the daemon, so that the next daemon finds its question still open. */
  outlivesDaemon?: boolean
}

/** Reads the dialog that is open now; resolves to undefined if no dialog is open. Rejects if that cannot be found out. */
export type ReadDialog = () => Promise<Dialog | undefined>

export class DialogQuestions {
  readonly #row: Asker
  readonly #queue: ApprovalQueue
  readonly #read: ReadDialog
  #open: { source: string; same: string; isTyped: boolean } | undefined
  #count = 0
  /** Grows whenever the open dialog is given up, so that a dialog that was being read at that time is not put into the queue. */
  #gone = 0

  constructor(row: Asker, queue: ApprovalQueue, read: ReadDialog) {
    this.#row = row
    this.#queue = queue
    this.#read = read
  }

  /** Reads the open dialog, and puts it into the queue unless it is there already. */
  async look(): Promise<void> {
    const gone = this.#gone
    const dialog = await this.#read().catch(() => undefined)
    if (dialog && gone === this.#gone && this.#open?.same !== dialog.identity) this.#ask(dialog)
  }

  #ask({ identity, key, answer, ...asked }: Dialog): void {
    this.onDialogGone()
    // Nothing is asked if the CLI has asked by a hook already, or if an answer given a moment ago may not be on the screen yet.
    const { id, name, cli, cwd, outlivesDaemon } = this.#row
    const mark = outlivesDaemon && key !== undefined ? approvalMark(name, key) : undefined
    if (this.#queue.hasOpen(name, mark) || this.#queue.hasJustEnded(name)) return
    const source = `${id}/dialog/${++this.#count}`
    this.#open = { source, same: identity, isTyped: false }
    const check = async () => {
      if (!(await this.#isStillOpen(identity)) && this.#open?.source === source) this.onDialogGone()
    }
    const about = {
      ...asked,
      source,
      mark,
      agent: name,
      vendor: cli,
      directory: cwd,
      isHirerTold: true,
      closeIfGone: check,
    }
    void this.#queue.open(about).then(async (end) => {
      // By the time of the answer, another dialog may be open.
      const isStill = this.#open?.source === source
      if (isStill) this.#open = undefined
      // The dialog is read again before it is answered: the keys would go to whatever dialog is open.
      if (isStill && end.how === 'answered' && (await this.#isStillOpen(identity))) await answer(end).catch(() => {})
    })
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Notes that somebody types into the terminal, and so may be answering the open dialog. */
  onTyped(): void {
    if (this.#open) this.#open.isTyped = true
  }

  /**
   * Closes the question in the queue, because the dialog is not open any more: as answered at the terminal if somebody has typed, otherwise as taken
   * back by the program.
   */
  onDialogGone(): void {
    const open = this.#open
    this.#gone++
    this.#open = undefined
    if (open) this.#queue.close(open.source, open.isTyped ? 'terminal' : 'cancelled')
  }

  /** Forgets the dialog and leaves the question open in the queue: the daemon ends, and nobody has answered. */
  forget(): void {
    this.#gone++
    this.#open = undefined
  }

  /** Closes the question in the queue, because the program has ended. */
  end(): void {
    const open = this.#open
    this.#gone++
    this.#open = undefined
    if (open) this.#queue.close(open.source, 'gone')
  }

  async #isStillOpen(same: string): Promise<boolean> {
    return this.#read().then(
      (dialog) => dialog?.identity === same,
      () => true,
    )
  }
}
