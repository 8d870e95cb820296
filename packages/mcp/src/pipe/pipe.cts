// The pipe: it carries whole lines from the host to the daemon and back, across restarts of the daemon. It decides nothing about the relay.

import type { Duplex, Readable, Writable } from 'node:stream'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import * as away from './away.cts'
import { type Call, Calls, nowMs } from './calls.cts'
import { HostSession, initializedLine } from './host-session.cts'
import { Lines } from './lines.cts'
import { type Heard, type Identity, isFrame } from './opening.cts'
import { Questions } from './questions.cts'
import { type Envelope, errorLine, idAtEdge, lineOf, parse, type Rpc, type RpcId } from './rpc.cts'

/** A way to a daemon: a Unix socket, or anything else that carries bytes both ways. `wasServed`: the daemon that it led to last has served the pipe. */
export type Open = (opened: (stream: Duplex) => void, failed: Failed, wasServed?: boolean) => void
type Failed = (error: Error, refusal?: away.SaidRefusal) => void

export interface PipeOptions {
  open: Open
  input: Readable
  output: Writable
  identity: Identity
  target: Omit<away.PipeTarget, 'agentName'>
  /** One line for people, on stderr. */
  say(text: string): void
  /** Called when the first daemon refuses the pipe. */
  fail(error: Error): void
}

const daemonLineBytesMax = 64 * 1024 * 1024
const retryMs = { first: 25, last: 500, rare: 5_000 }
const invalidRequest = -32_600
const notJson = errorLine(null, -32_700, 'Parse error: a line is one JSON-RPC message')

export class Pipe {
  readonly #options: PipeOptions
  readonly #session: HostSession
  readonly #calls = new Calls()
  readonly #questions = new Questions()
  readonly #fromHost: Lines
  readonly #fromDaemon: Lines
  #stream: Duplex | undefined
  #batch: Buffer[] | undefined
  /** The lines that are being read have already been passed on. */
  #isSilent = false
  /** The daemon serves the pipe: requests go to it as they come. */
  #isOpen = false
  #hasStarted = false
  /** No daemon has been there since the host started the pipe. */
  #isStandingBy = false
  #isEnding = false
  #attempts = 0
  #unserved: away.Unserved = {}
  #alarm: NodeJS.Timeout | undefined

