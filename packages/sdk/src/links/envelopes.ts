// The client's half of the protocol: calls and their answers, watches and their items, hello and goodbye, over any transport for envelopes (the JSON objects of
// the protocol). Bytes and sockets are elsewhere: the transport calls `receive` and `lost`. Reconnecting is in reconnecting-link.ts.

import { type Deferred, deferred } from '../deferred.ts'
import { ConnectionError, errorFrom, type RefusalLike, type RelayError } from '../errors.ts'
import { welcomeTimeoutMs } from '../limits.ts'
import type { Closing, Link, WatchSink } from '../link.ts'
import { type Envelope, encodeFrame, type FrameType, type Hello, type Welcome } from '../protocol/frames.ts'
import { isWithinBytes, limits } from '../protocol/limits.ts'
import type { CallName, InputOf, OutputOf, WatchName } from '../protocol/operations.ts'
import { frameRefusal } from '../protocol/refusals/frames.ts'
import type { Refusal } from '../protocol/refusals.ts'

/** The part of a transport that a link writes its lines to, one at a time. */
export interface Outlet {
  write(line: string): void
  /** Closes the connection after the lines written before; resolves when the connection is gone. */
  close(): Promise<void>
}

const helloId = 'hello'

export class EnvelopeLink implements Link {
  readonly #closing = deferred<Closing>()
  readonly closed = this.#closing.promise
  readonly #outlet: Outlet
  readonly #calls = new Map<string, Deferred<unknown>>()
  readonly #watches = new Map<string, WatchSink<unknown>>()
  #welcome?: Welcome
  #done = false

  constructor(outlet: Outlet) {
    this.#outlet = outlet
  }

  get welcome(): Welcome {
    if (!this.#welcome) throw new Error('a link has no welcome before it was introduced')
    return this.#welcome
  }

  /** Sends HELLO and waits for WELCOME; then the link can be used. If the daemon refuses the HELLO, rejects with the refusal's error. */
  async introduce(hello: Hello): Promise<this> {
    const timer = setTimeout(() => this.lost(`no answer to HELLO within ${welcomeTimeoutMs} ms`), welcomeTimeoutMs)
    try {
      this.#welcome = (await this.#ask('HELLO', helloId, hello)) as Welcome
      return this
    } catch (error) {
      this.lost('not welcome')
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  call<O extends CallName>(op: O, input: InputOf<O>, id: string): Promise<OutputOf<O>> {
    return this.#ask('CALL', id, { op, input }) as Promise<OutputOf<O>>
  }

  watch<O extends WatchName>(
    op: O,
    input: InputOf<O>,
    id: string,
    sink: WatchSink<OutputOf<O>>,
  ): Promise<{ seq: number }> {
    // The watch is registered before the daemon answers, because items may follow the answer in the same chunk of bytes.
    this.#watches.set(id, sink as WatchSink<unknown>)
    const established = this.#ask('CALL', id, { op, input }) as Promise<{ seq: number }>
    established.catch(() => this.#watches.delete(id))
    return established
  }

  unwatch(id: string): void {
    const isKnown = this.#watches.delete(id) || this.#calls.has(id)
    if (isKnown && !this.#done) this.#write('BYE', id, { watch: id })
  }

  async close(): Promise<void> {
    if (!this.#done) this.#write('BYE', 'bye', {})
    this.#finish({ how: 'asked' }, new ConnectionError('the link was closed', { retry: false }))
    await this.#outlet.close()
  }

  receive(envelope: Envelope): void {
    const { type, id, payload } = envelope
    switch (type) {
      case 'WELCOME':
      case 'ACK':
        this.#take(id)?.resolve(payload)
        break
      case 'ERROR':
        this.#refused(id, toRefusal(payload))
        break
      case 'DELIVER':
      case 'EVENT': {
        const { watch, item } = fields(payload)
        this.#watches.get(String(watch))?.item(item)
        break
      }
      case 'PING':
        if (!this.#done) this.#write('PONG', id, payload ?? {})
        break
      case 'BYE':
        this.#bye(payload)
        break
      default: // A frame that only clients send, or a type of a newer daemon for which we did not ask.
        break
    }
  }

  /**
   * Ends the link because the connection is gone, or because what came over it was not our protocol. Calls in flight reject; they may be sent again over
   * another link.
   */
  lost(why: string): void {
    this.#finish({ how: 'lost' }, new ConnectionError(why))
    void this.#outlet.close()
  }

  /**
   * Ends the link with a refusal, from the daemon or from this client. Calls in flight reject: with the refusal's own error if another try cannot help, else
   * with a ConnectionError, so that they are sent again.
   */
  refuse(given: Refusal): void {
    this.#finish(
      { how: 'refused', refusal: given },
      given.retry ? new ConnectionError(given.message) : errorFrom(given),
    )
    void this.#outlet.close()
  }

  #ask(type: FrameType, id: string, payload: unknown): Promise<unknown> {
    if (this.#done) return Promise.reject(new ConnectionError('the link is closed'))
    // Two calls in flight with the same id are one command: it is sent once, and both callers get its answer.
    const asked = this.#calls.get(id)
    if (asked) return asked.promise
    const line = lineOf(type, id, payload)
    // The daemon skips a line longer than this without reading its id, so that its answer could not be matched to the call.
    if (!isWithinBytes(line, limits.lineBytesMax)) {
      return Promise.reject(errorFrom(frameRefusal('frame.too-large', { bytesMax: limits.lineBytesMax })))
    }
    const waiting = deferred<unknown>()
    this.#calls.set(id, waiting)
    this.#outlet.write(line)
    return waiting.promise
  }

  #write(type: FrameType, id: string, payload: unknown): void {
    this.#outlet.write(lineOf(type, id, payload))
  }

  #take(id: string): Deferred<unknown> | undefined {
    const waiting = this.#calls.get(id)
    this.#calls.delete(id)
    return waiting
  }

  #refused(id: string, given: Refusal): void {
    const waiting = this.#take(id)
    if (waiting) waiting.reject(errorFrom(given))
    // Id `-`: the daemon could not read one of our frames and does not know whose it is, so no call in flight can rely on an answer.
    else if (id === '-') this.refuse(given)
  }

  #bye(payload: unknown): void {
    const { watch, refusal: given } = fields(payload)
    if (typeof watch === 'string') {
      const sink = this.#watches.get(watch)
      this.#watches.delete(watch)
      sink?.end(toRefusal(given))
    } else if (given === undefined) this.lost('the daemon said goodbye')
    else this.refuse(toRefusal(given))
  }

  #finish(closing: Closing, error: RelayError): void {
    if (this.#done) return
    this.#done = true
    this.#watches.clear()
    const waiting = [...this.#calls.values()]
    this.#calls.clear()
    for (const one of waiting) one.reject(error)
    this.#closing.resolve(closing)
  }
}

function lineOf(type: FrameType, id: string, payload: unknown): string {
  return encodeFrame({ v: 1, type, id, ts: Date.now(), payload })
}

function fields(payload: unknown): Record<string, unknown> {
  return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {}
}

/** Reads a refusal from a frame's payload. Codes that this SDK does not know, of a newer daemon, are kept as they are. */
function toRefusal(payload: unknown): Refusal {
  const { code, message, retry, details } = fields(payload)
  const given: RefusalLike = {
    code: typeof code === 'string' ? code : 'fault',
    message: typeof message === 'string' ? message : 'The daemon gave no reason.',
    retry: retry === true,
    details: fields(details),
  }
  return given as Refusal
}
