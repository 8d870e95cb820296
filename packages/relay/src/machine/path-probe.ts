// Looks at paths that somebody else has named, in a separate process, the path probe: a dead network mount blocks every process that looks at it, and a blocked
// thread keeps its process from ending. checkout.ts answers the questions.

import { type ChildProcess, fork } from 'node:child_process'
import { dirname, isAbsolute, resolve, sep } from 'node:path'
import type { PathAnswer, PathQuestion } from './checkout.ts'

/** Maximum time for an answer of the probe. A disk answers within a millisecond; a network, or an overloaded machine, within a second or two. */
const probeMs = 3_000
/** Maximum time for the probe's process to start: on a busy machine starting Node takes long, without any file system hanging. */
const startMs = 30_000
/** How long an idle probe process is kept, so that the next question is answered at once. Then its memory is freed. */
const idleMs = 5 * 60_000
/** Time for which a directory that blocked the probe is not looked at again, and maximum number of such directories. */
const stuckMs = 60_000
const stuckMax = 100
/** Maximum number of waiting questions; further questions are answered at once with undefined. */
const waitingMax = 10_000

interface Waiting {
  asker: string
  question: PathQuestion
  done(looked: PathAnswer | undefined): void
  /** Whether this is the second try of the question, since the probe process that was asked first has ended. */
  isAgain?: boolean
}

type FromProcess = { isReady: true } | { looked: PathAnswer }

export class PathProbe {
  readonly #answerMs: number
  /** Waiting questions by asker. The askers take turns, however many questions each of them has. */
  readonly #waiting = new Map<string, Waiting[]>()
  /** Directories that blocked the probe, each with the time until which it is avoided. */
  readonly #stuck = new Map<string, number>()
  #count = 0
  #process: ChildProcess | undefined
  #isReady = false
  #asked: Waiting | undefined
  #alarm: NodeJS.Timeout | undefined

  constructor({ answerMs = probeMs } = {}) {
    this.#answerMs = answerMs
  }

  /** Asks the probe to look at paths. Undefined if the file system does not answer in time: then nothing is known. */
  ask(question: PathQuestion, asker: string): Promise<PathAnswer | undefined> {
    if (this.#count >= waitingMax) return Promise.resolve(undefined)
    return new Promise((done) => {
      this.#enqueue({ asker, question, done })
      this.#next()
      this.#keepAlive()
    })
  }

  #enqueue(waiting: Waiting): void {
    this.#count++
    const theirs = this.#waiting.get(waiting.asker)
    if (theirs) theirs.push(waiting)
    else this.#waiting.set(waiting.asker, [waiting])
  }

  /** Takes the first question of the asker whose turn it is. */
  #dequeue(): Waiting | undefined {
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
    let waiting = this.#dequeue()
    for (; waiting && this.#isStuck(waiting.question); waiting = this.#dequeue()) waiting.done(undefined)
    if (!waiting) return
    const { question } = waiting
    this.#asked = waiting
    this.#process.send(question)
    this.#setAlarm(this.#answerMs, () => this.#giveUp(question))
  }

  /** Sets the only timer of the probe, which limits a start, an answer, or an idle time. */
  #setAlarm(ms: number, work: () => void): void {
    clearTimeout(this.#alarm)
    const process = this.#process
    // Answers that arrived while the daemon's own process was busy are handled before the timeout counts.
    const late = () => setImmediate(() => this.#alarm === alarm && this.#process === process && work())
    const alarm = setTimeout(late, ms).unref()
    this.#alarm = alarm
  }

  #giveUp(question: PathQuestion): void {
    if (this.#asked?.question !== question) return
    for (const directory of directoriesOf(question)) {
      if (this.#stuck.size >= stuckMax) this.#stuck.clear()
      this.#stuck.set(directory, performance.now() + stuckMs)
    }
    this.#answer(undefined)
    this.#process?.kill('SIGKILL')
    this.#onProcessEnd(this.#process)
  }

  #isStuck(question: PathQuestion): boolean {
    const now = performance.now()
    for (const [directory, until] of this.#stuck) if (until < now) this.#stuck.delete(directory)
    if (this.#stuck.size === 0) return false
    const stuck = [...this.#stuck.keys()]
    return directoriesOf(question).some((each) => stuck.some((way) => each === way || each.startsWith(way + sep)))
  }

  /** Starts the probe's process from the package's own `dist`, even if this file runs as TypeScript: a new Node process loads only JavaScript. */
  #start(): ChildProcess {
    const file = new URL('../../dist/machine/path-probe-process.js', import.meta.url)
    const started = fork(file, [], { cwd: sep, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    // A probe process that was given up may still send an answer; it belongs to an earlier question and is ignored.
    started.on('message', (message: FromProcess) => this.#process === started && this.#onMessage(message))
    started.on('error', () => this.#onProcessEnd(started))
    started.on('exit', () => this.#onProcessEnd(started))
    // An idle probe must not keep a daemon alive that has nothing else to do.
    started.unref()
    this.#process = started
    this.#keepAlive()
    this.#setAlarm(startMs, () => started.kill('SIGKILL'))
    return started
  }

  #onMessage(message: FromProcess): void {
    if ('isReady' in message) this.#isReady = true
    else this.#answer(message.looked)
    this.#setAlarm(idleMs, () => this.#dismiss())
    this.#next()
    this.#keepAlive()
  }

  /** Keeps the daemon's process alive while a question waits for its answer. */
  #keepAlive(): void {
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

  #answer(looked: PathAnswer | undefined): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.done(looked)
  }

  #onProcessEnd(process: ChildProcess | undefined): void {
    if (process === undefined || process !== this.#process) return
    const hadBegun = this.#isReady
    this.#process = undefined
    this.#isReady = false
    clearTimeout(this.#alarm)
    const asked = this.#asked
    this.#asked = undefined
    // If the probe process was ended from outside, its question goes to the next probe process, once.
    if (asked?.isAgain) asked.done(undefined)
    else if (asked) this.#enqueue({ ...asked, isAgain: true })
    // If the probe process failed to start, all waiting questions get undefined, instead of one failing start after another.
    if (!hadBegun) while (this.#count > 0) this.#dequeue()?.done(undefined)
    this.#next()
  }
}

function directoriesOf({ cwd, files, trees = [], directory }: PathQuestion): string[] {
  if (!isAbsolute(cwd)) return []
  const above = [...files, ...trees].map((file) => dirname(resolve(cwd, file)))
  return [...new Set(directory === undefined ? above : [...above, resolve(cwd, directory)])]
}

/** The one path probe for all workspaces of a daemon. */
export const pathProbe = new PathProbe()
