// The worker thread that runs the built-in agent loops. It calls the models and reads their streams, so that the daemon's own event loop never waits for a
// model.

import { setMaxListeners } from 'node:events'
import { setPriority } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { Loop } from './loop.ts'
import type { LoopTask, MessageToDaemon, MessageToThread, RunAgentCalls } from './loop-protocol.ts'
import { openModel } from './model.ts'
import { combineTools, openProjectServers } from './tools.ts'

/** Interval at which a model's output is passed on to the daemon: the output arrives in pieces of a few letters, which are joined meanwhile. */
const noteMs = 100
/** Priority of this thread (its nice value): a model's answer may be delayed a little, messages between agents may not. */
const threadNiceness = 5

// On Linux a thread has its own priority, so the daemon's event loop goes first. On other systems the call would change the whole process.
if (process.platform === 'linux') setPriority(threadNiceness)

class LoopThread {
  readonly #port: MessagePort
  /** Calls to the daemon that wait for their answer, by call number. */
  readonly #unanswered = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  /** The abort controller of each active run's loop, by run id. */
  readonly #active = new Map<string, AbortController>()
  readonly #closing = new AbortController()
  #calls = 0

  constructor(port: MessagePort) {
    this.#port = port
    setMaxListeners(0, this.#closing.signal)
    port.on('message', (message: MessageToThread) => this.#onMessage(message))
  }

  #onMessage(message: MessageToThread): void {
    if (message.type === 'begin') void this.#begin(message.task)
    if (message.type === 'over') this.#active.get(message.run)?.abort()
    if (message.type === 'answer') this.#onAnswer(message)
    if (message.type === 'close') {
      this.#closing.abort()
      for (const over of this.#active.values()) over.abort()
    }
  }

  #post(message: MessageToDaemon): void {
    this.#port.postMessage(message)
  }

  #onAnswer({ n, value, error }: Extract<MessageToThread, { type: 'answer' }>): void {
    const call = this.#unanswered.get(n)
    this.#unanswered.delete(n)
    if (error === undefined) call?.resolve(value)
    else call?.reject(new Error(error))
  }

  #ask(run: string, method: keyof RunAgentCalls, ...args: unknown[]): Promise<never> {
    return new Promise((resolve, reject) => {
      this.#unanswered.set(++this.#calls, { resolve: resolve as (value: unknown) => void, reject })
      this.#post({ type: 'ask', run, n: this.#calls, method, args })
    })
  }

  #agentOf(run: string): RunAgentCalls {
    return {
      takeMail: () => this.#ask(run, 'takeMail'),
      markRead: () => this.#ask(run, 'markRead'),
      waitForMail: (ms) => this.#ask(run, 'waitForMail', ms),
      complete: (summary) => this.#ask(run, 'complete', summary),
      recordSpend: (n, tokens) => this.#ask(run, 'recordSpend', n, tokens),
      callTool: (name, input) => this.#ask(run, 'callTool', name, input),
    }
  }

  async #begin(task: LoopTask): Promise<void> {
    const { id } = task.run
    const over = new AbortController()
    setMaxListeners(0, over.signal)
    this.#active.set(id, over)
    if (Atomics.load(task.overFlag, 0) === 1) over.abort()
    const notes = new Notes((text) => this.#post({ type: 'note', run: id, text }))
    const reason = await this.#loop(task, over.signal, notes).catch((error: Error) => `It failed: ${error.message}`)
    this.#active.delete(id)
    notes.flush()
    this.#post({ type: 'ended', run: id, reason })
  }

  async #loop(task: LoopTask, over: AbortSignal, notes: Notes): Promise<string | undefined> {
    const { run, contract, limits, overFlag } = task
    const agent = this.#agentOf(run.id)
    const closing = this.#closing.signal
    // Each request to the model checks the flag last, since no request may leave once the run is over.
    const model = await openModel(task.model, (input, init) => {
      if (Atomics.load(overFlag, 0) === 1) throw new Error('the run is over')
      return fetch(input, init)
    })
    const servers = await openProjectServers(task.servers, limits.serverStartMs)
    for (const trouble of servers.troubles) notes.add(`${trouble}\n`)
    try {
      const tools = await combineTools(task.tools, agent, servers)
      const note = (text: string) => notes.add(text)
      return await new Loop({ run, contract, model, agent, tools, limits, over, closing, note }).run()
    } finally {
      await servers.close()
    }
  }
}

class Notes {
  readonly #send: (text: string) => void
  #text = ''
  #timer: NodeJS.Timeout | undefined

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  add(text: string): void {
    this.#text += text
    this.#timer ??= setTimeout(() => this.flush(), noteMs)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#text !== '') this.#send(this.#text)
    this.#text = ''
  }
}

new LoopThread(parentPort as MessagePort)
