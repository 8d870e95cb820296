// The engine of a workspace that several machines share. It decides commands on this machine's replica and appends the entries to the cluster. Once an
// append is stored, it applies the entries to the replica and answers the commands.
//
// * If the replica was out of date, the cluster rejects the append, by the conflict keys that the decisions have read. The engine applies the missed entries
//   and decides again.
// * A refusal depends on the state of the workspace too, so it is sent only once the cluster has confirmed that what it depends on has not changed.
// * If the cluster's answer is lost, nobody knows whether the entry was stored. The engine tries again; if the entry was stored, the cluster then reports
//   it.
// * After three appends in a row that came too late, the engine asks for a turn in which no other machine can append.

import { type Ids, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { type CommandReply, type Engine, reuseRefusal, type Submission } from '../broker/engine.ts'
import type { RuleName } from '../core/decide.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import { isFatalStoreError } from '../store/store.ts'
import {
  agentElsewhereRefusal,
  type DecidedBatch,
  decideAsFault,
  decideBatch,
  entriesOfAppend,
  type PendingCommand,
  voidRefusal,
} from './batch.ts'
import {
  type Append,
  type AppendResult,
  type ClusterJournal,
  ClusterUnreachable,
  pageEntriesMax,
  type StopReason,
} from './cluster-journal.ts'
import { laneOf } from './lanes.ts'
import { LocalLane } from './local-lane.ts'
import { Notes } from './notes.ts'
import type { ClusterReachability } from './reachability.ts'
import type { HaltReason, Replica } from './replica.ts'
import { isStopped, stopRefusal } from './stops.ts'

/** Maximum number of commands in one append. */
const batchMax = 256
/** After this many appends in a row that came too late, the engine waits for a turn in which no other machine can append. */
const lossesMax = 3
/** How long the engine tries to store a command while the cluster cannot be reached. Then it refuses the command. */
const patienceMs = 10_000
/** The same for registrations. It is shorter, because a client waits only 5 s for its WELCOME. */
const helloMs = 3_000
const [againMs, againMsMax] = [50, 1_000]

export interface SharedEngineOptions {
  workspace: string
  /** The name of this daemon's machine. */
  machine: string
  replica: Replica
  journal: ClusterJournal
  clock: Clock
  ids: Ids
  world: World
  /** Tracks why the cluster cannot be reached. Unset if nobody needs to know. */
  reachability?: ClusterReachability
  /** Called once, when this machine stops following the workspace for a reason that goes away only if somebody acts. */
  onStopped?(refused: Refusal): void
  /** Called on a failure of the replica. If `isFatalStoreError(error)`, this daemon must write nothing more. */
  onTrouble(error: Error): void
}

/** The progress of one batch of commands. */
interface BatchProgress {
  losses: number
  /** Whether an answer of the cluster was lost, so that some commands of the batch may be stored already. */
  isUnknown: boolean
  failures: number
  since: number
}

export class SharedEngine implements Engine {
  readonly #options: SharedEngineOptions
  #queue: PendingCommand[] = []
  #isRunning = false
  #closed: Refusal | undefined
  #stopped: Refusal | undefined
  /** Whether the engine was closed. The replica may then be closed too, so the engine neither reads nor writes it. */
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

  /** Why this machine has stopped following the workspace; undefined while it follows. */
  get stopped(): Refusal | undefined {
    return this.#stopped
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && !this.#isRunning && this.#lane.isIdle
  }

  submit<R extends RuleName>(submission: Submission<R>): Promise<CommandReply> {
    const asked = submission as unknown as Submission<RuleName>
    if (laneOf(asked.rule) === 'local') return this.#lane.submit(asked)
    return new Promise((resolve) => {
      this.#queue.push({ submission: asked, resolve })
      if (this.#isRunning) return
      this.#isRunning = true
      // The batch starts after the current turn of the event loop, so that all commands of this turn share one append.
      setImmediate(() => void this.#run())
    })
  }

  /** Makes another machine the home of an agent of this machine, after reporting what became of the agent's messages here. */
  release(agent: string, machine: string): Promise<CommandReply> {
    return this.#lane.release(agent, machine)
  }

  /** Reports to the other machines what became of messages on this machine. Returns a refusal if that failed. */
  reportReceipts(): Promise<Refusal | undefined> {
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

  /**
   * Stops following the workspace: waiting and new commands are refused. Agents with their home on this machine can still read the messages that have
   * arrived here.
   */
  stop(stopped: StopReason | HaltReason): void {
    const { workspace, replica, onStopped } = this.#options
    if (this.#closed) return
    this.#stopped = stopRefusal(stopped, { workspace, known: replica.position.seq })
    this.#closed = this.#stopped
    this.#notes.stop()
    // Another daemon with this machine's identity has taken over, and hands out the messages of this machine's agents.
    if (stopped.kind === 'fenced') this.#lane.close(this.#stopped)
    onStopped?.(this.#stopped)
  }

  /** Appends batch after batch, one at a time. Commands that arrive during an append go into the next batch. */
  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchMax)
      try {
        await this.#carryOut(batch)
      } catch (error) {
        // The replica failed, perhaps after the append was stored: the commands are answered with "outcome unknown", and not as failed.
        this.#giveUp(batch, { isUnknown: true })
        this.#fail(error as Error)
      }
    }
    this.#isRunning = false
  }

  #fail(error: Error): void {
    if (isFatalStoreError(error)) this.#end(refusal('fault', { why: error.message }))
    this.#options.onTrouble(error)
  }

  /** Carries out a batch: tries again and again, each time with the commands that are not answered yet. */
  async #carryOut(batch: PendingCommand[]): Promise<void> {
    const { clock, reachability } = this.#options
    const tries: BatchProgress = { losses: 0, isUnknown: false, failures: 0, since: clock.steady() }
    while (batch.length > 0 && !this.#closed) {
      if (reachability?.isHopeless) {
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
    // The engine was closed or stopped meanwhile. If an answer was lost, the senders are told that the outcome is unknown.
    if (!this.#isGone) this.#settle(batch)
    if (tries.isUnknown) this.#giveUp(batch, tries)
    for (const { resolve } of batch.splice(0)) resolve({ refusal: this.#closed as Refusal })
  }

  async #tryOnce(batch: PendingCommand[], tries: BatchProgress): Promise<void> {
    const { journal, replica } = this.#options
    this.#settle(batch)
    if (batch.length === 0) return
    let decided: DecidedBatch | undefined
    const decide = () => {
      decided = this.#decide(batch)
      return decided.append
    }
    const isTurn = tries.losses >= lossesMax
    const appended = isTurn
      ? await journal.appendInTurn(replica.position, (missed) => {
          if (this.#isGone) throw new ClusterUnreachable('closed', true)
          replica.apply(missed)
          this.#settle(batch)
          return decide()
        })
      : await journal.append(decide())
    // The engine was closed during the append, which may be stored all the same: the sender is told that the outcome is unknown.
    if (this.#isGone) tries.isUnknown = true
    else this.#take(batch, decided, appended, tries)
  }

  /**
   * Decides the batch. If that throws an error, decides only the first command, and leaves the others to the next try, so that one faulty command does not
   * make the others fail.
   */
  #decide(batch: PendingCommand[]): DecidedBatch {
    try {
      return decideBatch(batch, this.#options)
    } catch (error) {
      if (isFatalStoreError(error)) throw error
      const [first] = batch as [PendingCommand]
      if (batch.length > 1) return this.#decide([first])
      return decideAsFault(first, this.#options, error as Error)
    }
  }

  #take(
    batch: PendingCommand[],
    decided: DecidedBatch | undefined,
    appended: AppendResult,
    tries: BatchProgress,
  ): void {
    const { replica, machine } = this.#options
    if (!('missed' in appended)) return this.stop(appended)
    if (appended.kind === 'ok' && decided) {
      replica.apply([...appended.missed, ...entriesOfAppend(decided.append, appended, machine)])
      for (const { pending, reply, draft } of decided.commands) {
        const seq = draft === undefined ? replica.position.seq : (appended.numbered[draft]?.seq as number)
        batch.splice(batch.indexOf(pending), 1)
        // A command that is refused or changes nothing may be a repetition of one that was carried out before: then it gets the first answer.
        const voided = draft === undefined ? undefined : voidRefusal(seq, this.#options)
        const before = draft === undefined ? this.#answeredBefore(pending) : voided && { refusal: voided }
        pending.resolve(before ?? ('refusal' in reply ? reply : { ...reply, seq }))
      }
    } else replica.apply(appended.missed)
    if (replica.halted) return this.stop(replica.halted)
    if (appended.kind === 'behind' && appended.missed.length < pageEntriesMax) tries.losses++
    if (appended.kind === 'denied') this.#deny(batch, appended.agent)
  }

  async #note(append: Append): Promise<AppendResult | { refusal: Refusal }> {
    const { journal, replica, machine } = this.#options
    return this.#reach(async () => {
      const appended = await journal.append(append)
      if (this.#closed) return undefined
      if (!('missed' in appended)) return appended
      replica.apply([...appended.missed, ...(appended.kind === 'ok' ? entriesOfAppend(append, appended, machine) : [])])
      return appended
    })
  }

  async #catchUp(): Promise<Refusal | undefined> {
    const { journal, replica } = this.#options
    for (;;) {
      const followed = await this.#reach(async () => {
        const page = await journal.follow(replica.position, pageEntriesMax)
        if (this.#closed) return undefined
        if (page.kind === 'entries') replica.apply(page.entries)
        return page
      })
      if ('refusal' in followed) return followed.refusal
      if (followed.kind === 'entries' && !followed.isMore) return undefined
    }
  }

  /** Makes one call to the cluster. Returns a refusal if the cluster was not reached, or if this machine has stopped following the workspace. */
  async #reach<T extends { kind: string }>(ask: () => Promise<T | undefined>): Promise<T | { refusal: Refusal }> {
    const { replica, reachability } = this.#options
    if (this.#closed) return { refusal: this.#closed }
    if (reachability?.isHopeless) return { refusal: this.#unreachable() }
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

  #deny(batch: PendingCommand[], agent: string): void {
    for (const each of batch.filter(({ submission }) => submission.by === agent)) {
      batch.splice(batch.indexOf(each), 1)
      each.resolve(agentElsewhereRefusal(this.#options.replica.store.view, agent))
    }
  }

  /** Answers the commands that have an entry in the replica already, because the cluster's answer was lost or the command was submitted twice. */
  #settle(batch: PendingCommand[]): void {
    for (const each of [...batch]) {
      const reply = this.#answeredBefore(each)
      if (!reply) continue
      batch.splice(batch.indexOf(each), 1)
      each.resolve(reply)
    }
  }

  #answeredBefore({ submission }: PendingCommand): CommandReply | undefined {
    const answered = this.#options.replica.store.journal.recordedAnswer(submission.by, submission.cause)
    if (!answered) return undefined
    const reused = reuseRefusal(answered, submission)
    return reused ? { refusal: reused } : { seq: answered.seq, outcome: answered.outcome, repeat: true }
  }

  #giveUp(batch: PendingCommand[], { isUnknown }: Pick<BatchProgress, 'isUnknown'>): void {
    const { workspace } = this.#options
    for (const { submission, resolve } of batch.splice(0)) {
      const unknown = () => refusal('cluster.unknown', { workspace, id: submission.cause })
      resolve({ refusal: isUnknown ? unknown() : this.#unreachable() })
    }
  }

  #unreachable(): Refusal {
    const { workspace, reachability } = this.#options
    return reachability?.unreachableRefusal(workspace) ?? refusal('cluster.unreachable', { workspace })
  }

  #pause(failures: number): Promise<void> {
    const ms = Math.min(againMsMax, againMs * 2 ** failures)
    return new Promise((resolve) => void this.#options.clock.after(ms, resolve))
  }
}
