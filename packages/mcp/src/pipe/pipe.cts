// The pipe: it carries whole lines from the host to the daemon and back, across restarts of the daemon. It decides nothing about the relay.

import type { Duplex, Readable, Writable } from 'node:stream'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import * as away from './away.cts'
import { nowMs, type OpenCall, OpenCalls } from './calls.cts'
import { HostSession, initializedLine } from './host-session.cts'
import { LineSplitter } from './lines.cts'
import { type CarriedChunk, isRelayFrame, type PipeIdentity } from './opening.cts'
import { DaemonQuestions } from './questions.cts'
import {
  idOfTruncatedLine,
  parseMessage,
  type RelayFrame,
  type RpcId,
  type RpcMessage,
  rpcErrorLine,
  rpcLine,
} from './rpc.cts'

/** Connects to a daemon, over a Unix socket or anything else that carries bytes both ways. `wasServed`: whether a daemon has served the pipe before. */
export type OpenConnection = (opened: (stream: Duplex) => void, failed: ConnectFailed, wasServed?: boolean) => void
type ConnectFailed = (error: Error, refusal?: away.DaemonRefusal) => void

export interface PipeOptions {
  open: OpenConnection
  input: Readable
  output: Writable
  identity: PipeIdentity
  target: Omit<away.PipeTarget, 'agentName'>
  /** Prints a line for people to stderr. */
  say(text: string): void
  /** Called when the first daemon refuses the pipe. */
  fail(error: Error): void
}

const daemonLineBytesMax = 64 * 1024 * 1024
const retryMs = { first: 25, last: 500, rare: 5_000 }
const invalidRequest = -32_600
const notJson = rpcErrorLine(null, -32_700, 'Parse error: a line is one JSON-RPC message')

export class Pipe {
  readonly #options: PipeOptions
  readonly #session: HostSession
  readonly #calls = new OpenCalls()
  readonly #questions = new DaemonQuestions()
  readonly #fromHost: LineSplitter
  readonly #fromDaemon: LineSplitter
  #stream: Duplex | undefined
  #batch: Buffer[] | undefined
  /** Set while lines are read that were passed on before: they only update the pipe's state. */
  #isSilent = false
  /** The daemon serves the pipe: requests go to it as they come. */
  #isOpen = false
  #hasStarted = false
  /** Whether no daemon has served the pipe since the host started it. */
  #isStandingBy = false
  #isEnding = false
  #attempts = 0
  #unserved: away.UnservedReason = {}
  #alarm: NodeJS.Timeout | undefined

