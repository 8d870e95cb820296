// The last of what a program printed, as bytes in a ring that never grows beyond its bound. Positions count from the first byte ever printed.

export const scrollbackBytesMax = 2 * 1024 * 1024
/** Most programs print little: the ring starts small and doubles. */
const startBytes = 16 * 1024

export class Scrollback {
  readonly #bytesMax: number
  #ring = Buffer.alloc(0)
  #end = 0
  #kept = 0

  constructor(bytesMax = scrollbackBytesMax) {
    this.#bytesMax = bytesMax
  }

  /** The position after the last byte. */
  get end(): number {
    return this.#end
  }

  /** The position of the first byte that is kept. */
  get start(): number {
    return this.#end - this.#kept
  }

  push(data: Uint8Array): void {
    const skipped = Math.max(0, data.length - this.#bytesMax)
    this.#fit(this.#kept + data.length)
    const size = this.#ring.length
    const fresh = data.subarray(skipped)
    const at = (this.#end + skipped) % size
    const first = Math.min(fresh.length, size - at)
    this.#ring.set(fresh.subarray(0, first), at)
    this.#ring.set(fresh.subarray(first), 0)
    this.#end += data.length
    this.#kept = Math.min(this.#kept + data.length, size)
  }

  /** From a position on, or from what is left of it: a copy of at most `bytesMax`. */
  read(from: number, bytesMax = this.#bytesMax): Buffer {
    const begin = Math.max(from, this.start)
    const length = Math.max(0, Math.min(this.#end - begin, bytesMax))
    const at = length === 0 ? 0 : begin % this.#ring.length
    const first = this.#ring.subarray(at, at + length)
    return Buffer.concat([first, this.#ring.subarray(0, length - first.length)])
  }

  #fit(bytes: number): void {
    let size = this.#ring.length || startBytes
    while (size < bytes && size < this.#bytesMax) size *= 2
    size = Math.min(size, this.#bytesMax)
    if (size === this.#ring.length) return
    const kept = this.read(this.start)
    this.#ring = Buffer.alloc(size)
    const at = (this.#end - kept.length) % size
    const first = Math.min(kept.length, size - at)
    this.#ring.set(kept.subarray(0, first), at)
    this.#ring.set(kept.subarray(first), 0)
  }
}
