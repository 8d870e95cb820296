// The daemon's side of the protocol over anything that carries lines: a client first introduces itself (HELLO), then sends calls and watches, which are
// answered as they finish.

import type { Socket } from 'node:net'
import {
  type Call,
  type Envelope,
  encodeFrame,
  FrameError,
  FrameParser,
  type Hello,
  isOperation,
  limits,
  operations,
  type Refusal,
  type RefusalCode,
  type RefusalDetails,
  refusal,
} from '@agent-relay/sdk/protocol'
import { checkHello } from '../broker/admission.ts'
import type { SessionService, Watch, WatchItemSink } from '../broker/call.ts'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'
import { callInFrame, isPagedCall, mayTakeLong } from './calls.ts'
import {
  currentWording,
  FlatMail,
  type FrameWriter,
  firstCallOf,
  firstWording,
  isFirstFrame,
  takesFlatMail,
} from './first-protocol.ts'

/** Handles the requests of a connection: a workspace's dispatch, or the daemon's own control. */
export interface ConnectionHandler {
  hello(hello: Hello): Promise<SessionService>
  /** Takes over a socket whose HELLO frame says that MCP lines follow. */
  servePipe?(socket: Socket, hello: unknown, early: Uint8Array): Promise<{ readonly pending: number; close(): void }>
}

/** Carries the connection's lines to the client. */
export interface LineCarrier {
  write(line: string, flushed?: () => void): void
  /** Whether more may be sent; false while the client has too much left to read. */
  isReady(): boolean
  /** Sends everything that waits to be sent, then ends the connection. */
  end(): void
}

/** The source of the client's bytes. Paused while the client does not read its answers. */
export interface PausableSource {
  pause(): void
  resume(): void
}

/** Number of invalid frames after which a connection is closed. */
const badFramesMax = 100
/** Maximum number of calls of one connection that may be under way at once; more calls wait unread in its socket. */
const callsMax = 1_024
/** Maximum number of calls under way at once whose answer may be a whole page of half a megabyte. */
const pageCallsMax = 8
/**
 * Maximum number of watches on one connection. Each watch is woken by every journal entry, so thousands on one connection would slow every other session down.
 */
const watchesMax = 64

/** A call that its client can cancel by the call's id. */
interface Abandonable {
  id: string
  abort: AbortController
}

