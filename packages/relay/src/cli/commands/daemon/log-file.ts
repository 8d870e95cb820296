// The background daemon's log: opening it, cutting it when it has grown too long, reading and following it.

import { chmodSync, closeSync, fstatSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { cleanText } from '../../text.ts'

const logBytesMax = 5 * 1024 * 1024
/** The part that is kept of a log that has grown too long. */
const keptBytes = 512 * 1024
const readBytesMax = 1024 * 1024

export function logPath(dataDirectory: string): string {
  return join(dataDirectory, 'daemon.log')
}

/** Opens the log for a child's output; `size` is where the child's own lines begin. */
export function openLog(dataDirectory: string): { descriptor: number; size: number; close(): void } {
  const path = logPath(dataDirectory)
  shortenLog(path)
  const descriptor = openSync(path, 'a', 0o600)
  chmodSync(path, 0o600)
  return { descriptor, size: fstatSync(descriptor).size, close: () => closeSync(descriptor) }
}

function shortenLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= logBytesMax) return
  const tail = readFileSync(path).subarray(size - keptBytes)
  writeFileSync(path, tail.subarray(tail.indexOf(10) + 1), { mode: 0o600 })
}

/** The log's last `count` lines after byte `from`, cleaned. Empty if there is no log. */
export function readLogEnd(dataDirectory: string, count: number, from = 0): string[] {
  const reader = new LogReader(dataDirectory, from)
  return reader.read().slice(-count)
}

/** Reads whole lines as the file grows; starts over if it was cut or replaced. */
export class LogReader {
  readonly #path: string
  #position: number
  #rest = ''
  #decoder = new StringDecoder('utf8')

  constructor(dataDirectory: string, from = 0) {
    this.#path = logPath(dataDirectory)
    this.#position = from
  }

  read(): string[] {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
    if (size < this.#position) this.#position = 0
    const start = Math.max(this.#position, size - readBytesMax)
    if (size <= start) return []
    // Skipped bytes leave half a line and perhaps half a character.
    if (start !== this.#position) [this.#rest, this.#decoder] = ['', new StringDecoder('utf8')]
    const bytes = Buffer.alloc(size - start)
    const descriptor = openSync(this.#path, 'r')
    const read = readSync(descriptor, bytes, 0, bytes.length, start)
    closeSync(descriptor)
    this.#position = start + read
    const lines = (this.#rest + this.#decoder.write(bytes.subarray(0, read))).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines.map((line) => cleanText(line))
  }
}
