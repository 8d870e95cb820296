// What a wire brings, handed to its connection frame by frame, as fast as its answers are read: who asks must listen.

import { type Envelope, FrameError, FrameParser } from '@agent-relay/sdk/protocol'
import type { Carrier, Connection } from './connection.ts'

/** Where the bytes come from; paused while the other side reads too little of what it asked for. */
export interface Flow {
  pause(): void
  resume(): void
}

export class Intake {
  readonly #parser = new FrameParser()
  readonly #connection: Connection
  readonly #carrier: Carrier
  readonly #flow: Flow
  #isPaused = false
  #isReading = false

  constructor(connection: Connection, carrier: Carrier, flow: Flow) {
    this.#connection = connection
    this.#carrier = carrier
    this.#flow = flow
    connection.onPendingChange = () => this.goOn()
  }

  push(chunk: Uint8Array): void {
    if (this.#connection.isOver) return
    this.#parser.push(chunk)
    this.#read()
  }

  /** Something was answered, or read by the other side. */
  goOn(): void {
    if (this.#isPaused && !this.#isReading) this.#read()
  }

  /** Stops in the middle of a chunk where it must: a chunk holds hundreds of calls, and each may be answered with a megabyte. */
  #read(): void {
    this.#isReading = true
    let isDone = false
    while (!isDone && this.#carrier.isReady() && this.#connection.mayTakeMore) isDone = !this.#next()
    this.#isReading = false
    // Ended meanwhile: the carrier lets the rest flow by, so that it sees the other side's end.
    if (this.#connection.isOver || isDone === !this.#isPaused) return
    this.#isPaused = !isDone
    if (isDone) this.#flow.resume()
    else this.#flow.pause()
  }

  #next(): boolean {
    let frame: Envelope | undefined
    try {
      frame = this.#parser.read()
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#connection.receiveBad(error)
      return true
    }
    if (frame) this.#connection.receive(frame)
    return frame !== undefined
  }
}
