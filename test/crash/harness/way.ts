// A connection to a server on a Unix socket that can be cut without either side being told, can lose answers, and can lead elsewhere.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const name = '.s.PGSQL.5432'

export class Way {
  readonly folder = mkdtempSync(join(tmpdir(), 'relay-way-'))
  readonly #server: Server
  readonly #open = new Set<Socket>()
  target: string
  /** Nothing passes, in either direction or back only. What is sent meanwhile is lost. */
  loses: 'nothing' | 'answers' | 'all' = 'nothing'

  constructor(target: string) {
    this.target = target
    this.#server = createServer((client) => this.#lead(client)).listen(join(this.folder, name))
  }

  #lead(client: Socket): void {
    const server = connect(join(this.target, name))
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(from)
      from.on('data', (bytes) => {
        if (this.loses === 'all' || (this.loses === 'answers' && from === server)) return
        to.write(bytes)
      })
      from.on('error', () => {})
      from.on('close', () => {
        this.#open.delete(from)
        to.destroy()
      })
    }
  }

  /** Ends what is open, as a server does that goes. */
  hangUp(): void {
    for (const socket of this.#open) socket.destroy()
  }

  end(): void {
    this.#server.close()
    this.hangUp()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
