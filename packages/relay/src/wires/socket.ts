// The Unix socket: newline-delimited envelopes, bounded memory for each reader, and a socket file that only its owner can open.

import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { limits, type RefusalCode, type RefusalDetails } from '@agent-relay/sdk/protocol'
import { type Carrier, Connection, type Party } from './connection.ts'
import { Intake } from './intake.ts'

/** Node's own default makes a thousand simultaneous connects fail with EAGAIN. */
const backlog = 4096
/** HELLO has to come within this. */
export const helloMs = 5_000
/** What may wait in memory for a reader that does not read. */
export const waitingBytesMax = 2 * 1024 * 1024
/** A reader that takes nothing of it for this long is cut off; nothing is lost, it was never counted as read. */
export const stalledMs = 10_000
/** After goodbye, how long the last bytes may take to leave. */
const farewellMs = 5_000

/** Whoever is at the other end: a connection, or a pipe that carries MCP. */
interface Caller {
  readonly pending: number
  close(reason: RefusalCode, details?: RefusalDetails): void
}

export class SocketWire {
  readonly path: string
  readonly #server: Server
  readonly #open = new Map<Socket, Caller>()

  private constructor(path: string, server: Server) {
    this.path = path
    this.#server = server
  }

  /** Only the holder of the daemon's lock may call this: it takes the place of any socket file that is there. */
  static async listen(path: string, party: Party): Promise<SocketWire> {
    const isPipe = process.platform === 'win32'
    if (!isPipe) clearThePlace(path)
    const server = createServer((socket) => wire.#accept(socket, party))
    const wire = new SocketWire(path, server)
    const umask = isPipe ? 0 : process.umask(0o177)
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ path, backlog }, resolve)
        if (!isPipe) process.umask(umask)
      })
    } finally {
      if (!isPipe) process.umask(umask)
    }
    if (!isPipe) chmodSync(path, 0o600)
    return wire
  }

  /** No new ones; those that are open are told why and ended. */
  async close(reason: RefusalCode, details?: RefusalDetails): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const connection of this.#open.values()) connection.close(reason, details)
    await closed
  }

  /** Resolves when no call is under way any more. */
  async quiet(): Promise<void> {
    while ([...this.#open.values()].some(({ pending }) => pending > 0))
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  #accept(socket: Socket, party: Party): void {
    this.#open.set(socket, noCaller)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#open.delete(socket))
    const greeting = setTimeout(() => socket.destroy(), helloMs)
    socket.on('close', () => clearTimeout(greeting))
    const whole = new FirstLine((line, rest) => {
      clearTimeout(greeting)
      socket.removeAllListeners('data')
      const pipe = party.pipe === undefined ? undefined : pipeHello(line)
      if (pipe !== undefined && party.pipe) return this.#pipe(socket, party.pipe, pipe, rest)
      this.#converse(socket, party, Buffer.concat([line, newline, rest]))
    })
    socket.on('data', (chunk) => whole.push(chunk))
  }

  /** MCP lines from here on; what has arrived meanwhile goes along. */
  #pipe(socket: Socket, serve: NonNullable<Party['pipe']>, hello: unknown, rest: Uint8Array): void {
    socket.pause()
    void serve(socket, hello, rest).then((handle) => this.#open.has(socket) && this.#open.set(socket, handle))
  }

  #converse(socket: Socket, party: Party, first: Uint8Array): void {
    const carrier = new SocketCarrier(socket, () => connection.close('session.stalled', { seconds: stalledMs / 1000 }))
    const connection = new Connection(party, carrier)
    this.#open.set(socket, connection)
    const intake = new Intake(connection, carrier, socket)
    socket.on('drain', () => {
      carrier.drained()
      intake.goOn()
      connection.drained()
    })
    socket.on('close', () => {
      carrier.closed()
      connection.gone()
    })
    socket.on('data', (chunk) => intake.push(chunk))
    intake.push(first)
  }
}

const newline = Buffer.from('\n')
const noCaller: Caller = { pending: 0, close() {} }

/** A pipe's HELLO carries `mcp`; undefined for everything else, which the connection will answer or refuse. */
export function pipeHello(line: Uint8Array): unknown {
  const text = Buffer.from(line).toString()
  if (!text.includes('"mcp"')) return undefined
  try {
    const { type, payload } = JSON.parse(text)
    return type === 'HELLO' ? payload?.mcp : undefined
  } catch {
    return undefined
  }
}

/** Collects until the first newline, or until it is longer than a line may be. */
export class FirstLine {
  readonly #done: (line: Uint8Array, rest: Uint8Array) => void
  #bytes = Buffer.alloc(0)

  constructor(done: (line: Uint8Array, rest: Uint8Array) => void) {
    this.#done = done
  }

  push(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    const end = this.#bytes.indexOf(10)
    if (end >= 0) this.#done(this.#bytes.subarray(0, end), this.#bytes.subarray(end + 1))
    else if (this.#bytes.length > limits.requestBytesMax) this.#done(this.#bytes, Buffer.alloc(0))
  }
}

/** Counts what waits, and lets go of a reader that does not read. */
class SocketCarrier implements Carrier {
  readonly #socket: Socket
  readonly #onStalled: () => void
  #stall: NodeJS.Timeout | undefined
  #isEnding = false

  constructor(socket: Socket, onStalled: () => void) {
    this.#socket = socket
    this.#onStalled = onStalled
  }

  write(line: string, flushed?: () => void): void {
    if (this.#isEnding || this.#socket.destroyed) return
    // The answers of one commit leave in one write.
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork()
      process.nextTick(() => this.#socket.uncork())
    }
    this.#socket.write(line, flushed && ((error) => error || flushed()))
    if (!this.isReady()) this.#stall ??= setTimeout(this.#onStalled, stalledMs)
  }

  isReady(): boolean {
    return this.#socket.writableLength < waitingBytesMax
  }

  drained(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
  }

  end(): void {
    this.#isEnding = true
    this.#socket.end()
    this.#socket.resume()
    const farewell = setTimeout(() => this.#socket.destroy(), farewellMs)
    farewell.unref()
    this.#socket.once('close', () => clearTimeout(farewell))
  }

  closed(): void {
    clearTimeout(this.#stall)
  }
}

/** A directory that others can enter, or that is not ours, is no place for a socket. What lies at `path` is stale: we hold the lock. */
function clearThePlace(path: string): void {
  const directory = dirname(path)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const found = lstatSync(directory)
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid())) {
    throw new Error(`${directory} is not a directory of yours: the socket is not opened there`)
  }
  chmodSync(directory, 0o700)
  try {
    if (!lstatSync(path).isSocket()) throw new Error(`${path} is in the way: it is not a socket`)
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
