// The daemon's side of the thread of the loops: started with the first run, ended when there has been none for a while.

import { Worker } from 'node:worker_threads'
import type { LoopSeat, LoopTask, ToDaemon, ToThread } from './loop-words.ts'

/** A thread without a run is kept this long: the next one starts at once. Then its memory is given back. */
const idleMs = 60_000
/** What is under way when the daemon stops has this long to end. */
const closeMs = 1_000

interface Active {
  seat: LoopSeat
  note(text: string): void
  end(reason: string | undefined): void
}

export class Loops {
  readonly #active = new Map<string, Active>()
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #isClosing = false

  /** Resolves when its loop has ended; with a reason where that was not asked for. */
  run(
    task: Omit<LoopTask, 'flag'>,
    seat: LoopSeat,
    over: AbortSignal,
    note: (text: string) => void,
  ): Promise<string | undefined> {
    const { id } = task.run
    const flag = new Int32Array(new SharedArrayBuffer(4))
    return new Promise((end) => {
      this.#active.set(id, { seat, note, end })
      const tell = () => {
        Atomics.store(flag, 0, 1)
        this.#say({ type: 'over', run: id })
      }
      if (over.aborted) Atomics.store(flag, 0, 1)
      over.addEventListener('abort', tell, { once: true })
      this.#thread ??= this.#start()
      clearTimeout(this.#idle)
      this.#say({ type: 'begin', task: { ...task, flag } })
    })
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#idle)
    this.#say({ type: 'close' })
    for (let waited = 0; this.#active.size > 0 && waited < closeMs; waited += 10)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await this.#thread?.terminate()
  }

  /** From the package's own `dist`, also where this file is read as TypeScript: a thread loads JavaScript alone. */
  #start(): Worker {
    const thread = new Worker(new URL('../../dist/runs/loop-thread.js', import.meta.url), { execArgv: [] })
    thread.on('message', (message: ToDaemon) => void this.#hear(message))
    thread.on('error', (error: Error) => this.#lost(thread, error.message))
    thread.on('exit', () => this.#lost(thread, 'its thread ended'))
    // It must not keep a daemon alive that has nothing else to do.
    thread.unref()
    return thread
  }

  #say(message: ToThread): void {
    this.#thread?.postMessage(message)
  }

  async #hear(message: ToDaemon): Promise<void> {
    const active = this.#active.get(message.run)
    if (message.type === 'ended') return this.#end(message.run, message.reason)
    if (message.type === 'note') return active?.note(message.text)
    const { n, method, args } = message
    try {
      if (!active) throw new Error('the run is over')
      const value = await (active.seat[method] as (...given: unknown[]) => Promise<unknown>)(...args)
      this.#say({ type: 'answer', n, value })
    } catch (error) {
      this.#say({ type: 'answer', n, error: (error as Error).message })
    }
  }

  #end(run: string, reason: string | undefined): void {
    this.#active.get(run)?.end(reason)
    this.#active.delete(run)
    if (this.#active.size > 0 || this.#isClosing) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.#thread?.terminate(), idleMs)
    this.#idle.unref()
  }

  #lost(thread: Worker, why: string): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    for (const run of [...this.#active.keys()]) this.#end(run, `The loop failed: ${why}`)
  }
}
