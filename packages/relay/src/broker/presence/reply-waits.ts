// Keeps the senders that wait for a reply, as edges of a graph of agents. Refuses a wait that would close a circle of agents that wait for each other; the
// refusal names them.

import { setMaxListeners } from 'node:events'
import type { Message } from '@agent-relay/sdk/protocol'
import { answerPlaces } from '../../core/answers.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import type { WorkspaceCore } from '../call.ts'
import type { ClockReadings } from '../sessions/session.ts'
import type { RemoteWait, ReportedWait } from '../sharing.ts'
import { type Absence, absenceText, longAbsenceMs, shortenedNameList } from './availability.ts'

const agentAddress = /^[^#*][^*]*$/

export interface ReplyWait {
  by: string
  /** The awaited agent, if the message goes to one agent; an agent of another workspace as `frontend:Designer`. Unset if the message goes to several. */
  on?: string
  since: ClockReadings
  /** The sent message whose answer is awaited; unset until it is stored. */
  awaited?: AwaitedReply
  /** Ends the wait with a refusal: it is part of this circle of agents that wait for each other. */
  end?(circle: string): void
}

/** The message whose answer is awaited, and the position from which to look for the answer. */
export interface AwaitedReply {
  id: string
  conversation: string
  afterSeq: number
  afterN: number
  /** The thread that the sender named for the answer. Unset if the message is in a thread only because it is a reply. */
  thread?: string
}

/** The limits of one wait for a reply. */
export interface ReplyWaitLimits {
  timeoutMs: number
  /** Whether the sender gave a time limit itself: it then waits even for an agent that is away. */
  waitsForReturn: boolean
  /** Returns the absence of the awaited agent, or of all recipients together; undefined if they can be reached. */
  absence(): Absence | undefined
  /** Returns the recipients that have no session at this moment. */
  away(): string[]
}

type EndCode = 'wait.timeout' | 'wait.gone' | 'wait.cycle' | 'wait.cancelled' | 'daemon.stopping'

type WaitParts = Pick<WorkspaceCore, 'store' | 'hub' | 'clock' | 'otherMachines'>

export class ReplyWaits {
  readonly #parts: WaitParts
  readonly #open = new Set<ReplyWait>()
  readonly #changed = new Set<() => void>()
  readonly #stop = new AbortController()

  constructor(parts: WaitParts) {
    this.#parts = parts
    parts.otherMachines.onNews(() => this.#endCircles())
    // Every wait adds a listener to this signal. Many listeners are no leak here, but Node would warn at the eleventh.
    setMaxListeners(0, this.#stop.signal)
  }

  /** Opens a wait before the sender's message is sent, so that of two agents who ask each other at once the second is refused. */
  open(by: string, to: string | string[]): ReplyWait {
    const on = typeof to === 'string' && agentAddress.test(to) ? to : undefined
    const circle = on === undefined ? undefined : this.#path(on, by)
    if (circle) throw new RefusalError('wait.cycle', { to: on, circle: [circleText(by, circle)] })
    const wait: ReplyWait = { by, on, since: { at: this.#parts.clock.now(), steady: this.#parts.clock.steady() } }
    this.#open.add(wait)
    return wait
  }

  close(wait: ReplyWait): void {
    this.#open.delete(wait)
    this.#tell()
  }

  /** Calls the listener when the result of `waitsToReport` may have changed. */
  onChange(listener: () => void): void {
    this.#changed.add(listener)
  }

  /** Returns the open waits of an agent of this machine, in the form that other machines are told. */
  waitsToReport(agent: string): ReportedWait[] | undefined {
    const own = [...this.#open].filter(({ by }) => by === agent)
    const told = own.flatMap(({ on, since, awaited }): ReportedWait[] => {
      if (on === undefined || !awaited) return []
      const { id, thread } = awaited
      return [{ on, since: since.at, message: id, ...(thread === undefined ? {} : { thread }) }]
    })
    return told.length === 0 ? undefined : told
  }

  /** Ends every wait because the daemon stops. A client that repeats its call to the next daemon continues its wait in that daemon. */
  stopAll(): void {
    this.#stop.abort()
  }

  /** Aborted when the daemon stops. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Returns the agent's open wait for one other agent, once the question is stored. */
  of(agent: string): ReplyWait | undefined {
    for (const wait of this.#all()) if (wait.by === agent && wait.on !== undefined && wait.awaited) return wait
    return undefined
  }

  /** Returns the ids of messages to which this agent awaits an answer, or to which another agent awaits an answer from it. */
  awaitedMessageIds(agent: string): string[] {
    return [...this.#all()].flatMap(({ by, on, awaited }) =>
      awaited !== undefined && (by === agent || on === agent) ? [awaited.id] : [],
    )
  }

  /** Returns the ids of all messages to which an answer is awaited now. */
  allAwaitedMessageIds(): string[] {
    return [...this.#all()].flatMap(({ awaited }) => (awaited === undefined ? [] : [awaited.id]))
  }

  /** Whether a waiting call of the agent gets this message as its answer. `maybe`: also true if one might, because its question is not stored yet. */
  isAwaited(agent: string, { id, from }: Pick<Message, 'id' | 'from'>, maybe = false): boolean {
    const own = [...this.#open].filter(({ by }) => by === agent)
    return own.some((wait) =>
      wait.awaited ? this.#findReply(wait, wait.awaited)?.id === id : maybe && (wait.on ?? from) === from,
    )
  }

  /** Waits for the reply. Rejects at the deadline, if the awaited agent has been away too long, or if the caller gives up. */
  waitForReply(wait: ReplyWait, awaited: AwaitedReply, limits: ReplyWaitLimits, ended: AbortSignal): Promise<Message> {
    wait.awaited = awaited
    this.#tell()
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        stopListening()
        deadline.cancel()
        gone.cancel()
        ended.removeEventListener('abort', abandon)
        this.#stop.signal.removeEventListener('abort', stop)
        settle()
      }
      const look = () => {
        const reply = this.#findReply(wait, awaited)
        if (reply) finish(() => resolve(reply))
        return reply !== undefined
      }
      const fail = (code: EndCode, details = {}) =>
        finish(() =>
          reject(new RefusalError(code, { to: wait.on ?? awaited.conversation, message: awaited.id, ...details })),
        )
      wait.end = (circle) => fail('wait.cycle', { circle: [circle] })
      const abandon = () => fail('wait.cancelled')
      const stop = () => fail('daemon.stopping')
      const stopListening = this.#parts.hub.listen((entries) => {
        if (entries.some(({ facts }) => facts.some(({ type }) => type === 'message.created'))) look()
      })
      const { timeoutMs } = limits
      const deadline = this.#parts.clock.after(timeoutMs, () =>
        fail('wait.timeout', { ms: timeoutMs, ...awayDetails(limits.away()) }),
      )
      const checkGone = () => {
        const absence = this.#absence(wait, limits)
        const ms = absence?.ms ?? 0
        if (absence && ms >= longAbsenceMs) return fail('wait.gone', { ...absenceText(absence), awayMs: ms })
        gone = this.#parts.clock.after(longAbsenceMs - ms, checkGone)
      }
      let gone = this.#parts.clock.after(longAbsenceMs, checkGone)
      ended.addEventListener('abort', abandon)
      this.#stop.signal.addEventListener('abort', stop)
      // The caller may have given up while the message was being written: its signal has fired already, and will not fire again.
      if (ended.aborted) abandon()
      else if (this.#stop.signal.aborted) stop()
      // The reply may be stored already: in the same commit as the question, or before the daemon was restarted.
      else if (!look()) {
        gone.cancel()
        checkGone()
        this.#endCircles()
      }
    })
  }

  /**
   * Returns the absence that ends the wait, if any. For a sender that gave its own time limit, only an agent that has left since the wait began counts as
   * absent.
   */
  #absence({ since }: ReplyWait, { waitsForReturn, absence }: ReplyWaitLimits): Absence | undefined {
    const found = absence()
    const isSince = found !== undefined && !found.isAtLeast && found.ms <= this.#parts.clock.steady() - since.steady
    return waitsForReturn && !isSince ? undefined : found
  }

  /** Finds the awaited answer as core/answers.ts defines it. A direct message that replies to nothing counts only if one agent alone was asked. */
  #findReply({ by, on }: ReplyWait, { id, conversation, afterSeq, afterN, thread }: AwaitedReply): Message | undefined {
    const { queries, view } = this.#parts.store
    const asked = { id, conversation, thread: thread ?? view.message(id)?.thread }
    const sent = { conversation, n: afterN, seq: afterSeq, from: by }
    const places = answerPlaces(asked, thread !== undefined).filter((place) => place !== 'pair' || on !== undefined)
    const replies = places
      .flatMap((place) => view.messagesAfter(place, sent))
      .filter((head) => view.isRecipient(by, head))
    const first = replies.sort((a, b) => a.seq - b.seq)[0]
    return first && queries.messageWithBody(first)
  }

  /** Yields the open waits of this machine and of the other machines. */
  *#all(): Generator<ReplyWait> {
    yield* this.#open
    for (const told of this.#parts.otherMachines.waits()) {
      const wait = this.#waitFromElsewhere(told)
      if (wait) yield wait
    }
  }

  /** Converts a wait that another machine has reported. Undefined if its answer is stored here already, or if that machine is not the sender's home. */
  #waitFromElsewhere({ by, machine, on, since, message, thread }: RemoteWait): ReplyWait | undefined {
    const { view } = this.#parts.store
    if (view.home(by)?.machine !== machine) return undefined
    const wait: ReplyWait = { by, on, since: { at: since, steady: 0 } }
    const head = view.message(message)
    if (!head) return wait
    const { conversation, seq: afterSeq, n: afterN } = head
    const awaited = { id: message, conversation, afterSeq, afterN, thread }
    return this.#findReply(wait, awaited) ? undefined : { ...wait, awaited }
  }

  /**
   * Ends circles of agents that wait for each other. `open` refuses them, but two agents on two machines may both begin to wait before the machines hear of it.
   * Every machine finds the same circle; the wait for its youngest message ends, on the machine where it was opened.
   */
  #endCircles(): void {
    // Without waits on other machines there can be no circle: `open` refuses every circle on this machine.
    if (this.#parts.otherMachines.waits().length === 0) return
    for (const wait of [...this.#open]) {
      const { by, on, awaited, end } = wait
      const circle = on === undefined || !awaited ? undefined : this.#path(on, by)
      const isYoungest = circle?.every(
        (other) => other.awaited && other.awaited.afterSeq < (awaited as AwaitedReply).afterSeq,
      )
      if (circle && isYoungest) end?.(circleText(by, circle))
    }
  }

  #tell(): void {
    for (const listener of this.#changed) listener()
  }

  /** Finds a chain of waits from one agent to another; undefined if there is none. */
  #path(from: string, target: string, seen = new Set<string>()): ReplyWait[] | undefined {
    if (from === target) return []
    if (seen.has(from)) return undefined
    seen.add(from)
    for (const wait of this.#all()) {
      if (wait.by !== from || wait.on === undefined) continue
      const rest = this.#path(wait.on, target, seen)
      if (rest) return [wait, ...rest]
    }
    return undefined
  }
}

function circleText(by: string, path: readonly ReplyWait[]): string {
  return [by, ...path.map((wait) => wait.by), by].join(' → ')
}

/** Returns a text such as `bob is away` or `bob and cy are away`. */
function awayDetails(away: string[]): { away?: string } {
  return away.length === 0 ? {} : { away: `${shortenedNameList(away)} ${away.length > 1 ? 'are' : 'is'} away` }
}
