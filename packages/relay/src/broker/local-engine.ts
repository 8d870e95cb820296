// The engine of a workspace that lives on one machine: commands are queued, decided and written together, committed once, and then answered.

import { type Ids, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { type RuleName, ruleOf } from '../core/decide.ts'
import type { Journal, JournalEntry } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import type { Command } from '../core/verdict.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import { isFatalStoreError, type Store } from '../store/store.ts'
import { type CommandReply, type Engine, newIdPrefixes, reuseRefusal, type Submission } from './engine.ts'
import type { EntryHub } from './hub.ts'

interface PendingCommand {
  submission: Submission<RuleName>
  resolve(reply: CommandReply): void
}

export interface LocalEngineOptions {
  store: Pick<Store, 'view' | 'transact' | 'append'> & { journal: Pick<Journal, 'recordedAnswer' | 'lastSeq'> }
  hub: EntryHub
  clock: Clock
  ids: Ids
  world: World
  /** Called if the disk failed during a commit: nobody knows what the file holds, so this process must write nothing more. */
  onFatal(error: Error): void
}

/** Maximum number of commands in one commit: a larger commit would keep its callers waiting. */
const commitBatchMax = 256

export class LocalEngine implements Engine {
  readonly #options: LocalEngineOptions
  #queue: PendingCommand[] = []
  #scheduled = false
  #replyWhenClosed: CommandReply | undefined

  constructor(options: LocalEngineOptions) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#queue.length === 0
  }

  submit<R extends RuleName>(submission: Submission<R>): Promise<CommandReply> {
    return new Promise((resolve) => {
      this.#queue.push({ submission: submission as unknown as Submission<RuleName>, resolve })
      this.#schedule()
    })
  }

  commitMaintenance<T>(work: () => T extends Promise<unknown> ? never : T): T {
    if (this.#replyWhenClosed && 'refusal' in this.#replyWhenClosed)
      throw new RefusalError(this.#replyWhenClosed.refusal)
    try {
      return this.#options.store.transact(work)
    } catch (error) {
      this.#handleFailure(error as Error)
      throw error
    }
  }

  close(refused: Refusal): void {
    this.#replyWhenClosed ??= { refusal: refused }
  }

  /** Commits after this turn of the event loop, so that all commands that have arrived by then share one commit. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      const batch = this.#queue.splice(0, commitBatchMax)
      if (this.#queue.length > 0) this.#schedule()
      this.#commit(batch)
    })
  }

  #commit(batch: PendingCommand[]): void {
    // Once the engine is closed or a sync to the disk has failed, nothing more is written: every command gets that refusal.
    if (this.#replyWhenClosed) for (const { resolve } of batch.splice(0)) resolve(this.#replyWhenClosed)
    if (batch.length === 0) return
    let replies: CommandReply[] = []
    const entries: JournalEntry[] = []
    try {
      this.#options.store.transact(() => {
        for (const { submission } of batch) replies.push(this.#carryOut(submission, entries))
      })
    } catch (error) {
      // No command of this batch was answered yet. They are tried again one at a time, so that one bad command does not fail the others. But never after a
      // failed sync to the disk: the system may have dropped the pages that it could not write, and would report success now.
      if (batch.length > 1 && !isFatalStoreError(error)) return batch.forEach((each) => void this.#commit([each]))
      const failed = this.#handleFailure(error as Error)
      replies = batch.map(() => failed)
      entries.length = 0
    }
    if (entries.length > 0) this.#options.hub.tell(entries)
    for (let i = 0; i < batch.length; i++) (batch[i] as PendingCommand).resolve(replies[i] as CommandReply)
  }

  #carryOut(submission: Submission<RuleName>, entries: JournalEntry[]): CommandReply {
    const { store, clock, ids, world } = this.#options
    const { rule, input, by, cause, session, digest } = submission
    // The clock's time is used even if it is earlier than that of the entry before: only `seq` gives the order of entries.
    const at = clock.now()
    const mint = submission.newId ?? ids(newIdPrefixes[rule] ?? 'a')
    const command: Command<never> = { input: input as never, by, at, mint, session, world }
    const decide = ruleOf(rule)
    const verdict = decide(store.view, command)
    if ('refusal' in verdict) return this.#answeredBefore(submission) ?? verdict
    const { facts, outcome, body, payload, found } = verdict
    // A command that changes nothing may be the repeat of one that was carried out, and then gets the first answer: a repeated take must return the same
    // messages.
    if (facts.length === 0) {
      return this.#answeredBefore(submission) ?? { seq: store.journal.lastSeq, outcome, repeat: false }
    }
    const entry = store.append({ at, by, cause, facts, rule, digest: digest?.(verdict), outcome, body, payload })
    if (!entry) return this.#answeredBefore(submission) as CommandReply
    entries.push(entry)
    return { seq: entry.seq, outcome, repeat: false, found }
  }

  #answeredBefore(submission: Submission<RuleName>): CommandReply | undefined {
    const { by, cause } = submission
    const answered = this.#options.store.journal.recordedAnswer(by, cause)
    if (!answered) return undefined
    const reused = reuseRefusal(answered, submission)
    if (reused) return { refusal: reused }
    const { seq, outcome } = answered
    return { seq, outcome, repeat: true }
  }

  #handleFailure(error: Error): CommandReply {
    const refused = error instanceof RefusalError ? error.refusal : refusal('fault', { why: error.message })
    const failed = { refusal: refused }
    if (isFatalStoreError(error)) {
      this.#replyWhenClosed = failed
      this.#options.onFatal(error)
    }
    return failed
  }
}
