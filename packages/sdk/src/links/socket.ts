// The link over a Unix socket or a named pipe. The protocol itself is in envelopes.ts, the search for the socket in discover.ts.

import { connect, type Socket } from 'node:net'
import { ConnectionError, DaemonNotRunningError } from '../errors.ts'
import { workingDirectory } from '../internal/paths.ts'
import { closeTimeoutMs } from '../limits.ts'
import type { Connector } from '../link.ts'
import { FrameError, FrameParser } from '../protocol/frames.ts'
import { limits } from '../protocol/limits.ts'
import { frameRefusal } from '../protocol/refusals/frames.ts'
import { EnvelopeLink, type Outlet } from './envelopes.ts'

/** `reached`: an open connection, left over from the search for the daemon, which the first link uses. */
export function socketConnector(path: string, reached?: Socket): Connector {
  let free = reached
  return async (hello) => {
    const socket = free ?? (await open(path))
    free = undefined
    return overSocket(socket).introduce({ cwd: workingDirectory(), ...hello })
  }
}

function open(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const failed = (error: NodeJS.ErrnoException): void => {
      socket.destroy()
      const nobody = error.code === 'ENOENT' || error.code === 'ECONNREFUSED'
      reject(
        nobody
          ? new DaemonNotRunningError(undefined, { cause: error, details: { socketPath: path } })
          : new ConnectionError(`cannot reach ${path} (${error.message})`, { cause: error }),
      )
    }
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      resolve(socket)
    })
  })
}

function overSocket(socket: Socket): EnvelopeLink {
  const link = new EnvelopeLink(new SocketOutlet(socket))
  const parser = new FrameParser(limits.answerBytesMax)
  let failure = 'the daemon closed the connection'
  socket.on('data', (chunk: Buffer) => {
    parser.push(chunk)
    try {
      for (let envelope = parser.read(); envelope; envelope = parser.read()) link.receive(envelope)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      // The link is refused and not lost: the next connection would bring the same answer again, so the calls in flight must fail.
      link.refuse(frameRefusal('frame.invalid', { why: `the daemon's answer: ${error.message}` }))
    }
  })
  socket.on('error', (error) => {
    failure = error.message
  })
  socket.on('close', () => link.lost(failure))
  return link
}

/** Collects the lines written in one turn of the event loop and sends them in one system call, because system calls cost more than the messages themselves. */
class SocketOutlet implements Outlet {
  readonly #socket: Socket
  readonly #gone: Promise<void>
  #lines = ''

  constructor(socket: Socket) {
    this.#socket = socket
    this.#gone = new Promise((resolve) => {
      socket.once('close', () => resolve())
    })
  }

  write(line: string): void {
    if (this.#lines === '') process.nextTick(() => this.#flush())
    this.#lines += line
  }

  close(): Promise<void> {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) {
      this.#flush()
      this.#socket.end()
      // Reads and drops the bytes that still come: otherwise Node does not notice that the other end has closed. The timer does not keep the process alive.
      this.#socket.resume()
      setTimeout(() => this.#socket.destroy(), closeTimeoutMs).unref()
    }
    return this.#gone
  }

  #flush(): void {
    const lines = this.#lines
    this.#lines = ''
    if (lines !== '' && this.#socket.writable) this.#socket.write(lines)
  }
}
