// The background daemon's log file: opens it, shortens it when it is too long, reads its end, and follows it.

import { chmodSync, closeSync, fstatSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { cleanText } from '../../text.ts'

const logBytesMax = 5 * 1024 * 1024
/** Bytes at the end of a log that are kept when it is shortened. */
const keptBytes = 512 * 1024
const readBytesMax = 1024 * 1024

export function logPath(dataDirectory: string): string {
  return join(dataDirectory, 'daemon.log')
}

/** Opens the log for the output of a new daemon's process. `size` is the log's present length in bytes, at which the new lines begin. */
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

/** Returns the last `count` lines of the log after byte `from`, without control characters. Empty if there is no log. */
export function readLogEnd(dataDirectory: string, count: number, from = 0): string[] {
  const reader = new LogReader(dataDirectory, from)
  return reader.read().slice(-count)
}

/** Reads complete lines as the file grows. Starts at the beginning again if the file was shortened or replaced. */
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
    // If bytes were skipped, the text before them ends within a line, perhaps within a character, and is dropped.
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
