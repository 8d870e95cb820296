// The engine of a workspace that several machines share: commands are decided on this machine's replica and appended to the cluster; what
// comes back is applied, and then they are answered.
//
// * Decided on an old state? The cluster says so by the keys that were read. What was missed is applied, and the rest decided again.
// * A refusal is an answer about the state, so it is told only once the cluster has confirmed that what it read still holds.
// * No answer? It is not known whether it was stored. Asked again, the cluster says so if the replica has not seen the command's entry.
// * Three losses in a row? Then the cluster is asked for a turn, in which nobody else appends.

import { type Ids, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { type Engine, type Reply, reuseOf, type Submission } from '../broker/engine.ts'
import type { RuleName } from '../core/decide.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import { isFatal } from '../store/store.ts'
import { type Decided, decideBatch, elsewhere, type Pending, stored, undecided, voidRefusal } from './batch.ts'
import {
  type Append,
  type Appended,
  type ClusterJournal,
  ClusterUnreachable,
  pageEntriesMax,
  type Stopped,
} from './cluster-journal.ts'
import type { Contact } from './contact.ts'
import { laneOf } from './lanes.ts'
import { LocalLane } from './local-lane.ts'
import { Notes } from './notes.ts'
import type { Halted, Replica } from './replica.ts'
import { isStopped, stopRefusal } from './stops.ts'

/** One append takes at most this many commands. */
const batchMax = 256
/** After so many losses in a row it waits for its turn. */
const lossesMax = 3
/** How long a command is tried while the cluster is not reached, before its sender is told. */
const patienceMs = 10_000
/** The same for who comes: a client waits 5 s for its welcome. */
const helloMs = 3_000
const [againMs, againMsMax] = [50, 1_000]

export interface SharedEngineOptions {
  workspace: string
  /** This daemon's own. */
  machine: string
  replica: Replica
  journal: ClusterJournal
  clock: Clock
  ids: Ids
  world: World
  /** Left out: nobody asks why the cluster is not reached. */
  contact?: Contact
  /** This machine gets no further; told once. */
  onStopped?(refused: Refusal): void
  /** The replica failed: after `isFatal` this daemon must write nothing more. */
  onTrouble(error: Error): void
}

/** What has become of one batch so far. */
interface Tries {
  losses: number
  /** An answer was lost, so that one of them may be stored. */
  isUnknown: boolean
  failures: number
  since: number
}

export class SharedEngine implements Engine {
  readonly #options: SharedEngineOptions
  #queue: Pending[] = []
  #isRunning = false
  #closed: Refusal | undefined
  #stopped: Refusal | undefined
  /** The replica may be closed by now: nothing is read from it or written to it any more. */
  #isGone = false
  readonly #notes: Notes
  readonly #lane: LocalLane

  constructor(options: SharedEngineOptions) {
    this.#options = options
    this.#notes = new Notes({ ...options, append: (append) => this.#note(append) })
    this.#lane = new LocalLane({
      ...options,
      notes: this.#notes,
      shared: { submit: (submission) => this.submit(submission) },
      catchUp: () => this.#catchUp(),
      onFatal: (error) => this.#fail(error),
    })
  }

  /** Why this machine gets no further. */
  get stopped(): Refusal | undefined {
    return this.#stopped
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && !this.#isRunning && this.#lane.isIdle
  }

  submit<R extends RuleName>(submission: Submission<R>): Promise<Reply> {
    const asked = submission as unknown as Submission<RuleName>
    if (laneOf(asked.rule) === 'local') return this.#lane.submit(asked)
    return new Promise((resolve) => {
      this.#queue.push({ submission: asked, resolve })
      if (this.#isRunning) return
      this.#isRunning = true
      // After this turn of the event loop, so that all commands that have arrived by then share one append.
      setImmediate(() => void this.#run())
    })
  }

  /** Gives an agent that is at home here to another machine, with all that was done with its mail. */
  release(agent: string, machine: string): Promise<Reply> {
    return this.#lane.release(agent, machine)
  }

  /** What was done with mail here is told to the others. Answers why it could not be. */
  tell(): Promise<Refusal | undefined> {
    return this.#notes.flush()
  }

  close(refused: Refusal): void {
    this.#isGone = true
    this.#end(refused)
  }

  #end(refused: Refusal): void {
    this.#closed ??= refused
    this.#lane.close(refused)
    this.#notes.stop()
  }

  /** This machine gets no further: what waits and what still comes is refused. Agents at home here go on reading what has come. */
  stop(stopped: Stopped | Halted): void {
    const { workspace, replica, onStopped } = this.#options
    if (this.#closed) return
    this.#stopped = stopRefusal(stopped, { workspace, known: replica.known.seq })
    this.#closed = this.#stopped
    this.#notes.stop()
    // Another daemon has the identity of this machine, and hands out the mail of its agents.
    if (stopped.kind === 'fenced') this.#lane.close(this.#stopped)
    onStopped?.(this.#stopped)
  }

  /** One append is under way at a time; what arrives meanwhile goes with the next. */
  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchMax)
      try {
        await this.#carryOut(batch)
      } catch (error) {
        // The replica failed, perhaps with what was stored just now: nobody is told that it was not.
        this.#giveUp(batch, { isUnknown: true })
        this.#fail(error as Error)
      }
    }
    this.#isRunning = false
  }

  #fail(error: Error): void {
    if (isFatal(error)) this.#end(refusal('fault', { why: error.message }))
    this.#options.onTrouble(error)
  }

  /** Takes those that were answered out of the batch, until none is left. */
  async #carryOut(batch: Pending[]): Promise<void> {
    const { clock, contact } = this.#options
    const tries: Tries = { losses: 0, isUnknown: false, failures: 0, since: clock.steady() }
    while (batch.length > 0 && !this.#closed) {
      if (contact?.isHopeless) {
        this.#settle(batch)
        return this.#giveUp(batch, tries)
      }
      try {
        await this.#tryOnce(batch, tries)
        tries.failures = 0
      } catch (error) {
        if (!(error instanceof ClusterUnreachable)) throw error
        tries.isUnknown ||= !error.isUnsent
        const isHello = batch.every(({ submission }) => submission.rule === 'agent.register')
        const isLate = clock.steady() - tries.since > (isHello ? helloMs : patienceMs)
        if (isLate) return this.#giveUp(batch, tries)
        await this.#pause(tries.failures++)
      }
    }
    // Closed meanwhile. Whether one of them is stored may have been left open by an answer that was lost.
    if (!this.#isGone) this.#settle(batch)
    if (tries.isUnknown) this.#giveUp(batch, tries)
    for (const { resolve } of batch.splice(0)) resolve({ refusal: this.#closed as Refusal })
  }

  async #tryOnce(batch: Pending[], tries: Tries): Promise<void> {
    const { journal, replica } = this.#options
    this.#settle(batch)
    if (batch.length === 0) return
    let decided: Decided | undefined
    const decide = () => {
      decided = this.#decide(batch)
      return decided.append
    }
    const isTurn = tries.losses >= lossesMax
    const appended = isTurn
      ? await journal.inTurn(replica.known, (missed) => {
          if (this.#isGone) throw new ClusterUnreachable('closed', true)
          replica.apply(missed)
          this.#settle(batch)
          return decide()
        })
      : await journal.append(decide())
    // It may be stored: whoever asks the next daemon is told.
    if (this.#isGone) tries.isUnknown = true
    else this.#take(batch, decided, appended, tries)
  }

  /** One that cannot be decided must not fail the others: then only the first is, and the others come with the next try. */
  #decide(batch: Pending[]): Decided {
    try {
      return decideBatch(batch, this.#options)
    } catch (error) {
      if (isFatal(error)) throw error
      const [first] = batch as [Pending]
      if (batch.length > 1) return this.#decide([first])
      return undecided(first, this.#options, error as Error)
    }
  }

  #take(batch: Pending[], decided: Decided | undefined, appended: Appended, tries: Tries): void {
    const { replica, machine } = this.#options
    if (!('missed' in appended)) return this.stop(appended)
    if (appended.kind === 'ok' && decided) {
      replica.apply([...appended.missed, ...stored(decided.append, appended, machine)])
      for (const { pending, reply, draft } of decided.commands) {
        const seq = draft === undefined ? replica.known.seq : (appended.numbered[draft]?.seq as number)
        batch.splice(batch.indexOf(pending), 1)
        // Nothing left to do, or a refusal, may mean that it was done before.
        const voided = draft === undefined ? undefined : voidRefusal(seq, this.#options)
        const before = draft === undefined ? this.#answeredBefore(pending) : voided && { refusal: voided }
        pending.resolve(before ?? ('refusal' in reply ? reply : { ...reply, seq }))
      }
    } else replica.apply(appended.missed)
    if (replica.halted) return this.stop(replica.halted)
    if (appended.kind === 'behind' && appended.missed.length < pageEntriesMax) tries.losses++
    if (appended.kind === 'denied') this.#deny(batch, appended.agent)
  }

  async #note(append: Append): Promise<Appended | { refusal: Refusal }> {
    const { journal, replica, machine } = this.#options
    return this.#reach(async () => {
      const appended = await journal.append(append)
      if (this.#closed) return undefined
      if (!('missed' in appended)) return appended
      replica.apply([...appended.missed, ...(appended.kind === 'ok' ? stored(append, appended, machine) : [])])
      return appended
    })
  }

  async #catchUp(): Promise<Refusal | undefined> {
    const { journal, replica } = this.#options
    for (;;) {
      const followed = await this.#reach(async () => {
        const page = await journal.follow(replica.known, pageEntriesMax)
        if (this.#closed) return undefined
        if (page.kind === 'entries') replica.apply(page.entries)
        return page
      })
      if ('refusal' in followed) return followed.refusal
      if (followed.kind === 'entries' && !followed.isMore) return undefined
    }
  }

  /** Asks the cluster once. Answers a refusal where it was not reached, or where this machine gets no further. */
  async #reach<T extends { kind: string }>(ask: () => Promise<T | undefined>): Promise<T | { refusal: Refusal }> {
    const { replica, contact } = this.#options
    if (this.#closed) return { refusal: this.#closed }
    if (contact?.isHopeless) return { refusal: this.#unreachable() }
    try {
      const answer = await ask()
      const stopped = replica.halted ?? (answer && isStopped(answer) ? answer : undefined)
      if (stopped) this.stop(stopped)
      return this.#closed ? { refusal: this.#closed } : (answer as T)
    } catch (error) {
      if (error instanceof ClusterUnreachable) return { refusal: this.#unreachable() }
      this.#fail(error as Error)
      return { refusal: refusal('fault', { why: (error as Error).message }) }
    }
  }

  #deny(batch: Pending[], agent: string): void {
    for (const each of batch.filter(({ submission }) => submission.by === agent)) {
      batch.splice(batch.indexOf(each), 1)
      each.resolve(elsewhere(this.#options.replica.store.view, agent))
    }
  }

  /** What the replica has was one of these: an answer that was lost, or a command that was asked twice. */
  #settle(batch: Pending[]): void {
    for (const each of [...batch]) {
      const reply = this.#answeredBefore(each)
      if (!reply) continue
      batch.splice(batch.indexOf(each), 1)
      each.resolve(reply)
    }
  }

  #answeredBefore({ submission }: Pending): Reply | undefined {
    const answered = this.#options.replica.store.journal.answered(submission.by, submission.cause)
    if (!answered) return undefined
    const reused = reuseOf(answered, submission)
    return reused ? { refusal: reused } : { seq: answered.seq, outcome: answered.outcome, repeat: true }
  }

  #giveUp(batch: Pending[], { isUnknown }: Pick<Tries, 'isUnknown'>): void {
    const { workspace } = this.#options
    for (const { submission, resolve } of batch.splice(0)) {
      const unknown = () => refusal('cluster.unknown', { workspace, id: submission.cause })
      resolve({ refusal: isUnknown ? unknown() : this.#unreachable() })
    }
  }

  #unreachable(): Refusal {
    const { workspace, contact } = this.#options
    return contact?.refusal(workspace) ?? refusal('cluster.unreachable', { workspace })
  }

  #pause(failures: number): Promise<void> {
    const ms = Math.min(againMsMax, againMs * 2 ** failures)
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve))
  }
}
