// The socket's envelopes over WebSocket: one message is one envelope. A browser cannot set headers, so the credential may come in HELLO.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Hello, limits, type RefusalCode } from '@agent-relay/sdk/protocol'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { Callers } from './callers.ts'
import { type Carrier, Connection, type Party } from './connection.ts'
import { Intake } from './intake.ts'
import type { PageEntry } from './page-login.ts'
import { seatOf } from './party.ts'
import { helloMs, stalledMs, waitingBytesMax } from './socket.ts'

/** After goodbye, how long the other side may take to answer it. */
const farewellMs = 1_000
const newline = Buffer.from('\n')

export interface WebSocketLimits {
  helloMs: number
  stalledMs: number
}

export class WebSocketWire {
  readonly #callers: Callers
  readonly #limits: WebSocketLimits
  readonly #open = new Map<WebSocket, Connection>()
  readonly #pages = new Set<WebSocket>()
  // Compression is off: it costs memory for each connection, and a small message could unpack to a huge one.
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: limits.lineBytesMax, perMessageDeflate: false })

  constructor(callers: Callers, limits: Partial<WebSocketLimits> = {}) {
    this.#callers = callers
    this.#limits = { helloMs, stalledMs, ...limits }
  }

  /** `shown` is the credential of the upgrade's own headers, if it had one; `wanted` the workspace it named. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, shown?: string, wanted?: string): void {
    this.#server.handleUpgrade(request, socket, head, (ws) => this.#accept(ws, this.#party(shown, wanted)))
  }

  /** The owner's page: the person acts, with the key's rights, whatever the page says of itself. */
  upgradePage(request: IncomingMessage, socket: Duplex, head: Buffer, { dispatch, key, human }: PageEntry): void {
    const party: Party = {
      hello: async ({ session, calls }: Hello) => {
        const hello: Hello = { name: human, type: 'human', key, session, calls }
        return seatOf(dispatch, await dispatch.hello('network', hello))
      },
    }
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      this.#pages.add(ws)
      ws.on('close', () => this.#pages.delete(ws))
      this.#accept(ws, party)
    })
  }

  endPages(): number {
    const ended = this.#pages.size
    for (const ws of this.#pages) this.#open.get(ws)?.close('auth.revoked', { why: 'this page was logged out.' })
    return ended
  }

  get pending(): number {
    return [...this.#open.values()].reduce((sum, { pending }) => sum + pending, 0)
  }

  close(reason: RefusalCode): void {
    for (const connection of this.#open.values()) connection.close(reason)
  }

  #party(shown: string | undefined, wanted: string | undefined): Party {
    return {
      hello: async (hello: Hello) => {
        const found = this.#callers.find(hello.key ?? hello.token ?? shown, wanted)
        const { dispatch, key, token } = found
        const entered = await dispatch.hello('network', { ...hello, key, token: hello.token ?? token })
        // Nobody in particular, on an open relay: counts as the key's holder.
        const { session } = entered
        if (key === undefined && session.agent === undefined) session.isHolder = true
        return seatOf(dispatch, entered)
      },
    }
  }

  #accept(ws: WebSocket, party: Party): void {
    const { helloMs, stalledMs } = this.#limits
    const carrier = new WebSocketCarrier(ws, stalledMs, {
      stalled: () => connection.close('session.stalled', { seconds: stalledMs / 1000 }),
      drained: () => {
        intake.goOn()
        connection.drained()
      },
    })
    const connection = new Connection(party, carrier)
    this.#open.set(ws, connection)
    const greeting = setTimeout(() => connection.hasGreeted || ws.terminate(), helloMs)
    const intake = new Intake(connection, carrier, ws)
    ws.on('message', (data) => {
      intake.push(bytesOf(data))
      intake.push(newline)
    })
    ws.on('error', () => ws.terminate())
    ws.on('close', () => {
      clearTimeout(greeting)
      carrier.closed()
      connection.gone()
      this.#open.delete(ws)
    })
  }
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}

/** Counts what waits, and lets go of a reader that does not read. */
class WebSocketCarrier implements Carrier {
  readonly #ws: WebSocket
  readonly #stalledMs: number
  readonly #told: { stalled(): void; drained(): void }
  #stall: NodeJS.Timeout | undefined

  constructor(ws: WebSocket, stalledMs: number, told: { stalled(): void; drained(): void }) {
    this.#ws = ws
    this.#stalledMs = stalledMs
    this.#told = told
  }

  write(line: string, flushed?: () => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#ws.send(line.trimEnd(), (error) => {
      if (error) return
      flushed?.()
      if (this.#stall && this.isReady()) this.#resume()
    })
    if (!this.isReady()) this.#stall ??= setTimeout(this.#told.stalled, this.#stalledMs)
  }

  isReady(): boolean {
    return this.#ws.bufferedAmount < waitingBytesMax
  }

  end(): void {
    this.#ws.resume()
    this.#ws.close(1000)
    const farewell = setTimeout(() => this.#ws.terminate(), farewellMs)
    farewell.unref()
    this.#ws.once('close', () => clearTimeout(farewell))
  }

  closed(): void {
    clearTimeout(this.#stall)
  }

  #resume(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#told.drained()
  }
}
