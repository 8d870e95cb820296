// The first moments of a pipe: it says HELLO, and plain lines are passed on as they come, and remembered. The pipe itself (pipe.cts) is loaded
// when the host has its list of tools, and is told then what has been said: loading it takes a tenth of a bare Node's start, and this way
// nobody waits for it.

import type { Duplex, Readable, Writable } from 'node:stream'

export interface Identity {
  /** Stays the same for as long as the host's session lasts, whichever daemon serves it. */
  pipe: string
  name?: string
  type?: string
  /** The name that the daemon gave it, which is not stored yet. */
  given?: string
  token?: string
  key?: string
  strict?: boolean
  tools?: string
  push?: string
  /** The process that started the pipe: a hook of the same host is started by it too, and speaks for the same agent. */
  host?: number
  /** Where it was started: programs that the agent has started work there, if nothing better is known. */
  cwd?: string
}

/** `calls` were sent to an earlier daemon, and their answers never arrived. */
export function helloLine(identity: Identity, calls?: (string | number)[]): string {
  return `${JSON.stringify({ v: 1, type: 'HELLO', id: 'pipe', ts: Date.now(), payload: { mcp: { ...identity, calls } } })}\n`
}

/** Ordered by time, and unlike every other; not a secret. `node:crypto` would cost an eighth of the start. */
export function newPipeId(): string {
  const chance = Math.random().toString(36).slice(2)
  return `p_${Date.now().toString(36)}_${process.pid.toString(36)}_${chance.padEnd(11, '0')}`
}

export interface Heard {
  from: 'host' | 'daemon'
  chunk: Buffer
}

/** Called once: when the time is up, or with a `last` chunk that needs a closer look and has not been passed on. */
export type Onward = (heard: Heard[], last?: Heard) => void

const newline = 10
const envelopeStart = Buffer.from('{"v":1,')
/** Hosts ask for the list at once. */
const openingMs = 50
/** What the host may say before there is a daemon to tell. */
const earlyChunksMax = 64

/** Listens to the host from now on; what it has said is handed over when there is somebody to tell. */
export function listen(input: Readable): () => Buffer {
  const chunks: Buffer[] = []
  const keep = (chunk: Buffer) => {
    if (chunks.push(chunk) === earlyChunksMax) input.pause()
  }
  input.on('data', keep)
  return () => {
    input.off('data', keep).resume()
    return Buffer.concat(chunks)
  }
}

/** Says `hello` and what the host has said already, and everything after it until it goes `onward`. */
export function opening(stream: Duplex, hello: string, early: Buffer, host: NodeJS.Process, onward: Onward): void {
  const end = early.lastIndexOf(newline) + 1
  stream.write(Buffer.concat([Buffer.from(hello), early.subarray(0, end)]))
  // The daemon is at work from here on: what we do meanwhile costs no time.
  const { stdin: input, stdout: output } = host
  const heard: Heard[] = [{ from: 'host', chunk: early.subarray(0, end) }]
  const hear = (said: Heard, isPlain: boolean, to: Writable) => {
    if (!isPlain) return leave(said)
    heard.push(said)
    if (!to.write(said.chunk)) leave()
  }
  const fromHost = (chunk: Buffer) => hear({ from: 'host', chunk }, chunk.at(-1) === newline, stream)
  const fromDaemon = (chunk: Buffer) => {
    // WELCOME is for the pipe, and comes alone.
    const isWelcome = chunk.subarray(0, envelopeStart.length).equals(envelopeStart)
    if (isWelcome && chunk.indexOf(newline) === chunk.length - 1) heard.push({ from: 'daemon', chunk })
    else hear({ from: 'daemon', chunk }, !isWelcome && isPlainAnswer(chunk), output)
  }
  const leave = (last?: Heard) => {
    clearTimeout(timer)
    input.off('data', fromHost).off('end', leaveQuietly)
    stream.off('data', fromDaemon).off('close', leaveQuietly)
    onward(heard, last)
  }
  const leaveQuietly = () => leave()
  stream.on('data', fromDaemon).on('close', leaveQuietly)
  input.on('data', fromHost).on('end', leaveQuietly)
  const timer = setTimeout(leaveQuietly, openingMs)
  if (end < early.length) leave({ from: 'host', chunk: early.subarray(end) })
  else if (input.readableEnded) leave()
}

/** Whole lines that ask nothing and tell nothing by themselves. */
function isPlainAnswer(chunk: Buffer): boolean {
  return chunk.at(-1) === newline && !chunk.includes('"method"') && !chunk.includes('\n{"v":1,')
}
