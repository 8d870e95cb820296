// A real MCP pipe process, started as an editor or CLI starts it, whose JSON-RPC lines a test writes and reads by hand.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

// biome-ignore lint/suspicious/noExplicitAny: tests read any field of an answer
type Json = any
type Id = number | string | null

export class RawPipe {
  readonly child: ChildProcess
  readonly lines: Json[] = []
  readonly ended: Promise<{ code: number | null; stderr: string }>
  stderr = ''
  #id = 0
  #rest = ''
  #waiting: { id: Id; resolve(line: Json): void }[] = []

  constructor(args: string[], env: NodeJS.ProcessEnv, cwd: string) {
    this.child = spawn(process.execPath, args, { env, cwd, stdio: 'pipe' })
    this.child.stdin?.on('error', () => {})
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n')
      this.#rest = parts.pop() as string
      for (const part of parts) this.#take(JSON.parse(part))
    })
    this.ended = once(this.child, 'close').then(([code]) => {
      for (const { resolve } of this.#waiting.splice(0)) resolve({ error: { message: 'the pipe has ended' } })
      return { code, stderr: this.stderr }
    })
  }

  write(text: string): void {
    this.child.stdin?.write(text)
  }

  say(message: object): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Writes a request and returns its id, without waiting for the answer. */
  post(method: string, params: object = {}): number {
    this.say({ id: this.#id, method, params })
    return this.#id++
  }

  /** Waits for the first line that answers this id; if the pipe ends first, the line is an error. */
  answer(id: Id): Promise<Json> {
    const found = this.lines.find((line) => isAnswer(line, id))
    if (found !== undefined) return Promise.resolve(found)
    return new Promise((resolve) => this.#waiting.push({ id, resolve }))
  }

  ask(method: string, params: object = {}): Promise<Json> {
    return this.answer(this.post(method, params))
  }

  async initialize(name = 'raw'): Promise<void> {
    await this.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name, version: '1' },
    })
    this.say({ method: 'notifications/initialized' })
  }

  postCall(name: string, args: object = {}): number {
    return this.post('tools/call', { name, arguments: args })
  }

  async call(name: string, args: object = {}): Promise<string> {
    const { result, error } = await this.answer(this.postCall(name, args))
    return error === undefined ? toolText(result) : error.message
  }

  async end(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }

  #take(line: Json): void {
    this.lines.push(line)
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ id }) => !isAnswer(line, id))
    for (const { id, resolve } of waiting) if (isAnswer(line, id)) resolve(line)
  }
}

function isAnswer(line: Json, id: Id): boolean {
  return line.id === id && line.method === undefined
}

export function toolText(result: Json): string {
  return result.content.map(({ text }: Json) => text).join('')
}
