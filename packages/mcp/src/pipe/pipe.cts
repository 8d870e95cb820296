// The pipe itself: whole lines from the host to the daemon and back, across restarts of the daemon. It decides nothing about the relay.

import type { Duplex, Readable, Writable } from 'node:stream'
import { answerAway, type Place } from './away.cts'
import { type Call, Calls, nowMs } from './calls.cts'
import type { Identity } from './hello.cts'
import { Lines } from './lines.cts'
import type { Heard } from './opening.cts'
import { Questions } from './questions.cts'
import { errorLine, idAtEdge, lineOf, parse, type Rpc, type RpcId } from './rpc.cts'
import { initializedLine, Session } from './session.cts'

/** A way to a daemon: a Unix socket, or anything else that carries bytes both ways. */
export type Open = (opened: (stream: Duplex) => void, failed: (error: Error) => void) => void

export interface PipeOptions {
  open: Open
  input: Readable
  output: Writable
  identity: Identity
  place: Omit<Place, 'agentName'>
  /** One line for people, on stderr. */
  say(text: string): void
  /** The first daemon does not take us in. */
  fail(error: Error): void
}

/** What the daemon takes as one line, too. */
const hostLineBytesMax = 12 * 1024 * 1024
const daemonLineBytesMax = 64 * 1024 * 1024
const retryMs = { first: 25, last: 500, refused: 5_000 }
/** A host that closes our input may still want the answers to what it has asked. */
const farewellMs = 1_000
/** A line of the relay's own protocol, meant for the pipe. MCP lines never begin so. */
const envelopeStart = Buffer.from('{"v":1,')
const invalidRequest = -32_600
const notJson = errorLine(null, -32_700, 'Parse error: a line is one JSON-RPC message')

export class Pipe {
  readonly #options: PipeOptions
  readonly #session: Session
  readonly #calls = new Calls()
  readonly #questions = new Questions()
  readonly #fromHost: Lines
  readonly #fromDaemon: Lines
  #stream: Duplex | undefined
  #batch: Buffer[] | undefined
  /** What is heard has been passed on already. */
  #isSilent = false
  /** The daemon serves us: requests go to it as they come. */
  #isOpen = false
  #hasStarted = false
  #isEnding = false
  #attempts = 0
  #refused: string | undefined
  #alarm: NodeJS.Timeout | undefined

