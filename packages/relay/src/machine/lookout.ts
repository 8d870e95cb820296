// A lookout looks at paths that somebody else has named, in a process of its own: a dead network mount holds up whoever looks at it, for as long
// as it is dead, and a thread that is held up keeps its process from ending. What there is to see is in checkout.ts.

import { type ChildProcess, fork } from 'node:child_process'
import { dirname, isAbsolute, resolve, sep } from 'node:path'
import type { Looked, Question } from './checkout.ts'

/** A disk answers within a millisecond; a network, or a machine with too much to do, within a second or two. */
const lookoutMs = 3_000
/** Starting a Node takes its time on a busy machine, and is not a file system that hangs. */
const startMs = 30_000
/** An idle process is kept this long, so that the next question is answered at once. Then its memory is freed. */
const idleMs = 5 * 60_000
/** Directories that held it up are not looked at again for so long; and so many of them are remembered. */
const stuckMs = 60_000
const stuckMax = 100
/** Questions that wait: beyond this number nobody is asked. */
const waitingMax = 10_000

interface Waiting {
  asker: string
  question: Question
  done(looked: Looked | undefined): void
  /** The process that was asked first is gone. */
  isAgain?: boolean
}

type FromProcess = { isReady: true } | { looked: Looked }

export class Lookout {
  readonly #answerMs: number
  /** By asker: each has a turn, however many questions another has. */
  readonly #waiting = new Map<string, Waiting[]>()
  /** Directories that held it up, until when. */
  readonly #stuck = new Map<string, number>()
  #count = 0
  #process: ChildProcess | undefined
  #isReady = false
  #asked: Waiting | undefined
  #alarm: NodeJS.Timeout | undefined

  constructor({ answerMs = lookoutMs } = {}) {
    this.#answerMs = answerMs
  }

  /** Undefined where the file system does not answer in time: then nothing is known. */
  look(question: Question, asker: string): Promise<Looked | undefined> {
    if (this.#count >= waitingMax) return Promise.resolve(undefined)
    return new Promise((done) => {
      this.#wait({ asker, question, done })
      this.#next()
      this.#hold()
    })
  }

  #wait(waiting: Waiting): void {
    this.#count++
    const theirs = this.#waiting.get(waiting.asker)
    if (theirs) theirs.push(waiting)
    else this.#waiting.set(waiting.asker, [waiting])
  }

  /** Of the asker whose turn it is. */
  #take(): Waiting | undefined {
    for (const [asker, theirs] of this.#waiting) {
      const waiting = theirs.shift()
      this.#waiting.delete(asker)
      if (theirs.length > 0) this.#waiting.set(asker, theirs)
      this.#count--
      return waiting
    }
    return undefined
  }

  close(): void {
    this.#process?.kill('SIGKILL')
  }

  #next(): void {
    if (this.#asked || this.#count === 0) return
    this.#process ??= this.#start()
    if (!this.#isReady) return
    let waiting = this.#take()
    for (; waiting && this.#isStuck(waiting.question); waiting = this.#take()) waiting.done(undefined)
    if (!waiting) return
    const { question } = waiting
    this.#asked = waiting
    this.#process.send(question)
    this.#wake(this.#answerMs, () => this.#giveUp(question))
  }

  /** One alarm at a time: for a start, for an answer, or for the end of an idle process. */
  #wake(ms: number, work: () => void): void {
    clearTimeout(this.#alarm)
    const process = this.#process
    // What came while this process itself was busy is heard first.
    const late = () => setImmediate(() => this.#alarm === alarm && this.#process === process && work())
    const alarm = setTimeout(late, ms).unref()
    this.#alarm = alarm
  }

  #giveUp(question: Question): void {
    if (this.#asked?.question !== question) return
    for (const directory of directoriesOf(question)) {
      if (this.#stuck.size >= stuckMax) this.#stuck.clear()
      this.#stuck.set(directory, performance.now() + stuckMs)
    }
    this.#answer(undefined)
    this.#process?.kill('SIGKILL')
    this.#lost(this.#process)
  }

  #isStuck(question: Question): boolean {
    const now = performance.now()
    for (const [directory, until] of this.#stuck) if (until < now) this.#stuck.delete(directory)
    if (this.#stuck.size === 0) return false
    const stuck = [...this.#stuck.keys()]
    return directoriesOf(question).some((each) => stuck.some((way) => each === way || each.startsWith(way + sep)))
  }

  /** From the package's own `dist`, also where this file is read as TypeScript: a Node of its own loads JavaScript alone. */
  #start(): ChildProcess {
    const file = new URL('../../dist/machine/lookout-process.js', import.meta.url)
    const started = fork(file, [], { cwd: sep, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    // What one that was given up has still said is the answer to another question.
    started.on('message', (message: FromProcess) => this.#process === started && this.#hear(message))
    started.on('error', () => this.#lost(started))
    started.on('exit', () => this.#lost(started))
    // An idle one must not keep a daemon alive that has nothing else to do.
    started.unref()
    this.#process = started
    this.#hold()
    this.#wake(startMs, () => started.kill('SIGKILL'))
    return started
  }

  #hear(message: FromProcess): void {
    if ('isReady' in message) this.#isReady = true
    else this.#answer(message.looked)
    this.#wake(idleMs, () => this.#dismiss())
    this.#next()
    this.#hold()
  }

  /** Whoever waits for an answer does not end before it. */
  #hold(): void {
    const channel = this.#process?.channel
    if (this.#asked || this.#count > 0) channel?.ref()
    else channel?.unref()
  }

  #dismiss(): void {
    const process = this.#process
    this.#process = undefined
    this.#isReady = false
    process?.disconnect()
  }

  #answer(looked: Looked | undefined): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.done(looked)
  }

  #lost(process: ChildProcess | undefined): void {
    if (process === undefined || process !== this.#process) return
    const hadBegun = this.#isReady
    this.#process = undefined
    this.#isReady = false
    clearTimeout(this.#alarm)
    const asked = this.#asked
    this.#asked = undefined
    // Somebody else has ended it: the next one is asked, once.
    if (asked?.isAgain) asked.done(undefined)
    else if (asked) this.#wait({ ...asked, isAgain: true })
    // One that cannot be started now is not started over and over.
    if (!hadBegun) while (this.#count > 0) this.#take()?.done(undefined)
    this.#next()
  }
}

function directoriesOf({ cwd, files, trees = [], directory }: Question): string[] {
  if (!isAbsolute(cwd)) return []
  const above = [...files, ...trees].map((file) => dirname(resolve(cwd, file)))
  return [...new Set(directory === undefined ? above : [...above, resolve(cwd, directory)])]
}

/** One for all workspaces of a daemon. */
export const lookout = new Lookout()
