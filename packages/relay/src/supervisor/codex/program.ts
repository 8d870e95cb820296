// One conversation of Codex's background server, as a program that a person has started: its activity, and how a text begins a turn in it.

import { randomUUID } from 'node:crypto'
import { cliOf } from '@agent-relay/sdk/internal/clis'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import type { HeldMail, MailWithBrief } from '../../broker/waking/user-session-runtime.ts'
import type { AnswerPath, LastWords, ProgramListener, UserProgram } from '../user-program.ts'
import type { AppServer, CodexThread } from './app-server.ts'
import type { CodexQuestions } from './questions.ts'

/** Pause after the server has refused a turn. */
const turnRefusedMs = 30_000
/** What a conversation waits for, by the flag in its status. */
const waitReasons = { waitingOnApproval: 'approval', waitingOnUserInput: 'an answer' }

/** Mail of which nobody knows whether the server has taken it: the connection ended before the server's answer. */
export interface UnconfirmedMail {
  thread: string
  id: string
  held: HeldMail
}

interface CodexProgramOptions {
  server(): AppServer | undefined
  questions: CodexQuestions
  /** The server's process number, if it is known. */
  host: number | undefined
  listener: ProgramListener
  onUnconfirmed(lost: UnconfirmedMail): void
  /** Called when the server no longer knows the conversation. */
  onGone(): void
}

export class CodexProgram implements UserProgram {
  readonly #options: CodexProgramOptions
  thread: CodexThread
  /** The last compaction of the model's memory that was found; below it, whether the agent still has to be told of it. */
  #compaction: string | undefined
  #isCompacted = false
  #isLookingForCompaction = false
  /** The turn that the server was asked to begin and has not answered about yet. */
  #unansweredTurn: string | undefined
  /** The earliest time for the next turn after a refusal, in milliseconds of the monotonic clock. */
  #notBefore = 0
  /** Why the server refused the last turn; unset once it takes a turn again. */
  #refusal: string | undefined

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

  get doing(): UserProgram['doing'] {
    const { type, activeFlags = [] } = this.thread.status
    if (type === 'notLoaded') return undefined
    if (type !== 'active') return { state: 'idle' }
    const waitsFor = Object.entries(waitReasons).find(([flag]) => activeFlags.includes(flag))?.[1]
    return waitsFor === undefined ? { state: 'busy' } : { state: 'waiting', for: waitsFor }
  }

  get note(): string | undefined {
    return this.#refusal
  }

  get isReachable(): boolean {
    return true
  }

  /** Whether mail may be given: not while a turn is under way or a question to the person is open. After a failed turn, the server accepts another one. */
  get canTakeText(): boolean {
    const { type } = this.thread.status
    const isFree = (type === 'idle' || type === 'systemError') && !this.#isLookingForCompaction
    return isFree && performance.now() >= this.#notBefore
  }

  wasCompacted(): boolean {
    const wasCut = this.#isCompacted
    this.#isCompacted = false
    return wasCut
  }

  onStatus(status: CodexThread['status']): void {
    this.thread.status = status
    if (this.doing?.state !== 'waiting') this.#options.questions.dropThread(this.key)
  }

  async lookForCompaction(): Promise<void> {
    const server = this.#options.server()
    if (!this.canTakeText || !server) return
    // Mail waits until this search has ended: after a compaction, the agent's brief goes out with the mail.
    this.#isLookingForCompaction = true
    const found = await server.lastCompaction(this.key).catch(() => undefined)
    this.#isLookingForCompaction = false
    if (found === undefined || this.#compaction === found) return
    this.#compaction = found
    this.#isCompacted = true
  }

  async give(held: MailWithBrief, { hasOurTools, sendTool, lastWordsTo, onTurn }: AnswerPath): Promise<void> {
    const { listener, onUnconfirmed, ...options } = this.#options
    const server = options.server()
    if (!server) return held.release()
    // The conversation counts as busy from now on, so that nothing else begins a turn in it before this turn has ended.
    this.thread.status = { type: 'active' }
    const { messages, briefText } = held
    const way = hasOurTools ? { sendTool } : { lastWordsTo }
    const text = injectionText(messages, { toolPrefix: cliOf('codex').toolPrefix, ...way, opening: briefText })
    const id = randomUUID()
    onTurn(id)
    this.#unansweredTurn = id
    const outcome = await server.startTurn(this.key, text, id)
    this.#unansweredTurn = undefined
    this.#refusal = outcome === 'refused' ? 'Codex has refused the last message' : undefined
    if (outcome === 'taken') await held.markOffered('app-server')
    else if (outcome === 'lost') return onUnconfirmed({ thread: this.key, id, held })
    else {
      this.#notBefore = performance.now() + turnRefusedMs
      setTimeout(() => listener.onChange(), turnRefusedMs).unref()
      held.release()
      await this.#readStatus(server)
    }
    listener.onChange()
  }

  async lastWords(turn: string): Promise<LastWords | undefined> {
    const server = this.#options.server()
    return server && turn !== this.#unansweredTurn ? { words: await server.lastWords(this.key, turn) } : undefined
  }

  /**
   * Questions are answered from here only if the server's process number is known: otherwise a command of the server's own agent could pass for the
   * person, and answer.
   */
  get readDialog(): UserProgram['readDialog'] {
    const { host, questions, server } = this.#options
    if (host === undefined) return undefined
    return async () => {
      const its = server()
      return its && questions.readDialog(its, this.key, this.directory)
    }
  }

  /** Reads the conversation's state again after a refused turn. */
  async #readStatus(server: AppServer): Promise<void> {
    const now = await server.readThread(this.key).catch(() => undefined)
    if (now) this.thread.status = now.status
    else this.#options.onGone()
  }
}
