// The thread of the loops: models are asked and their streams read here, so that the daemon's own event loop never waits for one.

import { setMaxListeners } from 'node:events'
import { setPriority } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { Loop } from './loop.ts'
import type { LoopSeat, LoopTask, ToDaemon, ToThread } from './loop-words.ts'
import { openModel } from './model.ts'
import { openServers } from './servers.ts'
import { toolsFor } from './tools.ts'

/** Words of a model come in pieces of a few letters; they are passed on together. */
const noteMs = 100
/** A model's answer may come a moment later; what agents send each other may not. */
const threadNiceness = 5

// Where a thread has a priority of its own, the daemon's goes before this one's. Elsewhere it would be the whole process's.
if (process.platform === 'linux') setPriority(threadNiceness)

const port = parentPort as MessagePort
const say = (message: ToDaemon) => port.postMessage(message)
const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
const active = new Map<string, AbortController>()
const closing = new AbortController()
setMaxListeners(0, closing.signal)
let asked = 0

port.on('message', (message: ToThread) => {
  if (message.type === 'begin') void begin(message.task)
  if (message.type === 'over') active.get(message.run)?.abort()
  if (message.type === 'answer') settle(message)
  if (message.type === 'close') {
    closing.abort()
    for (const over of active.values()) over.abort()
  }
})

function settle({ n, value, error }: Extract<ToThread, { type: 'answer' }>): void {
  const asking = waiting.get(n)
  waiting.delete(n)
  if (error === undefined) asking?.resolve(value)
  else asking?.reject(new Error(error))
}

function ask(run: string, method: keyof LoopSeat, ...args: unknown[]): Promise<never> {
  return new Promise((resolve, reject) => {
    waiting.set(++asked, { resolve: resolve as (value: unknown) => void, reject })
    say({ type: 'ask', run, n: asked, method, args })
  })
}

function seatOf(run: string): LoopSeat {
  return {
    takeMail: () => ask(run, 'takeMail'),
    received: () => ask(run, 'received'),
    mailCame: (ms) => ask(run, 'mailCame', ms),
    complete: (summary) => ask(run, 'complete', summary),
    callTool: (name, input) => ask(run, 'callTool', name, input),
  }
}

async function begin(task: LoopTask): Promise<void> {
  const { id } = task.run
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  active.set(id, over)
  if (Atomics.load(task.flag, 0) === 1) over.abort()
  const notes = new Notes(id)
  const reason = await runLoop(task, over.signal, notes).catch((error: Error) => `It failed: ${error.message}`)
  active.delete(id)
  notes.flush()
  say({ type: 'ended', run: id, reason })
}

async function runLoop(task: LoopTask, over: AbortSignal, notes: Notes): Promise<string | undefined> {
  const { run, contract, limits, flag } = task
  const seat = seatOf(run.id)
  // The last gate before the wire: however a request came about, none leaves once the run is over.
  const model = await openModel(task.model, (input, init) => {
    if (Atomics.load(flag, 0) === 1) throw new Error('the run is over')
    return fetch(input, init)
  })
  const servers = await openServers(task.servers, task.cwd, limits.serverStartMs)
  for (const trouble of servers.troubles) notes.add(`${trouble}\n`)
  try {
    const tools = await toolsFor(task.tools, seat, servers)
    const note = (text: string) => notes.add(text)
    return await new Loop({ run, contract, model, seat, tools, limits, over, closing: closing.signal, note }).run()
  } finally {
    await servers.close()
  }
}

class Notes {
  readonly #run: string
  #text = ''
  #timer: NodeJS.Timeout | undefined

  constructor(run: string) {
    this.#run = run
  }

  add(text: string): void {
    this.#text += text
    this.#timer ??= setTimeout(() => this.flush(), noteMs)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#text !== '') say({ type: 'note', run: this.#run, text: this.#text })
    this.#text = ''
  }
}
