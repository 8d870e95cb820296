// Measures the peak memory of a daemon, from the meter's start to its stop.

import type { DaemonProcess } from './processes.ts'

const lookEachMs = 50

export class MemoryMeter {
  readonly #timer: NodeJS.Timeout
  readonly #daemon: DaemonProcess
  #max = 0

  constructor(daemon: DaemonProcess) {
    this.#daemon = daemon
    this.#timer = setInterval(() => this.#look(), lookEachMs)
  }

  stop(): number {
    this.#look()
    clearInterval(this.#timer)
    return this.#max
  }

  #look(): void {
    this.#max = Math.max(this.#max, this.#daemon.rssMb())
  }
}
