// Child processes of the benchmark: each plays one role, is asked over IPC, and is ended by its own process object.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Reading extra certificates at start costs a child tens of milliseconds and some memory that is not ours. */
export function bareEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, ...rest } = process.env
  return { ...rest, ...extra }
}

const alive = new Set<ChildProcess>()
const folders = new Set<string>()
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'relay-bench-'))
  folders.add(folder)
  return folder
}

interface Answered {
  n: number
  answer?: unknown
  error?: string
}

export class Child {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>()
  #n = 0

  constructor(role: string, execArgv: string[] = []) {
    const path = fileURLToPath(new URL(`roles/${role}.js`, import.meta.url))
    this.#process = fork(path, [], { env: bareEnv(), execArgv })
    alive.add(this.#process)
    this.#process.on('message', ({ n, answer, error }: Answered) => {
      const waiting = this.#waiting.get(n)
      this.#waiting.delete(n)
      if (error === undefined) waiting?.resolve(answer)
      else waiting?.reject(new Error(`${role}: ${error}`))
    })
    this.#process.on('exit', (code, signal) => {
      alive.delete(this.#process)
      for (const { reject } of this.#waiting.values()) reject(new Error(`${role} ended (${signal ?? code})`))
    })
  }

  get pid(): number {
    return this.#process.pid as number
  }

  ask<A>(question: object): Promise<A> {
    const n = this.#n++
    return new Promise((resolve, reject) => {
      this.#waiting.set(n, { resolve: resolve as (answer: unknown) => void, reject })
      this.#process.send({ n, question })
    })
  }

  async stop(): Promise<void> {
    if (!alive.has(this.#process)) return
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill('SIGTERM')
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 5_000)
    await ended
    clearTimeout(late)
  }
}
