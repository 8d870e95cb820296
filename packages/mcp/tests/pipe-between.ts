// A socket between a pipe and the real daemon, where a test can keep answers back and cut the line. No tests.

import { connect, createServer, type Server, type Socket } from 'node:net'

export class Between {
  readonly path: string
  readonly #target: string
  readonly #server: Server
  readonly #open = new Set<Socket>()
  /** Answers of the daemon that were kept from the pipe. */
  kept = ''
  /** What the pipe has said. */
  said = ''
  isKeeping = false
  /** The pipe does not notice that the daemon is gone before it is told. */
  isHiding = false

  constructor(path: string, target: string) {
    this.path = path
    this.#target = target
    this.#server = createServer((near) => this.#join(near))
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.path, resolve))
    return this
  }

  /** Now it does. */
  tell(): void {
    this.isHiding = false
    for (const socket of this.#open) socket.destroy()
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
  }

  #join(near: Socket): void {
    const far = connect(this.#target)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#open.delete(socket)
        if (!this.isHiding) other.destroy()
      })
    }
    near.on('data', (chunk) => {
      this.said += chunk
      far.write(chunk)
    })
    far.on('data', (chunk) => {
      if (this.isKeeping) this.kept += chunk
      else near.write(chunk)
    })
  }
}
