// One conversation of Codex's background server, as a program that a person has started: what it does, and how a text begins a turn there.

import { randomUUID } from 'node:crypto'
import { cliOf } from '@agent-relay/sdk/internal/clis'
import { answerAddress, injectionText } from '@agent-relay/sdk/internal/injection'
import { daemonName } from '@agent-relay/sdk/protocol'
import type { HeldMail, OpenedMail } from '../../broker/wake-runtime.ts'
import type { Dialog } from '../dialog.ts'
import type { Answering, OwnListener, OwnProgram } from '../own-program.ts'
import type { AppServer, CodexThread } from './app-server.ts'
import type { CodexQuestions } from './questions.ts'

/** After a turn that the server has refused. */
const turnRefusedMs = 30_000
/** What a conversation waits for, by the server's flag. */
const waitings = { waitingOnApproval: 'approval', waitingOnUserInput: 'an answer' }

/** Mail of which nobody knows whether the server has taken it: the connection ended first. */
export interface Lost {
  thread: string
  id: string
  held: HeldMail
}

interface CodexProgramOptions {
  server(): AppServer | undefined
  questions: CodexQuestions
  /** The process of the server. */
  host: number | undefined
  listener: OwnListener
  onLost(lost: Lost): void
  /** The server does not know the conversation any more. */
  onGone(): void
}

/** A turn that messages began, whose last words are the answer to them: its model has no tool of ours. */
interface Answered {
  turn: string
  to: readonly string[]
}

export class CodexProgram implements OwnProgram {
  readonly #options: CodexProgramOptions
  thread: CodexThread
  /** The last compaction that was seen, and whether its agent is still to be told. */
  #compaction: string | undefined
  #isCut = false
  #isLookingForCut = false
  /** No turn is begun before this time: the last one was refused. */
  #notBefore = 0
  /** Why: it is not reached until a turn is taken again. */
  #refusal: string | undefined
  #answered: Answered | undefined

  constructor(thread: CodexThread, options: CodexProgramOptions) {
    this.thread = thread
    this.#options = options
  }

  get key(): string {
    return this.thread.id
  }

  get conversation(): string {
    return this.thread.id
  }

  get directory(): string {
    return this.thread.cwd
  }

  get name(): string {
    return this.thread.name ?? 'codex'
  }

  get host(): number | undefined {
    return this.#options.host
  }

  get doing(): OwnProgram['doing'] {
    const { type, activeFlags = [] } = this.thread.status
    if (type === 'notLoaded') return undefined
    if (type !== 'active') return { state: 'idle' }
    const waitsFor = Object.entries(waitings).find(([flag]) => activeFlags.includes(flag))?.[1]
    return waitsFor === undefined ? { state: 'busy' } : { state: 'waiting', for: waitsFor }
  }

  get note(): string | undefined {
    return this.#refusal
  }

  get isReachable(): boolean {
    return true
  }

  /** Mail waits while a turn is under way, and so also while a question to the person is open. After a turn that failed it takes the next one. */
  get isOpen(): boolean {
    const { type } = this.thread.status
    const isFree = (type === 'idle' || type === 'systemError') && !this.#isLookingForCut
    return isFree && performance.now() >= this.#notBefore
  }

  wasCut(): boolean {
    const wasCut = this.#isCut
    this.#isCut = false
    return wasCut
  }

  hears(status: CodexThread['status']): void {
    this.thread.status = status
    if (this.doing?.state !== 'waiting') this.#options.questions.isOver(this.key)
    if (status.type !== 'active') void this.#answer().catch(this.#options.listener.onTrouble)
  }

  async lookForCut(): Promise<void> {
    const server = this.#options.server()
    if (!this.isOpen || !server) return
    // What waits is given once that is known: its agent's brief goes with it.
    this.#isLookingForCut = true
    const found = await server.lastCompaction(this.key).catch(() => undefined)
    this.#isLookingForCut = false
    if (found === undefined || this.#compaction === found) return
    this.#compaction = found
    this.#isCut = true
  }

  async give(held: OpenedMail, { hasOurTools, sendTool }: Answering): Promise<void> {
    const { listener, onLost, ...options } = this.#options
    const server = options.server()
    if (!server) return held.release()
    // From here on it counts as busy, so that nothing else begins a turn before this one has ended.
    this.thread.status = { type: 'active' }
    const { messages, opening } = held
    const answerable = messages.filter(
      (each) => each.kind !== 'status' && each.channel === undefined && each.to !== '*',
    )
    const to = [...new Set(answerable.map(answerAddress))].filter((name) => name !== daemonName)
    const way = hasOurTools ? { sendTool } : { lastWordsTo: to }
    const text = injectionText(messages, { toolPrefix: cliOf('codex').toolPrefix, ...way, opening })
    const id = randomUUID()
    // Before it is sent: a short turn is over before its beginning was answered.
    this.#answered = hasOurTools || to.length === 0 ? undefined : { turn: id, to }
    const outcome = await server.startTurn(this.key, text, id)
    this.#refusal = outcome === 'refused' ? 'Codex has refused the last message' : undefined
    if (outcome === 'taken') await held.offered('app-server')
    else if (outcome === 'lost') return onLost({ thread: this.key, id, held })
    else {
      this.#answered = undefined
      this.#notBefore = performance.now() + turnRefusedMs
      setTimeout(() => listener.onChange(), turnRefusedMs).unref()
      held.release()
      await this.#lookAgain(server)
    }
    listener.onChange()
  }

  asked(): Promise<Dialog | undefined> {
    const server = this.#options.server()
    return server ? this.#options.questions.dialog(server, this.key, this.directory) : Promise.resolve(undefined)
  }

  /** After a turn that was refused: what became of the conversation? */
  async #lookAgain(server: AppServer): Promise<void> {
    const now = await server.read(this.key).catch(() => undefined)
    if (now) this.thread.status = now.status
    else this.#options.onGone()
  }

  /** The turn is over: its last words go to those who wrote. They are no question, so that two such sessions do not answer each other without end. */
  async #answer(): Promise<void> {
    const { listener, server } = this.#options
    const answered = this.#answered
    const body =
      answered &&
      (await server()
        ?.lastWords(this.key, answered.turn)
        .catch(() => undefined))
    if (!body || this.#answered !== answered) return
    this.#answered = undefined
    for (const [i, to] of answered.to.entries())
      await listener.onSaid(this, { id: `${answered.turn}-${i}`, to, body, kind: 'status' })
  }
}
