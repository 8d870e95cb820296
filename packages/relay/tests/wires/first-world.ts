// A daemon, and clients of our own that speak the first protocol to its socket: frames by @agent-relay/protocol, and nothing of the SDK. No tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeFrame, FrameParser } from '@agent-relay/protocol/framing'
import type { Envelope, FrameType } from '@agent-relay/protocol/types'
import { RelayClient } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { until } from '../../../../test/until.ts'
import { Daemon } from '../../src/daemon/daemon.ts'

export class FirstWorld {
  readonly #dir = mkdtempSync(join(tmpdir(), 'relay-first-'))
  readonly clock = new PlayClock()
  readonly #leaving: (() => unknown)[] = []
  #daemon: Daemon | undefined

  static async start(): Promise<FirstWorld> {
    const world = new FirstWorld()
    const options = {
      dataDir: world.#dir,
      credentialsPath: join(world.#dir, 'c.json'),
      isMemory: true,
      clock: world.clock,
    }
    world.#daemon = (await Daemon.start({ ...options, onTrouble() {}, onStop() {} })) as Daemon
    await world.#daemon.open('home')
    return world
  }

  get path(): string {
    return socketPathOf(this.#dir, 'home')
  }

  /** A client of today. */
  async agent(agentName: string): Promise<RelayClient> {
    const client = new RelayClient({ agentName, socketPath: this.path, autoConnect: false })
    this.#leaving.push(() => client.disconnect())
    await client.connect()
    return client
  }

  async first(name: string, hello: object = { capabilities: ['mcp'] }): Promise<FirstClient> {
    const client = await this.silent()
    client.write('HELLO', 'h', { name, ...hello })
    await client.got('WELCOME')
    return client
  }

  async silent(): Promise<FirstClient> {
    const socket = connect(this.path)
    await new Promise((resolve) => socket.once('connect', resolve))
    const client = new FirstClient(socket)
    this.#leaving.push(() => client.leave())
    return client
  }

  async close(): Promise<void> {
    await Promise.all(this.#leaving.map((leave) => leave()))
    await this.#daemon?.stop()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}

export class FirstClient {
  readonly frames: Envelope[] = []
  isClosed = false
  readonly #socket: Socket
  #asked = 0

  constructor(socket: Socket) {
    this.#socket = socket
    const parser = new FrameParser()
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
    socket.on('data', (chunk: Buffer) => {
      parser.push(chunk)
      for (let frame = parser.read(); frame; frame = parser.read()) this.frames.push(frame)
    })
  }

  raw(bytes: string | Uint8Array): void {
    this.#socket.write(bytes)
  }

  write(type: FrameType, id: string, payload?: unknown): void {
    this.raw(encodeFrame({ v: 1, type, id, ts: Date.now(), payload }))
  }

  /** The payload of the answer, as a client of that time finds it: by the id that stands in it. */
  async ask(type: FrameType, payload?: unknown): Promise<Envelope['payload'] & { frame: FrameType }> {
    const id = `${type}-${++this.#asked}`
    this.write(type, id, payload)
    const { type: frame, payload: answer } = await this.#find((each) => each.payload?.id === id)
    return { ...answer, frame }
  }

  async got(type: FrameType, at = 0): Promise<Envelope['payload']> {
    const isIt = (frame: Envelope) => frame.type === type && this.all(type).indexOf(frame.payload) === at
    return (await this.#find(isIt)).payload
  }

  all(type: FrameType): Envelope['payload'][] {
    return this.frames.filter((frame) => frame.type === type).map(({ payload }) => payload)
  }

  async leave(): Promise<void> {
    this.#socket.destroy()
    await until(() => this.isClosed)
  }

  async #find(isIt: (frame: Envelope) => boolean): Promise<Envelope> {
    await until(() => this.frames.some(isIt) || this.isClosed)
    const found = this.frames.find(isIt)
    if (!found) throw new Error(`closed after ${JSON.stringify(this.frames.at(-1))}`)
    return found
  }
}
