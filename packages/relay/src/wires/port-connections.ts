// The connections of the HTTP port. A connection is a stranger until one of its requests is authenticated. Any user of this machine can connect to the port, so
// the number of strangers is limited: a new connection is accepted, and the stranger that has waited longest is dropped.

import type { Socket } from 'node:net'
import { RefusalError } from '../core/refusal-error.ts'

export interface ConnectionLimits {
  /** Maximum number of connections that wait without having shown a credential. Beyond that the longest waiting one is dropped. */
  strangersMax: number
  /** How long a new connection is not dropped, so that the requests of a burst of callers are read first, also while the routes are being loaded. */
  arrivalMs: number
  /** Maximum number of unauthenticated connections in total. Beyond that even new connections are dropped, the oldest first. */
  arrivalsMax: number
  /** Maximum number of connections of authenticated callers. Beyond that the connection that has been idle longest is dropped. */
  knownMax: number
}

/** How long the last bytes may take to leave after a connection was told that it ends. */
export const closingGraceMs = 1_000

export const connectionLimits: Readonly<ConnectionLimits> = {
  strangersMax: 64,
  arrivalMs: 1_000,
  arrivalsMax: 512,
  knownMax: 2_000,
}

export class PortConnections {
  readonly #limits: ConnectionLimits
  /** Connections without authentication, with the monotonic time since when each waits; the longest waiting one first. */
  readonly #strangers = new Map<Socket, number>()
  readonly #known = new Set<Socket>()
  /** Authenticated connections without a request under way, the longest idle first. */
  readonly #resting = new Set<Socket>()
  /** Number of requests under way on each connection; HTTP allows several on one connection. */
  readonly #requests = new Map<Socket, number>()
  #trimming: NodeJS.Timeout | undefined

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.#limits = { ...connectionLimits, ...limits }
  }

  get strangers(): number {
    return this.#strangers.size
  }

  get known(): number {
    return this.#known.size
  }

  /** Number of connections with a request under way. */
  get busy(): number {
    return this.#requests.size
  }

  add(socket: Socket): void {
    this.#strangers.set(socket, performance.now())
    socket.once('close', () => {
      for (const places of [this.#strangers, this.#known, this.#resting, this.#requests]) places.delete(socket)
    })
    this.#trim()
  }

  /** Counts a request on the connection; call the returned function when the request is over. */
  beginRequest(socket: Socket): () => void {
    this.#resting.delete(socket)
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1)
    return () => {
      const left = (this.#requests.get(socket) ?? 0) - 1
      if (left > 0) return void this.#requests.set(socket, left)
      this.#requests.delete(socket)
      // A closed connection is forgotten already: adding it again for its last answer would keep it for good.
      if (this.#known.has(socket)) this.#resting.add(socket)
    }
  }

  /** Marks the connection's caller as authenticated. Throws if all authenticated connections are busy and none can make room. */
  markAuthenticated(socket: Socket): void {
    if (!this.#strangers.has(socket)) return
    if (this.#known.size >= this.#limits.knownMax && !this.#makeRoom())
      throw new RefusalError('connections.full', { count: this.#known.size })
    this.#strangers.delete(socket)
    this.#known.add(socket)
  }

  close(): void {
    clearTimeout(this.#trimming)
    // Closes connections that a client opened ahead and never used, which Node does not count as idle.
    for (const socket of this.#strangers.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Ends all connections. Node's own list of connections lacks those that were upgraded or are being upgraded. */
  destroyAll(): void {
    for (const socket of [...this.#strangers.keys(), ...this.#known]) socket.destroy()
  }

  #makeRoom(): boolean {
    const [longest] = this.#resting
    longest?.destroy()
    return longest !== undefined && this.#known.delete(longest) && this.#resting.delete(longest)
  }

  #trim(): void {
    const { strangersMax, arrivalMs, arrivalsMax } = this.#limits
    const now = performance.now()
    for (const [socket, since] of this.#strangers) {
      if (this.#strangers.size <= strangersMax) return
      if (this.#strangers.size <= arrivalsMax && now - since < arrivalMs)
        return this.#trimLater(since + arrivalMs - now)
      this.#strangers.delete(socket)
      socket.destroy()
    }
  }

  #trimLater(ms: number): void {
    this.#trimming ??= setTimeout(() => {
      this.#trimming = undefined
      this.#trim()
    }, ms)
    this.#trimming.unref()
  }
}
