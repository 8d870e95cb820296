// The daemon's half of the protocol over anything that carries lines: HELLO first, then calls and watches, answered as they finish.

import type { Socket } from 'node:net'
import {
  type Call,
  callSpellings,
  type Envelope,
  encodeFrame,
  type FrameError,
  type Hello,
  isOperation,
  operations,
  type Refusal,
  type RefusalCode,
  type RefusalDetails,
  refusal,
} from '@agent-relay/sdk/protocol'
import { helloOf } from '../broker/admission.ts'
import type { Answer } from '../broker/call.ts'
import type { Sink, Watch } from '../broker/sink.ts'
import { RefusalError, refusalOf } from '../refusal-error.ts'

/** Whom a connection talks to: a workspace's dispatch, or the daemon's control. */
export interface Party {
  hello(hello: Hello): Promise<Seat>
  /** Takes over a socket whose HELLO says that MCP lines follow. */
  pipe?(socket: Socket, hello: unknown, early: Uint8Array): Promise<{ readonly pending: number; close(): void }>
}

/** A connection that has introduced itself. */
export interface Seat {
  welcome: object
  call(op: string, input: unknown, id: string, abandoned?: AbortSignal): Promise<Answer>
  watch(op: string, input: unknown, sink: Sink): Watch
  /** The answer that carried these messages has left. */
  received?(handed: readonly string[]): void
  leave(): void
  /** The daemon itself ended it; the reason is a RefusalError. */
  ended?: AbortSignal
}

/** What carries the lines. */
export interface Carrier {
  write(line: string, flushed?: () => void): void
  /** False while too much waits to be read by the other side. */
  isReady(): boolean
  /** Sends what is left, then ends. */
  end(): void
}

/** A connection that speaks nonsense this often is not one of ours. */
const badFramesMax = 100
/** Calls of one connection that may be under way at once; more wait unread in its socket. */
const callsMax = 1_024
/** Of these, calls whose answer may be a whole page: half a megabyte each. */
const pagesMax = 8
/** Each watch is woken by every entry: thousands of them on one connection would slow every other session down. */
const watchesMax = 64

export class Connection {
  readonly #party: Party
  readonly #carrier: Carrier
  readonly #watches = new Map<string, Watch>()
  /** Calls that wait for somebody, and can be given up. */
  readonly #waiting = new Map<string, AbortController>()
  #seat: Seat | undefined
  #isGreeting = false
  #isOver = false
  #badFrames = 0
  /** Calls under way; the carrier stops reading while there are too many. */
  pending = 0
  #pages = 0
  onPendingChange: (() => void) | undefined

  constructor(party: Party, carrier: Carrier) {
    this.#party = party
    this.#carrier = carrier
  }

  /** Nothing that comes is heard any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Otherwise what comes has to wait until something is answered. */
  get mayTakeMore(): boolean {
    return this.pending < callsMax && this.#pages < pagesMax
  }

  get hasGreeted(): boolean {
    return this.#seat !== undefined
  }

