// The workspace's Unix socket: newline-delimited JSON frames, bounded memory for each reader, and a socket file that only its owner can open.

import { chmodSync, existsSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { limits, type RefusalCode, type RefusalDetails } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { toRefusal } from '../core/refusal-error.ts'
import { BatchedWrites } from './batched-writes.ts'
import { Connection, type ConnectionHandler, type LineCarrier } from './connection.ts'
import { FirstLineReader, readPipeHello } from './first-line.ts'
import { refusePipe, servePipe } from './pipe.ts'
import { closingGraceMs } from './port-connections.ts'

/** Length of the queue of new connections: with Node's default a thousand simultaneous connects fail with EAGAIN. */
const backlog = 4096
/** Time within which a new client must send its HELLO. */
export const helloMs = 5_000
/** Maximum number of connections of the owner's programs that may stay silent: some programs open a second one that they do not use. */
const silentMax = 64
/**
 * Time for a client of the socket to read its last bytes. Longer than `closingGraceMs` of the HTTP port, so that a busy local client still gets the reason.
 * Closing the whole socket waits only `closingGraceMs`.
 */
const localClosingGraceMs = 5_000
/** Interval between checks that the socket file is still there. */
const socketFileLookMs = 1_000
const isNamedPipe = process.platform === 'win32'

/** A client on the socket: a connection with frames, or a stdio pipe that carries MCP. */
interface OpenSocket {
  readonly pending: number
  close(reason: RefusalCode, details?: RefusalDetails): void
}

export class SocketWire {
  readonly path: string
  readonly #handler: ConnectionHandler
  readonly #open = new Map<Socket, OpenSocket>()
  readonly #closed: Promise<void>[] = []
  readonly #silent = new Set<Socket>()
  #server: Server | undefined
  #fileCheck: NodeJS.Timeout | undefined

  private constructor(path: string, handler: ConnectionHandler) {
    this.path = path
    this.#handler = handler
  }

  /** Listens on a new socket file. Only the holder of the daemon's lock may call this function: it replaces any socket file at the path. */
  static async listen(path: string, handler: ConnectionHandler): Promise<SocketWire> {
    const wire = new SocketWire(path, handler)
    if (!isNamedPipe) prepareSocketPath(path)
    await wire.#listen()
    if (!isNamedPipe) wire.#fileCheck = setInterval(() => void wire.#restoreSocketFile(), socketFileLookMs).unref()
    return wire
  }

  async #listen(): Promise<void> {
    const server = createServer((socket) => this.#accept(socket, this.#handler))
    const umask = isNamedPipe ? 0 : process.umask(0o177)
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ path: this.path, backlog }, resolve)
        if (!isNamedPipe) process.umask(umask)
      })
    } finally {
      if (!isNamedPipe) process.umask(umask)
    }
    if (!isNamedPipe) chmodSync(this.path, 0o600)
    // Emitted if a connection could not be accepted, for example because no file descriptor is left. Other connections go on.
    server.on('error', () => {})
    this.#server = server
  }

  /** Listens again if somebody removed the socket file, since nobody could connect any more. Open connections stay. */
  async #restoreSocketFile(): Promise<void> {
    if (existsSync(this.path) || !existsSync(dirname(this.path)) || !this.#server) return
    this.#stopListening()
    try {
      await this.#listen()
    } catch {
      // Another process listens there already, or the directory cannot be written to, which the next commit reports.
    }
    if (this.#fileCheck === undefined) this.#stopListening()
  }

  #stopListening(): void {
    const server = this.#server
    if (server) this.#closed.push(new Promise((resolve) => server.close(() => resolve())))
    this.#server = undefined
  }

  /**
   * Accepts no new connections, and ends the open ones with the reason. A client that does not hang up soon is cut off; it can still read what was sent to it.
   */
  async close(reason: RefusalCode, details?: RefusalDetails): Promise<void> {
    clearInterval(this.#fileCheck)
    this.#fileCheck = undefined
    this.#stopListening()
    for (const connection of this.#open.values()) connection.close(reason, details)
    const late = setTimeout(() => {
      for (const socket of this.#open.keys()) socket.destroy()
    }, closingGraceMs)
    await Promise.all(this.#closed)
    clearTimeout(late)
  }

  /** Resolves when no call on this socket is under way any more. */
  async waitUntilIdle(): Promise<void> {
    while ([...this.#open.values()].some(({ pending }) => pending > 0))
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  #accept(socket: Socket, handler: ConnectionHandler): void {
    // On close, a client that has not sent HELLO is cut off at once: it has nothing under way and connects again.
    this.#open.set(socket, { pending: 0, close: () => socket.destroy() })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#open.delete(socket))
    const greeted = this.#awaitHello(socket)
    const whole = new FirstLineReader((line, rest) => {
      greeted()
      socket.removeAllListeners('data')
      const pipe = handler.servePipe === undefined ? undefined : readPipeHello(line)
      if (pipe !== undefined && handler.servePipe) return this.#pipe(socket, handler.servePipe, pipe, rest)
      this.#converse(socket, handler, Buffer.concat([line, newline, rest]))
    }, limits.requestBytesMax)
    socket.on('data', (chunk) => whole.push(chunk))
  }

  /** Waits for the client's HELLO. Returns the function to call when the HELLO has come. */
  #awaitHello(socket: Socket): () => void {
    const late = () => {
      if (this.#silent.has(socket) && this.#silent.size <= silentMax) return
      this.#silent.delete(socket)
      socket.destroy()
    }
    this.#silent.add(socket)
    let timer = setTimeout(late, helloMs)
    socket.once('data', () => {
      this.#silent.delete(socket)
      clearTimeout(timer)
      timer = setTimeout(late, helloMs)
    })
    socket.on('close', () => {
      this.#silent.delete(socket)
      clearTimeout(timer)
    })
    return () => clearTimeout(timer)
  }

  /** Serves MCP lines on the socket, beginning with those that have arrived already. */
  #pipe(socket: Socket, serve: NonNullable<ConnectionHandler['servePipe']>, hello: unknown, rest: Uint8Array): void {
    socket.pause()
    void serve(socket, hello, rest).then((handle) => this.#open.has(socket) && this.#open.set(socket, handle))
  }

  #converse(socket: Socket, handler: ConnectionHandler, first: Uint8Array): void {
    const carrier = new SocketCarrier(socket, () =>
      connection.close('session.stalled', { seconds: limits.stalledMs / 1000 }),
    )
    const connection = new Connection(handler, carrier, socket)
    this.#open.set(socket, connection)
    socket.on('drain', () => {
      carrier.drained()
      connection.drained()
    })
    socket.on('close', () => {
      carrier.closed()
      connection.cleanUp()
    })
    socket.on('data', (chunk) => connection.push(chunk))
    connection.push(first)
  }
}

const newline = Buffer.from('\n')

/** Returns the handler of connections on the owner's socket of a workspace. `visit` opens the workspace for each client. */
export function ownerConnectionHandler(
  visit: <T>(work: (dispatch: Dispatch) => Promise<T>) => Promise<T>,
): ConnectionHandler {
  return {
    hello: (hello) => visit((dispatch) => dispatch.serve('owner', hello)),
    servePipe: (socket, hello, early) =>
      visit((dispatch) => servePipe(dispatch, socket, hello, early)).catch((error) =>
        refusePipe(socket, toRefusal(error)),
      ),
  }
}

/** Writes lines to a socket; counts the bytes that the client has not read yet, and reports a client that does not read. */
class SocketCarrier implements LineCarrier {
  readonly #socket: Socket
  readonly #onStalled: () => void
  #stall: NodeJS.Timeout | undefined
  #isEnding = false
  readonly #writes: BatchedWrites

  constructor(socket: Socket, onStalled: () => void) {
    this.#socket = socket
    this.#writes = new BatchedWrites(socket)
    this.#onStalled = onStalled
  }

  write(line: string, flushed?: () => void): void {
    if (this.#isEnding || this.#socket.destroyed) return
    this.#writes.write(line, flushed && ((error) => error || flushed()))
    if (!this.isReady()) this.#stall ??= setTimeout(this.#onStalled, limits.stalledMs)
  }

  isReady(): boolean {
    return this.#writes.waitingLength < limits.waitingBytesMax
  }

  drained(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
  }

  end(): void {
    this.#isEnding = true
    this.#writes.end()
    this.#socket.resume()
    const farewell = setTimeout(() => this.#socket.destroy(), localClosingGraceMs)
    farewell.unref()
    this.#socket.once('close', () => clearTimeout(farewell))
  }

  closed(): void {
    clearTimeout(this.#stall)
  }
}

/** Prepares the socket's directory, which must be ours and closed to others. A socket at `path` is stale, since this daemon holds the lock. */
function prepareSocketPath(path: string): void {
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
