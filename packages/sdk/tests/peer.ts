// A scripted daemon at the wire: a real Unix socket, the protocol's own parser, answers written by the test. It has no rules of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Envelope, encodeFrame, FrameParser, type FrameType, type Hello } from '../src/protocol/frames.ts'
import { type RefusalCode, type RefusalDetails, refusal } from '../src/protocol/refusals.ts'

export interface Asked {
  id: string
  op: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows it sent.
  input: any
  session: Session
  answer(payload: unknown): void
  refuse(code: RefusalCode, details?: RefusalDetails): void
}

export class Session {
  readonly #socket: Socket
  hello?: Hello
  readonly received: Envelope[] = []

  constructor(socket: Socket) {
    this.#socket = socket
  }

  say(type: FrameType, id: string, payload: unknown): void {
    this.#socket.write(encodeFrame({ v: 1, type, id, ts: Date.now(), payload }))
  }

  raw(text: string): void {
    this.#socket.write(text)
  }

  /** As kill -9 does it: no goodbye. */
  cut(): void {
    this.#socket.destroy()
  }
}

export class Peer {
  readonly path: string
  readonly sessions: Session[] = []
  readonly asked: Asked[] = []
  workspaceId = 'ws_1'
  /** Undefined: welcome. */
  onHello: (hello: Hello, session: Session) => 'welcome' | 'silence' | RefusalCode = () => 'welcome'
  /** The name that the workspace gives; the one that was asked for, unless a test says otherwise. */
  nameFor: (asked: string | undefined) => string | undefined = (asked) => asked
  onCall: (asked: Asked) => void = (asked) => asked.answer({})
  #server?: Server
  #open = new Set<Session>()

  constructor(path: string) {
    this.path = path
  }

  async listen(): Promise<this> {
    rmSync(this.path, { force: true })
    this.#server = createServer((socket) => this.#serve(socket))
    await new Promise<void>((resolve) => this.#server?.listen(this.path, resolve))
    return this
  }

  get last(): Session {
    return this.sessions[this.sessions.length - 1] as Session
  }

  of(op: string): Asked[] {
    return this.asked.filter((asked) => asked.op === op)
  }

  cutAll(): void {
    for (const session of this.#open) session.cut()
  }

  async stop(): Promise<void> {
    this.cutAll()
    await new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()))
    this.#server = undefined
  }

  #serve(socket: Socket): void {
    const session = new Session(socket)
    const parser = new FrameParser()
    this.#open.add(session)
    socket.on('close', () => this.#open.delete(session))
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      parser.push(chunk)
      for (let envelope = parser.read(); envelope; envelope = parser.read()) this.#take(session, envelope)
    })
  }

  #take(session: Session, { type, id, payload }: Envelope): void {
    session.received.push({ v: 1, type, id, ts: 0, payload })
    if (type === 'HELLO') this.#greet(session, id, payload as Hello)
    if (type !== 'CALL') return
    const { op, input } = payload as { op: string; input: unknown }
    const asked: Asked = {
      id,
      op,
      input,
      session,
      answer: (output) => session.say('ACK', id, output),
      refuse: (code, details) => session.say('ERROR', id, refusal(code, details)),
    }
    this.asked.push(asked)
    this.onCall(asked)
  }

  #greet(session: Session, id: string, hello: Hello): void {
    session.hello = hello
    this.sessions.push(session)
    const verdict = this.onHello(hello, session)
    if (verdict === 'silence') return
    if (verdict !== 'welcome') {
      session.say('ERROR', id, refusal(verdict, { name: hello.name }))
      return
    }
    session.say('WELCOME', id, {
      session: `s_${this.sessions.length}`,
      workspace: 'shop',
      workspaceId: this.workspaceId,
      version: '0.1.0',
      agent: this.nameFor(hello.name),
      token: hello.token ? undefined : hello.name && `token-of-${hello.name}`,
      seq: 0,
    })
  }
}

export interface Scratch {
  directory: string
  remove(): void
}

export function scratch(): Scratch {
  const directory = mkdtempSync(join(tmpdir(), 'relay-sdk-'))
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

export function message(id: string, body = `body of ${id}`, from = 'bob'): Record<string, unknown> {
  return { id, seq: 1, ts: '2026-01-01T00:00:00.000Z', from, to: 'ada', kind: 'free', body, receipt: 'offered' }
}