  constructor(options: PipeOptions) {
    this.#options = options
    this.#session = new HostSession(options.identity)
    this.#fromHost = new Lines(pipeLimits.lineBytesMax, {
      line: (line) => this.#hostLine(line),
      tooLong: (head, tail) => this.#hostLineTooLong(head, tail),
    })
    this.#fromDaemon = new Lines(daemonLineBytesMax, {
      line: (line) => this.#daemonLine(line),
      tooLong: (head, tail) => this.#daemonLineTooLong(head, tail),
    })
  }

  /** Starts the pipe after HELLO has been sent. The chunks of `heard` were passed on already and are only noted here; `last` was not. */
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
    this.#listen()
    if (stream.writableNeedDrain) input.pause()
    if (output.writableNeedDrain) stream.pause()
    if (stream.destroyed) this.#gone(stream)
  }

  /** Offers the host one tool, which says `why`, until there is a daemon. `begun`: the host's `initialize`, if that was answered already. */
  standBy(early: Buffer, begun?: string, why?: away.SaidRefusal): void {
    this.#isStandingBy = true
    this.#unserved.refused = why
    this.#session.hasTools = false
    if (begun !== undefined) this.#session.begin(begun)
    this.#listen()
    this.#fromHost.push(early)
    this.#tryAgain()
  }

  #listen(): void {
    const { input, output } = this.#options
    input.on('data', (chunk: Buffer) => this.#together(() => this.#fromHost.push(chunk)))
    output.on('drain', () => this.#stream?.resume())
  }

  /** Ends the pipe after the open answers: a host that closes the pipe's input may still want them. */
  end(ended: () => void): void {
    this.#isEnding = true
    const started = nowMs()
    const isOwed = () => (this.#calls.size > 0 && this.#stream) || this.#options.output.writableLength > 0
    const look = () => {
      if (isOwed() && nowMs() - started < waitLimitMs('owed')) return setTimeout(look, 10)
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
    // The daemon's socket is dead: a host that was paused until it drains would wait forever.
    this.#options.input.resume()
    this.#host(this.#questions.withdraw())
    if (this.#isEnding) return
    this.#calls.startClocks()
    this.#watchClocks()
    this.#tryAgain()
  }

  #tryAgain(): void {
    if (this.#isEnding) return
    const { first, last, rare } = retryMs
    const isRare = this.#unserved.refused !== undefined || (this.#isStandingBy && this.#attempts > 0)
    const ms = isRare ? rare : Math.min(first * 2 ** this.#attempts++, last)
    const failed: Failed = (_, refusal) => {
      this.#unserved.refused = refusal
      this.#tryAgain()
    }
    setTimeout(() => this.#options.open((stream) => this.#meet(stream), failed, !this.#isStandingBy), ms)
  }

  /** Tells a new daemon the session's state. The daemon gets requests once it has shown that it serves the pipe. */
  #meet(stream: Duplex): void {
    if (this.#isEnding) return void stream.destroy()
    this.#stream = stream
    this.#toDaemon(this.#session.hello(this.#calls.unanswered()) + this.#session.replay())
    this.#follow(stream)
  }

  #served(): void {
    this.#isOpen = true
    this.#isStandingBy = false
    this.#attempts = 0
    this.#unserved = {}
    clearTimeout(this.#alarm)
    for (const call of this.#calls.all()) {
      if (call.line) this.#send(call)
      else this.#answer(call)
    }
    // Answers a host that did not wait for the answer to its `initialize`, which was only now sent again.
    if (this.#session.isInitialized && !this.#session.isBegun) this.#toDaemon(initializedLine)
    if (this.#session.isInitialized) this.#host(lineOf({ method: 'notifications/tools/list_changed' }))
  }

  // ── from the host ──

  #hostLine(line: Buffer): void {
    const message = parse(line)
    // The daemon answers with the line's fault.
    if (!message) return this.#isOpen ? this.#toDaemon(line) : this.#host(notJson)
    const { id, method } = message
    if (method === undefined) return this.#toDaemon(this.#questions.answered(message))
    if (id === undefined || id === null) return this.#notified(message, line)
    if (method === 'initialize' && this.#session.isBegun) this.#startAgain()
    const call = this.#calls.add(id, message, line)
    if (this.#isOpen) return this.#send(call, line)
    // The pipe itself is alive and answers a ping. A request need not wait if it cannot be kept or will be refused.
    const isVain = this.#isStandingBy || this.#unserved.refused !== undefined
    if (method === 'ping' || isVain || !call.line) return this.#answer(call)
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
    const text = `A line may have at most ${pipeLimits.lineBytesMax} bytes`
    if (id === undefined) this.#options.say(`${text}: one from the host was dropped.`)
    else this.#host(errorLine(id, invalidRequest, text))
  }

  #startAgain(): void {
    this.#session.renew()
    this.#calls.forget()
    const stream = this.#stream
    stream?.destroy()
    if (stream) this.#gone(stream)
  }

  // ── from the daemon ──

  #daemonLine(line: Buffer): void {
    if (isFrame(line)) return this.#envelope(JSON.parse(line.toString()))
    this.#hasStarted = true
    const message = parse(line)
    if (!message) return
    const { id, method } = message
    if (method === undefined) return this.#answered(message, line)
    if (id !== undefined) return this.#host(this.#questions.asked(message))
    if (method === 'notifications/relay/event') this.#session.told(message.params?.seq)
    this.#host(method === 'notifications/cancelled' ? this.#questions.cancelled(message) : line)
  }

  #answered(message: Rpc, line: Buffer): void {
    const { id } = message
    if (this.#session.isGate(id)) this.#served()
    if (this.#session.isOwn(id) || this.#calls.isDead(id as RpcId)) return
    this.#host(this.#session.answered(this.#calls.take(id as RpcId), message, line))
  }

  #envelope({ type, payload = {} }: Envelope): void {
    if (type === 'WELCOME') {
      this.#hasStarted = true
      this.#session.welcome(payload)
    } else if (type === 'ERROR') {
      const { code, message = 'The relay daemon refused this session.', retry = false } = payload
      if (!this.#hasStarted && !this.#isStandingBy) return this.#options.fail(new Error(message))
      this.#unserved = retry ? {} : away.unservedBy(code, message)
      if (!retry) for (const call of this.#calls.all()) this.#answer(call)
      // After this refusal the daemon closes the connection, and #gone connects again.
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

  /** Writes the lines that came together at once, so that the daemon answers a list before it works on the notification in front of it. */
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

  /** Answers without the daemon. The answer stays true: the call is not sent later. */
  #answer(call: Call): void {
    const answer = this.#isStandingBy ? away.answerStandingBy : away.answerAway
    if (this.#isStandingBy && call.method === 'initialize') this.#session.granted(call, {})
    this.#calls.bury(call.id)
    const target = { ...this.#options.target, agentName: this.#session.agentName }
    this.#host(answer(call, target, this.#unserved.refused ?? this.#unserved.closed))
  }

  #watchClocks(): void {
    clearTimeout(this.#alarm)
    const { late, nextMs } = this.#calls.due()
    for (const call of late) this.#answer(call)
    if (nextMs !== undefined) this.#alarm = setTimeout(() => this.#watchClocks(), nextMs + 1)
  }
}