  receive(frame: Envelope): void {
    if (this.#isOver) return
    if (frame.type === 'PING') return this.#write('PONG', frame.id, {})
    if (frame.type === 'HELLO') return void this.#greet(frame)
    if (!this.#seat) return this.close('frame.invalid', { why: 'HELLO comes first' })
    if (frame.type === 'BYE') return this.#bye(frame.payload)
    const call = callOf(frame)
    if (!call)
      return this.#refuse(frame.id, refusal('frame.invalid', { why: `${frame.type} is not for a client to send` }))
    if (isOperation(call.op) && operations[call.op].kind === 'watch') {
      this.#watch(this.#seat, frame.id, call)
    } else void this.#call(this.#seat, frame.id, call)
  }

  /** A line that is no frame. The rest of the connection is not harmed, unless it goes on like that. */
  receiveBad(error: FrameError): void {
    this.#refuse('-', refusal(error.code, { why: error.message, bytesMax: error.bytesMax }))
    if (++this.#badFrames >= badFramesMax) this.close('frame.invalid', { why: 'too many bad frames' })
  }

  /** The other side reads again. */
  drained(): void {
    for (const watch of this.#watches.values()) watch.drained()
  }

  /** Ends it with a reason. */
  close(code: RefusalCode, details?: RefusalDetails): void {
    if (this.#isOver) return
    this.#write('BYE', '-', { refusal: refusal(code, details) })
    this.#carrier.end()
    this.gone()
  }

  /** The other side is gone; nothing more can be said. */
  gone(): void {
    this.#isOver = true
    for (const watch of this.#watches.values()) watch.stop()
    this.#watches.clear()
    for (const waiting of this.#waiting.values()) waiting.abort()
    this.#seat?.leave()
    this.#seat = undefined
  }

  async #greet(frame: Envelope): Promise<void> {
    if (this.#seat || this.#isGreeting) return this.close('frame.invalid', { why: 'HELLO comes once' })
    this.#isGreeting = true
    try {
      const seat = await this.#party.hello(helloOf(frame.payload))
      if (this.#isOver) return seat.leave()
      this.#seat = seat
      seat.ended?.addEventListener('abort', () => this.#endedBy(seat.ended?.reason))
      this.#write('WELCOME', frame.id, seat.welcome)
    } catch (error) {
      if (this.#isOver) return
      this.#refuse(frame.id, refusalOf(error))
      this.#carrier.end()
      this.gone()
    }
  }

  #endedBy(reason: unknown): void {
    if (reason instanceof RefusalError) this.close(reason.refusal.code, reason.refusal.details)
  }

  async #call(seat: Seat, id: string, { op, input }: Call): Promise<void> {
    const pages = isPage(op) ? 1 : 0
    this.#pages += pages
    this.#count(1)
    try {
      const { output, handed } = await seat.call(op, input, id, this.#abandonable(id, input))
      if (!this.#isOver) this.#write('ACK', id, output, handed && (() => seat.received?.(handed)))
    } catch (error) {
      if (!this.#isOver) this.#refuse(id, refusalOf(error))
    }
    this.#waiting.delete(id)
    this.#pages -= pages
    this.#count(-1)
  }

  /** Only a call that asks to wait can be given up; the others are answered before a goodbye could arrive. */
  #abandonable(id: string, input: unknown): AbortSignal | undefined {
    if (typeof input !== 'object' || input === null || !('wait' in input)) return undefined
    const waiting = new AbortController()
    this.#waiting.set(id, waiting)
    return waiting.signal
  }

  #watch(seat: Seat, id: string, { op, input }: Call): void {
    if (this.#watches.has(id))
      return this.#refuse(id, refusal('frame.invalid', { why: 'this id is being watched already' }))
    if (this.#watches.size >= watchesMax)
      return this.#refuse(id, refusal('input.invalid', { operation: op, why: `${watchesMax} watches stand already` }))
    const type = op === 'inbox.follow' ? 'DELIVER' : 'EVENT'
    const sink: Sink = {
      isReady: () => !this.#isOver && this.#carrier.isReady(),
      item: (item) => this.#write(type, id, { watch: id, item }),
      end: (refused) => {
        this.#watches.delete(id)
        this.#write('BYE', id, { watch: id, refusal: refused })
      },
    }
    try {
      const watch = seat.watch(op, input, sink)
      this.#watches.set(id, watch)
      this.#write('ACK', id, { seq: watch.seq })
    } catch (error) {
      this.#refuse(id, refusalOf(error))
    }
  }

  #bye(payload: unknown): void {
    const watched = (payload as { watch?: unknown } | null)?.watch
    if (typeof watched === 'string') {
      this.#watches.get(watched)?.stop()
      this.#watches.delete(watched)
      this.#waiting.get(watched)?.abort()
      return
    }
    this.#carrier.end()
    this.gone()
  }

  #count(change: 1 | -1): void {
    this.pending += change
    this.onPendingChange?.()
  }

  #refuse(id: string, refused: Refusal): void {
    this.#write('ERROR', id, refused)
  }

  #write(type: Envelope['type'], id: string, payload: unknown, flushed?: () => void): void {
    if (!this.#isOver) this.#carrier.write(encodeFrame({ v: 1, type, id, ts: Date.now(), payload }), flushed)
  }
}

function isPage(op: string): boolean {
  return op === 'inbox.take' || (isOperation(op) && operations[op].kind === 'query')
}

/** A CALL, or one of its older spellings, whose payload is the input itself and whose text is called `content`. */
function callOf({ type, payload }: Envelope): Call | undefined {
  if (type === 'CALL') {
    const { op, input } = (payload ?? {}) as Partial<Call>
    return { op: String(op), input }
  }
  if (!Object.hasOwn(callSpellings, type)) return undefined
  const { content, include_idle, unread_only, ...rest } = (payload ?? {}) as Record<string, unknown>
  const input = { ...rest, body: rest.body ?? content, includeIdle: include_idle, unreadOnly: unread_only }
  return { op: callSpellings[type as keyof typeof callSpellings], input }
}