export class Connection {
  readonly #handler: ConnectionHandler
  readonly #carrier: LineCarrier
  readonly #source: PausableSource
  readonly #parser = new FrameParser(limits.lineBytesMax, limits.jsonDepthMax)
  readonly #watches = new Map<string, Watch>()
  /** Calls that may take long and can be cancelled. A set and not a map by id, since a hostile client may give many calls the same id. */
  readonly #waiting = new Set<Abandonable>()
  readonly #writer: FrameWriter = {
    isReady: () => !this.#isOver && this.#carrier.isReady(),
    write: (...frame) => this.#write(...frame),
  }
  #service: SessionService | undefined
  /** The client's HELLO that was answered, as JSON text. */
  #hello = ''
  /** The messages of a client of the protocol's first version, which is sent messages without asking for them. */
  #mail: FlatMail | undefined
  #isGreeting = false
  #isOver = false
  #isPaused = false
  #isReading = false
  #badFrames = 0
  /** Number of calls under way; nothing more is read while there are too many. */
  pending = 0
  #pages = 0

  constructor(handler: ConnectionHandler, carrier: LineCarrier, source: PausableSource) {
    this.#handler = handler
    this.#carrier = carrier
    this.#source = source
  }

  get hasGreeted(): boolean {
    return this.#service !== undefined
  }

  /** Takes bytes from the client. Frames are read only as fast as the client reads their answers. */
  push(chunk: Uint8Array): void {
    if (this.#isOver) return
    this.#parser.push(chunk)
    this.#read()
  }

  receive(frame: Envelope): void {
    if (this.#isOver) return
    if (frame.type === 'PING') return this.#write('PONG', frame.id, {})
    if (frame.type === 'HELLO') return void this.#greet(frame)
    if (!this.#service) return this.close('frame.invalid', { why: 'HELLO comes first' })
    if (frame.type === 'BYE') return this.#bye(frame.payload)
    if (isFirstFrame(frame)) {
      this.#mail?.markRead()
      return void this.#call(this.#service, frame.id, firstCallOf(frame), firstWording(frame, this.#mail))
    }
    if (frame.type !== 'CALL')
      return this.#refuse(frame.id, refusal('frame.invalid', { why: `${frame.type} is not for a client to send` }))
    const call = callInFrame(frame)
    // A client that asks for its inbox with an operation of the current protocol gets no more DELIVER frames: so no message comes twice, and messages sent to
    // it can be taken again.
    if (call.op.startsWith('inbox.')) this.#endMail()
    if (isOperation(call.op) && operations[call.op].kind === 'watch') {
      this.#watch(this.#service, frame.id, call)
    } else void this.#call(this.#service, frame.id, call)
  }

  /** Handles a line that is not a valid frame. The connection goes on, unless such lines keep coming. */
  #receiveBad(error: FrameError): void {
    this.#refuse('-', refusal(error.code, { why: error.message, bytesMax: error.bytesMax }))
    if (++this.#badFrames >= badFramesMax) this.close('frame.invalid', { why: 'too many bad frames' })
  }

  /** Goes on with frames, watches and messages after the client has read what waited for it. */
  drained(): void {
    this.#continueReading()
    for (const watch of this.#watches.values()) watch.drained()
    this.#mail?.drained()
  }

  /** Ends the connection with a reason. */
  close(code: RefusalCode, details?: RefusalDetails): void {
    if (this.#isOver) return
    this.#write('BYE', '-', { refusal: refusal(code, details) })
    this.#carrier.end()
    this.cleanUp()
  }

  /** Cleans up after the client has gone, when nothing more can be sent. */
  cleanUp(): void {
    this.#isOver = true
    for (const watch of this.#watches.values()) watch.stop()
    this.#watches.clear()
    this.#endMail()
    for (const { abort } of this.#waiting) abort.abort()
    this.#service?.leave()
    this.#service = undefined
  }

  async #greet(frame: Envelope): Promise<void> {
    const hello = JSON.stringify(frame.payload)
    // A client that was told twice to connect sends the same HELLO twice, and gets the same WELCOME.
    if (this.#service && hello === this.#hello) return this.#write('WELCOME', frame.id, this.#service.welcome)
    if (this.#service || this.#isGreeting) return this.close('frame.invalid', { why: 'HELLO comes once' })
    this.#isGreeting = true
    this.#hello = hello
    try {
      const service = await this.#handler.hello(checkHello(frame.payload))
      if (this.#isOver) return service.leave()
      this.#service = service
      service.ended?.addEventListener('abort', () => this.#closeWithReason(service.ended?.reason))
      this.#write('WELCOME', frame.id, service.welcome)
      if (takesFlatMail(frame.payload)) this.#mail = FlatMail.start(service, this.#writer)
    } catch (error) {
      if (this.#isOver) return
      this.#refuse(frame.id, toRefusal(error))
      this.#carrier.end()
      this.cleanUp()
    } finally {
      this.#isGreeting = false
      this.#continueReading()
    }
  }

  #endMail(): void {
    this.#mail?.stop()
    this.#mail = undefined
  }

  #closeWithReason(reason: unknown): void {
    if (reason instanceof RefusalError) this.close(reason.refusal.code, reason.refusal.details)
  }

  async #call(service: SessionService, id: string, { op, input }: Call, wording = currentWording): Promise<void> {
    const pages = isPagedCall(op) ? 1 : 0
    this.#pages += pages
    this.#count(1)
    const waiting = mayTakeLong(op, input) ? { id, abort: new AbortController() } : undefined
    if (waiting) this.#waiting.add(waiting)
    try {
      const { output, handedMessages } = await service.call(op, input, id, waiting?.abort.signal)
      if (!this.#isOver)
        this.#write('ACK', id, wording.done(output), handedMessages && (() => service.markReceived?.(handedMessages)))
    } catch (error) {
      if (!this.#isOver) this.#refuse(id, toRefusal(error), wording)
    }
    if (waiting) this.#waiting.delete(waiting)
    this.#pages -= pages
    this.#count(-1)
  }

  #watch(service: SessionService, id: string, { op, input }: Call): void {
    if (this.#watches.has(id))
      return this.#refuse(id, refusal('frame.invalid', { why: 'this id is being watched already' }))
    if (this.#watches.size >= watchesMax)
      return this.#refuse(
        id,
        refusal('input.invalid', {
          operation: op,
          why: `this connection has ${watchesMax} watches already, the maximum`,
        }),
      )
    const type = op === 'inbox.follow' ? 'DELIVER' : 'EVENT'
    const sink: WatchItemSink = {
      isReady: this.#writer.isReady,
      item: (item) => this.#write(type, id, { watch: id, item }),
      end: (refused) => {
        this.#watches.delete(id)
        this.#write('BYE', id, { watch: id, refusal: refused })
      },
    }
    try {
      const watch = service.watch(op, input, sink)
      this.#watches.set(id, watch)
      this.#write('ACK', id, { seq: watch.seq })
    } catch (error) {
      this.#refuse(id, toRefusal(error))
    }
  }

  #bye(payload: unknown): void {
    const watched = (payload as { watch?: unknown } | null)?.watch
    if (typeof watched === 'string') {
      this.#watches.get(watched)?.stop()
      this.#watches.delete(watched)
      for (const { id, abort } of this.#waiting) if (id === watched) abort.abort()
      return
    }
    this.#carrier.end()
    this.cleanUp()
  }

  #count(change: 1 | -1): void {
    this.pending += change
    this.#continueReading()
  }

  #continueReading(): void {
    if (this.#isPaused && !this.#isReading) this.#read()
  }

  /** Reads frames. Reading may stop in the middle of a chunk: a chunk holds hundreds of calls, and each may be answered with a megabyte. */
  #read(): void {
    this.#isReading = true
    let isDone = false
    while (!isDone && this.#mayRead()) isDone = !this.#next()
    this.#isReading = false
    // Once the connection has ended, its source is not paused: the remaining bytes are read and dropped, so that the end of the client's stream is noticed.
    if (this.#isOver || isDone === !this.#isPaused) return
    this.#isPaused = !isDone
    if (isDone) this.#source.resume()
    else this.#source.pause()
  }

  /** Whether another frame may be read. Frames that a client sends before its HELLO is answered wait until then. */
  #mayRead(): boolean {
    const hasRoom = this.pending < callsMax && this.#pages < pageCallsMax
    return hasRoom && !this.#isGreeting && this.#carrier.isReady()
  }

  #next(): boolean {
    let frame: Envelope | undefined
    try {
      frame = this.#parser.read()
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#receiveBad(error)
      return true
    }
    if (frame) this.receive(frame)
    return frame !== undefined
  }

  #refuse(id: string, refused: Refusal, wording = currentWording): void {
    const { type, payload } = wording.refused(refused)
    this.#write(type, id, payload)
  }

  #write(type: Envelope['type'], id: string, payload: unknown, flushed?: () => void): void {
    if (!this.#isOver) this.#carrier.write(encodeFrame({ v: 1, type, id, ts: Date.now(), payload }), flushed)
  }
}
