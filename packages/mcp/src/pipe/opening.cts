// The first moments of a pipe: sends HELLO, passes simple lines on as they come, and remembers them. The full pipe (pipe.cts) is loaded once the host
// has its list of tools, and is given the remembered lines: loading it takes a tenth of Node.js's own start, and the host should not wait for that.

import type { Duplex, Readable, Writable } from 'node:stream'
import { frameLine, frameStart } from '@agent-relay/sdk/internal/wire-client'

export interface PipeIdentity {
  /** The pipe's id, the same for as long as the host's session lasts, whichever daemon serves it. */
  pipe: string
  name?: string
  type?: string
  /** A provisional name that an earlier daemon gave the agent. */
  given?: string
  token?: string
  key?: string
  strict?: boolean
  tools?: string
  push?: string
  /** The process that started the pipe: it also starts the hooks of the same host, which speak for the same agent. */
  host?: number
  /** The pipe's working directory: the agent is assumed to work there if nothing better is known. */
  cwd?: string
}

/** The line that opens the connection. `calls`: requests that an earlier daemon was sent and never answered. */
export function helloLine(identity: PipeIdentity, calls?: (string | number)[]): string {
  return frameLine('HELLO', 'pipe', { mcp: { ...identity, calls } })
}

export interface CarriedChunk {
  from: 'host' | 'daemon'
  chunk: Buffer
}

/** Called once at the end of the opening: when its time is over, or with a `last` chunk that the full pipe must read, and that has not been passed on. */
export type OnOpeningEnd = (heard: CarriedChunk[], last?: CarriedChunk) => void

const newline = 10
/** Duration of the opening in ms: enough for the list of tools, which hosts ask for at once. */
const openingMs = 50
/** Beyond this many chunks the host's input is paused until a daemon is found. */
const earlyChunksMax = 64

/** Collects the host's input from now on; the returned function stops that and returns the collected bytes. */
export function collectInput(input: Readable): () => Buffer {
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

/** Sends `hello` and the host's early lines, then passes lines both ways until it calls `onward`. */
export function runOpening(
  stream: Duplex,
  hello: string,
  early: Buffer,
  host: NodeJS.Process,
  onward: OnOpeningEnd,
): void {
  const end = early.lastIndexOf(newline) + 1
  stream.write(Buffer.concat([Buffer.from(hello), early.subarray(0, end)]))
  // The daemon works on these lines from here on, so the pipe's own work below delays nobody.
  const { stdin: input, stdout: output } = host
  const heard: CarriedChunk[] = [{ from: 'host', chunk: early.subarray(0, end) }]
  const hear = (said: CarriedChunk, isPlain: boolean, to: Writable) => {
    if (!isPlain) return leave(said)
    heard.push(said)
    if (!to.write(said.chunk)) leave()
  }
  const fromHost = (chunk: Buffer) => hear({ from: 'host', chunk }, chunk.at(-1) === newline, stream)
  const fromDaemon = (chunk: Buffer) => {
    // WELCOME is not passed on to the host. It arrives in a chunk of its own.
    const isWelcome = isRelayFrame(chunk)
    if (isWelcome && chunk.indexOf(newline) === chunk.length - 1) heard.push({ from: 'daemon', chunk })
    else hear({ from: 'daemon', chunk }, !isWelcome && isPlainAnswer(chunk), output)
  }
  const leave = (last?: CarriedChunk) => {
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

const start = Buffer.from(frameStart)

/** Whether a line is a frame of the relay's own protocol, and so for the pipe itself. */
export function isRelayFrame(line: Buffer): boolean {
  return line.subarray(0, start.length).equals(start)
}

/** Whether the chunk consists of whole lines that are only answers: no requests and no notifications. */
function isPlainAnswer(chunk: Buffer): boolean {
  return chunk.at(-1) === newline && !chunk.includes('"method"') && !chunk.includes(`\n${frameStart}`)
}