  constructor(options: PipeOptions) {
    this.#options = options
    this.#session = new HostSession(options.identity)
    this.#fromHost = new LineSplitter(pipeLimits.lineBytesMax, {
      line: (line) => this.#hostLine(line),
      tooLong: (head, tail) => this.#hostLineTooLong(head, tail),
    })
    this.#fromDaemon = new LineSplitter(daemonLineBytesMax, {
      line: (line) => this.#daemonLine(line),
      tooLong: (head, tail) => this.#daemonLineTooLong(head, tail),
    })
  }

  /** Starts the pipe after HELLO has been sent. The chunks of `heard` were passed on already and are only noted here; `last` was not. */
  start(stream: Duplex, heard: CarriedChunk[], last?: CarriedChunk): void {
    const { input, output } = this.#options
    const hear = ({ from, chunk }: CarriedChunk) => (from === 'host' ? this.#fromHost : this.#fromDaemon).push(chunk)
    this.#stream = stream
    this.#isOpen = true
    this.#isSilent = true
    heard.forEach(hear)
    this.#isSilent = false
    if (last) hear(last)
    this.#readFrom(stream)
    this.#listen()
    if (stream.writableNeedDrain) input.pause()
    if (output.writableNeedDrain) stream.pause()
    if (stream.destroyed) this.#disconnected(stream)
  }

  /** Offers the host one tool, which says `why`, until there is a daemon. `begun`: the host's `initialize`, if that was answered already. */
  standBy(early: Buffer, begun?: string, why?: away.DaemonRefusal): void {
    this.#isStandingBy = true
    this.#unserved.refused = why
    this.#session.hasTools = false
    if (begun !== undefined) this.#session.begin(begun)
    this.#listen()
    this.#fromHost.push(early)
    this.#reconnect()
  }

  #listen(): void {
    const { input, output } = this.#options
    input.on('data', (chunk: Buffer) => this.#writeTogether(() => this.#fromHost.push(chunk)))
    output.on('drain', () => this.#stream?.resume())
  }

  /** Ends the pipe once the open requests are answered: a host that closes the pipe's input may still want the answers. */
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

  #readFrom(stream: Duplex): void {
    stream.on('data', (chunk: Buffer) => this.#fromDaemon.push(chunk))
    stream.on('drain', () => this.#options.input.resume())
    stream.on('error', () => {})
    stream.on('close', () => this.#disconnected(stream))
  }

  #disconnected(stream: Duplex): void {
    if (this.#stream !== stream) return
    this.#stream = undefined
    this.#isOpen = false
    this.#fromDaemon.reset()
    // The host's input may be paused until the daemon's socket drains. That socket is closed, so the input is resumed here.
    this.#options.input.resume()
    this.#toHost(this.#questions.withdrawAll())
    if (this.#isEnding) return
    this.#calls.startDeadlines()
    this.#watchDeadlines()
    this.#reconnect()
  }

  #reconnect(): void {
    if (this.#isEnding) return
    const { first, last, rare } = retryMs
    const isRare = this.#unserved.refused !== undefined || (this.#isStandingBy && this.#attempts > 0)
    const ms = isRare ? rare : Math.min(first * 2 ** this.#attempts++, last)
    const failed: ConnectFailed = (_, refusal) => {
      this.#unserved.refused = refusal
      this.#reconnect()
    }
    setTimeout(() => this.#options.open((stream) => this.#greet(stream), failed, !this.#isStandingBy), ms)
  }

  /** Tells a new daemon the session's state. The daemon gets requests once it has shown that it serves the pipe. */
  #greet(stream: Duplex): void {
    if (this.#isEnding) return void stream.destroy()
    this.#stream = stream
    this.#toDaemon(this.#session.helloFor(this.#calls.unansweredIds()) + this.#session.replayLines())
    this.#readFrom(stream)
  }

  #startServing(): void {
    this.#isOpen = true
    this.#isStandingBy = false
    this.#attempts = 0
    this.#unserved = {}
    clearTimeout(this.#alarm)
    for (const call of this.#calls.all()) {
      if (call.line) this.#send(call)
      else this.#answerWithoutDaemon(call)
    }
    // If the host sent `notifications/initialized` without waiting for the answer to `initialize`, the daemon gets both again here.
    if (this.#session.isInitialized && !this.#session.hasBegun) this.#toDaemon(initializedLine)
    if (this.#session.isInitialized) this.#toHost(rpcLine({ method: 'notifications/tools/list_changed' }))
  }

  // ── from the host ──

  #hostLine(line: Buffer): void {
    const message = parseMessage(line)
    // Passes an invalid line to the daemon, whose answer says what is wrong with it.
    if (!message) return this.#isOpen ? this.#toDaemon(line) : this.#toHost(notJson)
    const { id, method } = message
    if (method === undefined) return this.#toDaemon(this.#questions.lineForDaemon(message))
    if (id === undefined || id === null) return this.#hostNotified(message, line)
    if (method === 'initialize' && this.#session.hasBegun) this.#hostStartsAgain()
    const call = this.#calls.add(id, message, line)
    if (this.#isOpen) return this.#send(call, line)
    // The pipe itself answers a ping, since it is alive, and a request that cannot be kept or will be refused anyway.
    const isVain = this.#isStandingBy || this.#unserved.refused !== undefined
    if (method === 'ping' || isVain || !call.line) return this.#answerWithoutDaemon(call)
    this.#calls.startDeadlines()
    this.#watchDeadlines()
  }

  #hostNotified({ method, params }: RpcMessage, line: Buffer): void {
    if (method === 'notifications/initialized') this.#session.isInitialized = true
    if (method === 'notifications/cancelled') this.#calls.abandon(params?.requestId as RpcId)
    if (this.#isOpen) this.#toDaemon(line)
  }

  #hostLineTooLong(head: string, tail: string): void {
    const id = /"method"\s*:/.test(head) ? idOfTruncatedLine(head, tail) : undefined
    const text = `A line may have at most ${pipeLimits.lineBytesMax} bytes`
    if (id === undefined) this.#options.say(`${text}: one from the host was dropped.`)
    else this.#toHost(rpcErrorLine(id, invalidRequest, text))
  }

  #hostStartsAgain(): void {
    this.#session.startOver()
    this.#calls.clear()
    const stream = this.#stream
    stream?.destroy()
    if (stream) this.#disconnected(stream)
  }

  // ── from the daemon ──

  #daemonLine(line: Buffer): void {
    if (isRelayFrame(line)) return this.#envelope(JSON.parse(line.toString()))
    this.#hasStarted = true
    const message = parseMessage(line)
    if (!message) return
    const { id, method } = message
    if (method === undefined) return this.#daemonAnswered(message, line)
    if (id !== undefined) return this.#toHost(this.#questions.lineForHost(message))
    if (method === 'notifications/relay/event') this.#session.noteEventSent(message.params?.seq)
    this.#toHost(method === 'notifications/cancelled' ? this.#questions.cancellingLine(message) : line)
  }

  #daemonAnswered(message: RpcMessage, line: Buffer): void {
    const { id } = message
    if (this.#session.isGateId(id)) this.#startServing()
    if (this.#session.isOwnId(id) || this.#calls.isAbandoned(id as RpcId)) return
    this.#toHost(this.#session.takeAnswer(this.#calls.remove(id as RpcId), message, line))
  }

  #envelope({ type, payload = {} }: RelayFrame): void {
    if (type === 'WELCOME') {
      this.#hasStarted = true
      this.#session.noteWelcome(payload)
    } else if (type === 'ERROR') {
      const { code, message = 'The relay daemon refused this session.', retry = false } = payload
      if (!this.#hasStarted && !this.#isStandingBy) return this.#options.fail(new Error(message))
      this.#unserved = retry ? {} : away.unservedReason(code, message)
      if (!retry) for (const call of this.#calls.all()) this.#answerWithoutDaemon(call)
      // After this refusal the daemon closes the connection, and `#disconnected` connects again.
    }
  }

  #daemonLineTooLong(head: string, tail: string): void {
    const id = idOfTruncatedLine(head, tail)
    const text = `The relay's answer had more than ${daemonLineBytesMax} bytes`
    if (id === undefined || !this.#calls.remove(id)) this.#options.say(`${text} and was dropped.`)
    else this.#toHost(rpcErrorLine(id, invalidRequest, text))
  }

  // ── writing ──

  #send(call: OpenCall, line: Buffer | undefined = call.line): void {
    call.wasSent = true
    this.#toDaemon(line)
  }

  #toDaemon(line: Buffer | string | undefined): void {
    if (line === undefined || !this.#stream || this.#isSilent) return
    if (this.#batch) this.#batch.push(typeof line === 'string' ? Buffer.from(line) : line)
    else if (!this.#stream.write(line)) this.#options.input.pause()
  }

  /**
   * Writes all lines of one chunk from the host in one write. So the daemon answers a request for the list of tools before it works on the
   * notification that came before that request.
   */
  #writeTogether(work: () => void): void {
    this.#batch = []
    work()
    const [first, ...others] = this.#batch
    this.#batch = undefined
    if (first) this.#toDaemon(others.length === 0 ? first : Buffer.concat([first, ...others]))
  }

  #toHost(line: Buffer | string): void {
    if (line.length === 0 || this.#isSilent) return
    if (!this.#options.output.write(line)) this.#stream?.pause()
  }

  /** Answers a call without the daemon. The call is not sent to a daemon later, so that the answer stays true. */
  #answerWithoutDaemon(call: OpenCall): void {
    const answer = this.#isStandingBy ? away.answerWhileStandingBy : away.answerWithoutDaemon
    if (this.#isStandingBy && call.method === 'initialize') this.#session.noteGranted(call, {})
    this.#calls.abandon(call.id)
    const target = { ...this.#options.target, agentName: this.#session.agentName }
    this.#toHost(answer(call, target, this.#unserved.refused ?? this.#unserved.closed))
  }

  #watchDeadlines(): void {
    clearTimeout(this.#alarm)
    const { late, nextMs } = this.#calls.overdue()
    for (const call of late) this.#answerWithoutDaemon(call)
    if (nextMs !== undefined) this.#alarm = setTimeout(() => this.#watchDeadlines(), nextMs + 1)
  }
}
