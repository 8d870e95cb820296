// The one road of every change: commands are queued, decided and written together, committed once, and only then answered.

import { type Entry, type Ids, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { Clock } from '../clock.ts'
import { decide, type RuleInput, type RuleName } from '../core/decide.ts'
import type { Command, Outcome, World } from '../core/verdict.ts'
import type { Waiting } from '../core/view.ts'
import { RefusalError } from '../refusal-error.ts'
import { isSqliteError } from '../store/database.ts'
import type { Store } from '../store/store.ts'
import type { Hub } from './hub.ts'

export interface Submission<R extends RuleName> {
  rule: R
  input: RuleInput<R>
  by: string
  /** The sender's own id for this command: the same (by, cause) runs once. */
  cause: string
  session?: string
  /** An id made elsewhere, for a message that goes to several workspaces. */
  mint?: string
}

/** `repeat`: the command had been carried out before, and this is the answer it got then. */
export type Reply = { seq: number; outcome: Outcome; repeat: boolean; found?: Waiting[] } | { refusal: Refusal }

interface Pending {
  submission: Submission<RuleName>
  resolve(reply: Reply): void
}

export interface EngineOptions {
  store: Store
  hub: Hub
  clock: Clock
  ids: Ids
  world: World
  /** The disk failed under a commit: what the file holds is uncertain, so this process must not go on writing. */
  onFatal(error: Error): void
}

/** What a command makes is named after its kind. */
const prefixes: Partial<Record<RuleName, string>> = {
  'message.send': 'm',
  'action.invoke': 'act',
  'worker.spawn': 'wk',
  'run.start': 'run',
  // The message that tells of the end.
  'run.complete': 'm',
  'run.stop': 'm',
}

/** One commit takes at most this many: replies should not wait for a whole flood. */
const batchMax = 256

export class Engine {
  readonly #options: EngineOptions
  #queue: Pending[] = []
  #scheduled = false
  #broken: Reply | undefined
  #lastAt: number

  constructor(options: EngineOptions) {
    this.#options = options
    const { journal } = options.store
    this.#lastAt = journal.read(journal.lastSeq - 1, 1)[0]?.at ?? 0
  }

  /** Nothing waits to be decided: a good moment for work that can wait. */
  get isIdle(): boolean {
    return this.#queue.length === 0
  }

  submit<R extends RuleName>(submission: Submission<R>): Promise<Reply> {
    return new Promise((resolve) => {
      this.#queue.push({ submission: submission as unknown as Submission<RuleName>, resolve })
      this.#schedule()
    })
  }

  /** Nothing is decided any more; what waits and what still comes is answered with this. */
  close(refused: Refusal): void {
    this.#broken ??= { refusal: refused }
  }

  /** After this turn of the event loop, so that all that has arrived by then shares one commit. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      const batch = this.#queue.splice(0, batchMax)
      if (this.#queue.length > 0) this.#schedule()
      this.#commit(batch)
    })
  }

  #commit(batch: Pending[]): void {
    // Closed, or after a failed sync: nothing is written any more, whatever still arrives.
    if (this.#broken) for (const { resolve } of batch.splice(0)) resolve(this.#broken)
    if (batch.length === 0) return
    let replies: Reply[] = []
    const entries: Entry[] = []
    try {
      this.#options.store.transact(() => {
        for (const { submission } of batch) replies.push(this.#carryOut(submission, entries))
      })
    } catch (error) {
      // Nothing of this batch was written or answered. One at a time, so that the innocent are not refused with the guilty;
      // but never again after a failed sync: the system may have dropped the pages it could not write, and would say "fine" now.
      if (batch.length > 1 && !isSqliteError(error, 'ioError'))
        return batch.forEach((each) => void this.#commit([each]))
      const failed = this.#failed(error as Error)
      replies = batch.map(() => failed)
      entries.length = 0
    }
    if (entries.length > 0) this.#options.hub.tell(entries)
    for (let i = 0; i < batch.length; i++) (batch[i] as Pending).resolve(replies[i] as Reply)
  }

  #carryOut(submission: Submission<RuleName>, entries: Entry[]): Reply {
    const { store, ids, world } = this.#options
    const { rule, input, by, cause, session } = submission
    const at = this.#stamp()
    const mint = submission.mint ?? ids(prefixes[rule] ?? 'a')
    const command: Command<never> = { input: input as never, by, at, mint, session, world }
    const verdict = decide(store.view, rule, command)
    if ('refusal' in verdict) return this.#answeredBefore(submission) ?? verdict
    const before = store.journal.lastSeq
    // Nothing left to do may mean that it was done before: a take asked again must answer what it handed out.
    if (verdict.facts.length === 0) {
      return this.#answeredBefore(submission) ?? { seq: before, outcome: verdict.outcome, repeat: false }
    }
    try {
      const entry = store.append({ at, by, cause, facts: verdict.facts }, rule, verdict.outcome, verdict)
      entries.push(entry)
      return { seq: entry.seq, outcome: verdict.outcome, repeat: false, found: verdict.found }
    } catch (error) {
      // The unique (cause, by) says that it was done before. Asking first would cost every command a read.
      // Only if its entry was not written just now: then another constraint is broken, and half an entry must not stand.
      if (!isSqliteError(error, 'constraint') || store.journal.lastSeq > before) throw error
      const answered = this.#answeredBefore(submission)
      if (answered) return answered
      throw error
    }
  }

  #answeredBefore({ rule, by, cause }: Submission<RuleName>): Reply | undefined {
    const answered = this.#options.store.journal.answered(by, cause)
    if (!answered) return undefined
    // Another command's answer would make no sense to who asked this one.
    if (answered.rule !== rule)
      return {
        refusal: refusal('input.invalid', { operation: rule, why: `the id ${cause} was used for ${answered.rule}` }),
      }
    const { seq, outcome } = answered
    return { seq, outcome, repeat: true }
  }

  /** Time never runs backward in the journal, whatever the wall clock does. */
  #stamp(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.now())
    return this.#lastAt
  }

  #failed(error: Error): Reply {
    if (error instanceof RefusalError) return { refusal: error.refusal }
    const failed = { refusal: refusal('fault', { why: error.message }) }
    if (isSqliteError(error, 'ioError')) {
      this.#broken = failed
      this.#options.onFatal(error)
    }
    return failed
  }
}
