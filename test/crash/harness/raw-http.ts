// An HTTP client that keeps to no protocol: any bytes on one connection, many requests at once, and every answer in order.

import { connect, type Socket } from 'node:net'

export interface HttpAnswer {
  /** 0: the connection ended before it came. */
  status: number
  headers: Record<string, string>
  body: string
}

type Headers = Record<string, string>

export class RawHttp {
  readonly socket: Socket
  readonly closed: Promise<void>
  isClosed = false
  readonly #host: string
  #rest: Buffer = Buffer.alloc(0)
  readonly #waiting: ((answer: HttpAnswer) => void)[] = []

  private constructor(socket: Socket, host: string) {
    this.socket = socket
    this.#host = host
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', () => socket.destroy())
    this.closed = new Promise((resolve) =>
      socket.once('close', () => {
        this.isClosed = true
        for (const lost of this.#waiting.splice(0)) lost({ status: 0, headers: {}, body: '' })
        resolve()
      }),
    )
  }

  static open(url: string): Promise<RawHttp> {
    const { hostname, port, host } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new RawHttp(socket, host))
      })
    })
  }

  post(path: string, body: string | Uint8Array, headers: Headers = {}): Promise<HttpAnswer> {
    return this.ask('POST', path, headers, body)
  }

  ask(method: string, path: string, headers: Headers = {}, body: string | Uint8Array = ''): Promise<HttpAnswer> {
    return this.write(requestOf(method, path, { host: this.#host, ...headers }, body))
  }

  /** Writes any bytes and counts them as one request. */
  write(bytes: Uint8Array): Promise<HttpAnswer> {
    if (this.isClosed) return Promise.resolve({ status: 0, headers: {}, body: '' })
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.socket.write(bytes)
    })
  }

  async end(): Promise<void> {
    this.socket.destroy()
    await this.closed
  }

  #take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (let answer = this.#next(); answer; answer = this.#next()) this.#waiting.shift()?.(answer)
  }

  #next(): HttpAnswer | undefined {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [first = '', ...lines] = this.#rest.subarray(0, end).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const found = bodyOf(this.#rest.subarray(end + 4), headers)
    if (!found) return undefined
    this.#rest = this.#rest.subarray(end + 4 + found.bytes)
    return { status: Number(first.split(' ')[1]), headers, body: found.text }
  }
}

export function requestOf(method: string, path: string, headers: Headers, body: string | Uint8Array): Buffer {
  const length = Buffer.byteLength(body)
  const lines = Object.entries({ 'content-type': 'application/json', ...headers, 'content-length': String(length) })
  const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head), typeof body === 'string' ? Buffer.from(body) : body])
}

/** Undefined while the answer is incomplete. */
function bodyOf(rest: Buffer, headers: Headers): { text: string; bytes: number } | undefined {
  if (!headers['transfer-encoding']?.includes('chunked')) {
    const bytes = Number(headers['content-length'] ?? 0)
    return rest.length < bytes ? undefined : { text: rest.subarray(0, bytes).toString(), bytes }
  }
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(rest.subarray(at, line).toString('latin1'), 16)
    const from = line + 2
    if (rest.length < from + size + 2) return undefined
    if (size === 0) return { text: Buffer.concat(pieces).toString(), bytes: from + 2 }
    pieces.push(rest.subarray(from, from + size))
    at = from + size + 2
  }
}