  constructor(options: PipeOptions) {
    this.#options = options
    this.#session = new Session(options.identity)
    this.#fromHost = new Lines(hostLineBytesMax, {
      line: (line) => this.#hostLine(line),
      tooLong: (head, tail) => this.#hostLineTooLong(head, tail),
    })
    this.#fromDaemon = new Lines(daemonLineBytesMax, {
      line: (line) => this.#daemonLine(line),
      tooLong: (head, tail) => this.#daemonLineTooLong(head, tail),
    })
  }

  /** HELLO has been sent, and what was `heard` has been passed on, so it is only noted here; `last` has not. */
  start(stream: Duplex, heard: Heard[], last?: Heard): void {
    const { input, output } = this.#options
    const hear = ({ from, chunk }: Heard) => (from === 'host' ? this.#fromHost : this.#fromDaemon).push(chunk)
    this.#stream = stream
    this.#isOpen = true
    this.#isSilent = true
    heard.forEach(hear)
    this.#isSilent = false
    if (last) hear(last)
    this.#follow(stream)
    input.on('data', (chunk: Buffer) => this.#together(() => this.#fromHost.push(chunk)))
    output.on('drain', () => this.#stream?.resume())
    if (stream.writableNeedDrain) input.pause()
    if (output.writableNeedDrain) stream.pause()
    if (stream.destroyed) this.#gone(stream)
  }

  /** Waits a moment for the answers that are still owed. */
  end(ended: () => void): void {
    this.#isEnding = true
    const started = nowMs()
    const isOwed = () => (this.#calls.size > 0 && this.#stream) || this.#options.output.writableLength > 0
    const look = () => {
      if (isOwed() && nowMs() - started < farewellMs) return setTimeout(look, 10)
      this.#stream?.end()
      ended()
    }
    look()
  }

  // ── the connection ──

  #follow(stream: Duplex): void {
    stream.on('data', (chunk: Buffer) => this.#fromDaemon.push(chunk))
    stream.on('drain', () => this.#options.input.resume())
    stream.on('error', () => {})
    stream.on('close', () => this.#gone(stream))
  }

  #gone(stream: Duplex): void {
    if (this.#stream !== stream) return
    this.#stream = undefined
    this.#isOpen = false
    this.#fromDaemon.reset()
    // Else a host that had to wait for the dead socket to drain would wait for ever.
    this.#options.input.resume()
    this.#host(this.#questions.withdraw())
    if (this.#isEnding) return
    this.#calls.startClocks()
    this.#watchClocks()
    this.#tryAgain()
  }

  #tryAgain(): void {
    if (this.#isEnding) return
    const { first, last, refused } = retryMs
    const ms = this.#refused === undefined ? Math.min(first * 2 ** this.#attempts++, last) : refused
    const failed = () => {
      this.#refused = undefined
      this.#tryAgain()
    }
    setTimeout(() => this.#options.open((stream) => this.#meet(stream), failed), ms)
  }

  /** A new daemon: it is told where we are, and gets requests when it has shown that it serves us. */
  #meet(stream: Duplex): void {
    if (this.#isEnding) return void stream.destroy()
    this.#stream = stream
    this.#toDaemon(this.#session.hello(this.#calls.unanswered()) + this.#session.replay())
    this.#follow(stream)
  }

  #served(): void {
    this.#isOpen = true
    this.#attempts = 0
    this.#refused = undefined
    clearTimeout(this.#alarm)
    for (const call of this.#calls.all()) {
      if (call.line) this.#send(call)
      else this.#answer(call)
    }
    // A host that did not wait for the answer to its `initialize`: that has only been sent again now.
    if (this.#session.isInitialized && !this.#session.isBegun) this.#toDaemon(initializedLine)
    if (this.#session.isInitialized) this.#host(lineOf({ method: 'notifications/tools/list_changed' }))
  }

  // ── from the host ──

  #hostLine(line: Buffer): void {
    const message = parse(line)
    // The daemon says what is wrong with it.
    if (!message) return this.#isOpen ? this.#toDaemon(line) : this.#host(notJson)
    const { id, method } = message
    if (method === undefined) return this.#toDaemon(this.#questions.answered(message))
    if (id === undefined || id === null) return this.#notified(message, line)
    if (method === 'initialize' && this.#session.isBegun) this.#beginAnew()
    const call = this.#calls.add(id, message, line)
    if (this.#isOpen) return this.#send(call, line)
    // The host asks whether we live, and we do; what cannot be kept, or will be refused, need not wait.
    if (method === 'ping' || this.#refused !== undefined || !call.line) return this.#answer(call)
    this.#calls.startClocks()
    this.#watchClocks()
  }

  #notified({ method, params }: Rpc, line: Buffer): void {
    if (method === 'notifications/initialized') this.#session.isInitialized = true
    if (method === 'notifications/cancelled') this.#calls.bury(params?.requestId as RpcId)
    if (this.#isOpen) this.#toDaemon(line)
  }

  #hostLineTooLong(head: string, tail: string): void {
    const id = /"method"\s*:/.test(head) ? idAtEdge(head, tail) : undefined
    const text = `A line may have at most ${hostLineBytesMax} bytes`
    if (id === undefined) this.#options.say(`${text}: one from the host was dropped.`)
    else this.#host(errorLine(id, invalidRequest, text))
  }

  #beginAnew(): void {
    this.#session.renew()
    this.#calls.forget()
    const stream = this.#stream
    stream?.destroy()
    if (stream) this.#gone(stream)
  }

  // ── from the daemon ──

  #daemonLine(line: Buffer): void {
    if (line.subarray(0, envelopeStart.length).equals(envelopeStart)) return this.#envelope(JSON.parse(line.toString()))
    this.#hasStarted = true
    const message = parse(line)
    if (!message) return
    const { id, method } = message
    if (method === undefined) return this.#answered(message, line)
    if (id !== undefined) return this.#host(this.#questions.asked(message))
    if (method === 'notifications/relay/event') this.#session.told(message.params?.seq)
    this.#host(method === 'notifications/cancelled' ? this.#questions.cancelled(message) : line)
  }

  #answered({ id, result }: Rpc, line: Buffer): void {
    if (this.#session.isGate(id)) this.#served()
    if (this.#session.isOwn(id) || this.#calls.isDead(id as RpcId)) return
    const call = this.#calls.take(id as RpcId)
    if (call && result !== undefined) this.#session.granted(call, result)
    this.#host(line)
  }

  #envelope({ type, payload = {} }: { type?: string; payload?: Envelope }): void {
    if (type === 'WELCOME') {
      this.#hasStarted = true
      this.#session.welcome(payload)
    } else if (type === 'ERROR') {
      const { message = 'The relay daemon refused this session.', retry = false } = payload
      if (!this.#hasStarted) return this.#options.fail(new Error(message))
      this.#refused = retry ? undefined : message
      if (!retry) for (const call of this.#calls.all()) this.#answer(call)
      // It closes now, and #gone does the rest.
    }
  }

  #daemonLineTooLong(head: string, tail: string): void {
    const id = idAtEdge(head, tail)
    const text = `The relay's answer had more than ${daemonLineBytesMax} bytes`
    if (id === undefined || !this.#calls.take(id)) this.#options.say(`${text} and was dropped.`)
    else this.#host(errorLine(id, invalidRequest, text))
  }

  // ── writing ──

  #send(call: Call, line: Buffer | undefined = call.line): void {
    call.wasSent = true
    this.#toDaemon(line)
  }

  #toDaemon(line: Buffer | string | undefined): void {
    if (line === undefined || !this.#stream || this.#isSilent) return
    if (this.#batch) this.#batch.push(typeof line === 'string' ? Buffer.from(line) : line)
    else if (!this.#stream.write(line)) this.#options.input.pause()
  }

  /** What came together leaves together: the daemon answers a list that follows a notification before it sets to work on the latter. */
  #together(work: () => void): void {
    this.#batch = []
    work()
    const [first, ...others] = this.#batch
    this.#batch = undefined
    if (first) this.#toDaemon(others.length === 0 ? first : Buffer.concat([first, ...others]))
  }

  #host(line: Buffer | string): void {
    if (line.length === 0 || this.#isSilent) return
    if (!this.#options.output.write(line)) this.#stream?.pause()
  }

  /** Without the daemon. What the host was told about a call stays true: it is not sent later. */
  #answer(call: Call): void {
    this.#calls.bury(call.id)
    const place = { ...this.#options.place, agentName: this.#session.agentName }
    this.#host(answerAway(call, place, this.#refused))
  }

  #watchClocks(): void {
    clearTimeout(this.#alarm)
    const { late, nextMs } = this.#calls.due()
    for (const call of late) this.#answer(call)
    if (nextMs !== undefined) this.#alarm = setTimeout(() => this.#watchClocks(), nextMs + 1)
  }
}

interface Envelope {
  agent?: string
  token?: string
  message?: string
  retry?: boolean
}
