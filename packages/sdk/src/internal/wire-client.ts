// A small client for the daemon's socket, for programs that must start as fast as a bare Node: the hooks of CLIs and shell completion. The MCP stdio pipe uses
// its functions for frames and ids. This file loads no other module. The full client, which reconnects, watches and checks its input, is in client/.

import type { Socket } from 'node:net'

/** The beginning of every frame of our protocol, which tells it from a line of MCP. */
export const frameStart = '{"v":1,'

export function frameLine(type: 'HELLO' | 'CALL', id: string, payload: object): string {
  return `${JSON.stringify({ v: 1, type, id, ts: Date.now(), payload })}\n`
}

/** Makes a unique id that sorts by time; it is not a secret. `node:crypto` is not used because loading it would take an eighth of the program's start time. */
export function newWireId(): string {
  const chance = Math.random().toString(36).slice(2)
  return `p_${Date.now().toString(36)}_${process.pid.toString(36)}_${chance.padEnd(11, '0')}`
}

interface WireWelcome {
  workspaceId: string
  /** The tool with which the agent's model answers. Unset for `relay_send`. */
  sendTool?: string
}

export class WireClient {
  readonly welcome: Promise<WireWelcome>
  /** Whether the daemon has accepted the HELLO. */
  isWelcome = false
  readonly #socket: Socket
  readonly #onEnd: (isRefused: boolean) => void
  readonly #awaited = new Map<string, (payload: unknown) => void>()
  #isOver = false

  /** `onEnd` runs once, when the daemon refuses a frame or the connection ends. Calls without an answer then stay pending for ever. */
  constructor(socket: Socket, identity: object, onEnd: (isRefused: boolean) => void) {
    this.#socket = socket
    this.#onEnd = onEnd
    // Chunks are collected until a newline arrives and joined then: joining at each chunk would copy a large answer many times.
    let pieces: Buffer[] = []
    socket.on('data', (chunk: Buffer) => {
      pieces.push(chunk)
      if (!chunk.includes(10)) return
      const lines = Buffer.concat(pieces).toString().split('\n')
      pieces = [Buffer.from(lines.pop() as string)]
      for (const line of lines) this.#hear(JSON.parse(line))
    })
    socket.on('error', () => this.#end(false)).on('close', () => this.#end(false))
    this.welcome = this.#ask('HELLO', identity)
  }

  async call<T>(op: string, input: object): Promise<T> {
    await this.welcome
    return this.#ask('CALL', { op, input })
  }

  #ask<T>(type: 'HELLO' | 'CALL', payload: object): Promise<T> {
    const id = newWireId()
    this.#socket.write(frameLine(type, id, payload))
    return new Promise((resolve) => this.#awaited.set(id, resolve as (payload: unknown) => void))
  }

  #hear({ id, type, payload }: { id: string; type: string; payload: unknown }): void {
    if (type === 'WELCOME') this.isWelcome = true
    if (type === 'WELCOME' || type === 'ACK') this.#awaited.get(id)?.(payload)
    else if (type === 'ERROR' || type === 'BYE') this.#end(true)
  }

  #end(isRefused: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#socket.destroy()
    this.#onEnd(isRefused)
  }
}
