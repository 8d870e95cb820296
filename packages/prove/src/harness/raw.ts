// A client that enforces no protocol: writes any bytes to the daemon's socket or over a WebSocket, and keeps every line that the daemon sends.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { makeIds } from '@agent-relay/sdk/wire'
import WebSocket from 'ws'

/** One source of ids for all connections: if an agent used an id again, the daemon would take the frame for a repetition of the earlier command. */
const ids = makeIds()

export interface Frame {
  v: number
  type: string
  id: string
  // biome-ignore lint/suspicious/noExplicitAny: the daemon may send anything.
  payload: any
}

export const frameOf = (type: string, id: string, payload: unknown): string =>
  `${JSON.stringify({ v: 1, type, id, ts: 0, payload })}\n`

export class RawConnection {
  readonly socket: Socket
  readonly frames: Frame[] = []
  readonly closed: Promise<void>
  isClosed = false
  bytesRead = 0
  onFrame: ((frame: Frame) => void) | undefined
  #rest = ''
  readonly #waiting = new Map<string, (frame: Frame) => void>()

  readonly #ws: WebSocket | undefined

  private constructor(socket: Socket, ws?: WebSocket) {
    this.socket = socket
    this.#ws = ws
    if (ws) ws.on('message', (data) => this.#take(`${data}\n`)).on('error', () => ws.terminate())
    else socket.setEncoding('utf8').on('data', (text) => this.#take(text as unknown as string))
    socket.on('error', () => socket.destroy())
    this.closed = new Promise((resolve) =>
      socket.once('close', () => {
        this.isClosed = true
        for (const resolveLost of this.#waiting.values()) resolveLost({ v: 1, type: 'LOST', id: '', payload: {} })
        resolve()
      }),
    )
  }

  static async open(path: string): Promise<RawConnection> {
    const socket = connect(path)
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  /** Connects to the daemon's WebSocket at `/ws`, where each write is one WebSocket message. */
  static async openWebSocket(url: string): Promise<RawConnection> {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/ws`, { perMessageDeflate: false })
    await once(ws, 'open')
    return new RawConnection((ws as unknown as { _socket: Socket })._socket, ws)
  }

  /** Connects and sends the HELLO frame, with the agent's name if one is given, and with the further fields in `more`. */
  static async connectAs(path: string, name?: string, more: object = {}): Promise<RawConnection> {
    const raw = await RawConnection.open(path)
    const welcome = await raw.ask('HELLO', { name, ...more })
    if (welcome.type !== 'WELCOME') throw new Error(`not welcome: ${JSON.stringify(welcome)}`)
    return raw
  }

  write(bytes: string | Uint8Array): void {
    if (this.isClosed) return
    if (this.#ws) this.#ws.send(bytes)
    else this.socket.write(bytes)
  }

  /** Sends a frame and waits for the daemon's answer. If the connection ends first, the result is a frame of the made-up type LOST. */
  ask(type: string, payload: unknown, id = ids('c')): Promise<Frame> {
    const answered = this.answer(id)
    this.write(frameOf(type, id, payload))
    return answered
  }

  call(op: string, input: unknown, id?: string): Promise<Frame> {
    return this.ask('CALL', { op, input }, id)
  }

  /** Waits for the next frame with this id. */
  answer(id: string): Promise<Frame> {
    if (this.isClosed) return Promise.resolve({ v: 1, type: 'LOST', id, payload: {} })
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  async end(): Promise<void> {
    this.socket.destroy()
    await this.closed
  }

  #take(text: string): void {
    this.bytesRead += Buffer.byteLength(text)
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() as string
    for (const line of lines) {
      const frame = JSON.parse(line) as Frame
      if (this.onFrame) this.onFrame(frame)
      else this.frames.push(frame)
      const waiting = this.#waiting.get(frame.id)
      this.#waiting.delete(frame.id)
      waiting?.(frame)
    }
  }
}

/** Makes one call on a connection of its own. */
export async function callOnce(path: string, op: string, input: unknown): Promise<Frame> {
  const raw = await RawConnection.connectAs(path)
  try {
    return await raw.call(op, input)
  } finally {
    await raw.end()
  }
}
