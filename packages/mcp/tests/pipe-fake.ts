// A daemon's end of the pipe that a test plays by hand: it sees every line, and says or withholds what the test wants. No tests.

import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { until } from '../../../test/until.ts'
import type { Json } from './pipe-world.ts'

type Script = (line: Json, session: FakeSession) => void

/** What a daemon answers that is well. */
export const obliging: Script = ({ id, method }, session) => {
  if (id === undefined || method === undefined) return
  session.say({ id, result: method === 'initialize' ? { serverInfo: { name: 'fake' } } : {} })
}

export class FakeDaemon {
  readonly path: string
  readonly sessions: FakeSession[] = []
  script: Script = obliging
  #server: Server | undefined

  constructor(path: string) {
    this.path = path
  }

  async listen(): Promise<void> {
    rmSync(this.path, { force: true })
    const server = createServer((socket) => this.sessions.push(new FakeSession(socket, this)))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.path, resolve))
  }

  /** As a daemon dies: nobody listens, and every connection is cut. */
  async die(): Promise<void> {
    for (const session of this.sessions) session.socket.destroy()
    await new Promise((resolve) => this.#server?.close(resolve) ?? resolve(undefined))
  }

  /** The session of this number, counted from 0, once it has said HELLO. */
  async session(number: number): Promise<FakeSession> {
    await until(() => this.sessions.filter(({ hello }) => hello).length > number)
    return this.sessions.filter(({ hello }) => hello)[number] as FakeSession
  }
}

export class FakeSession {
  readonly socket: Socket
  readonly lines: Json[] = []
  hello: Json

  constructor(socket: Socket, daemon: FakeDaemon) {
    this.socket = socket
    let rest = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const parts = (rest + chunk).split('\n')
      rest = parts.pop() as string
      for (const part of parts.filter((each) => each.trim() !== '')) {
        const line = JSON.parse(part)
        if (!this.hello) {
          this.hello = line.payload.mcp
          continue
        }
        this.lines.push(line)
        daemon.script(line, this)
      }
    })
  }

  raw(text: string): void {
    this.socket.write(text)
  }

  say(message: object): void {
    this.raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  envelope(type: 'WELCOME' | 'ERROR', payload: object): void {
    this.raw(`${JSON.stringify({ v: 1, type, id: 'pipe', ts: 0, payload })}\n`)
  }

  /** Lines with this method. */
  of(method: string): Json[] {
    return this.lines.filter((line) => line.method === method)
  }
}
