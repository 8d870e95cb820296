// Follows the events of opencode's own server: which conversations are busy, which questions wait for a person, and the tokens of each answer. While
// the server does not answer, the state is unknown here.

import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import {
  type CliFollower,
  type CliListener,
  type CliSpend,
  type CliState,
  reconnectMs,
  turnStartMs,
} from '../cli-server.ts'

/** Maximum number of characters in an event; no event that is used here is as long. */
const eventCharsMax = 8 * 1024 * 1024
/** Maximum number of answers that are remembered as recorded: opencode may report an answer once more afterwards. */
const recordedAnswersMax = 1_000
/** Matches events with parts of an answer's text, which are most of all events; they are skipped. */
const isTextEvent = /^data: \{(?:"id":"[^"]*",)?"type":"message\.part/

const Id = z.string().max(limits.idCharsMax)
const Status = z.object({ type: z.string() })
/** The state of each conversation; a conversation that is not listed is idle. */
export const ConversationStatuses = z.record(Id, Status)
const Conversation = z.object({ parentID: Id.optional() })
const AskedRequest = z.object({ id: Id, sessionID: Id })
const event = <T extends string, P extends z.ZodType>(type: T, properties: P) =>
  z.object({ type: z.literal(type), properties })
const Answer = z.object({
  id: Id,
  role: z.literal('assistant'),
  cost: z.number(),
  tokens: z.object({
    input: z.number(),
    output: z.number(),
    reasoning: z.number(),
    cache: z.object({ read: z.number(), write: z.number() }),
  }),
  modelID: z.string(),
  providerID: z.string(),
})
const AnsweredRequest = z.object({ requestID: Id })
const Event = z.union([
  event('server.connected', z.unknown()),
  event('session.status', z.object({ sessionID: Id, status: Status })),
  event('session.deleted', z.object({ sessionID: Id })),
  event('permission.asked', AskedRequest),
  event('permission.replied', AnsweredRequest),
  event('question.asked', AskedRequest),
  event('question.replied', AnsweredRequest),
  event('question.rejected', AnsweredRequest),
  event('message.updated', z.object({ info: Answer })),
])

type Answer = z.infer<typeof Answer>
type AskedKind = 'permission' | 'question'

export interface OpencodeEventSource {
  /** Opens the stream of events. */
  open(signal: AbortSignal): Promise<Response>
  ask(method: string, path: string): Promise<unknown>
}

export class OpencodeEvents implements CliFollower {
  readonly #source: OpencodeEventSource
  readonly #listener: CliListener
  readonly #end = new AbortController()
  readonly #busy = new Set<string>()
  /** Open questions to a person, by the question's id, each with its conversation. */
  readonly #questions = new Map<string, { session: string; kind: AskedKind }>()
  /** The model's answers in the turn that is under way, by their id. */
  readonly #answers = new Map<string, Answer>()
  readonly #recorded = new Set<string>()
  #isStateKnown = false
  #hasWorked = false
  #countsAsBusyUntil = Number.NEGATIVE_INFINITY

  constructor(source: OpencodeEventSource, listener: CliListener) {
    this.#source = source
    this.#listener = listener
    void this.#follow()
  }

  /** The state of opencode. Undefined before opencode's first turn: until then the server cannot know whether the terminal is connected. */
  get doing(): CliState | undefined {
    if (!this.#isStateKnown || !this.#hasWorked) return undefined
    const [asked] = this.#questions.values()
    if (asked) return { state: 'blocked', reason: blockedReasons[asked.kind] }
    return { state: this.#busy.size > 0 || performance.now() < this.#countsAsBusyUntil ? 'busy' : 'idle' }
  }

  /** Called before a text is sent: the server may report the turn before it confirms the text. */
  onMessageGiven(): void {
    this.#countsAsBusyUntil = performance.now() + turnStartMs
  }

  end(): void {
    this.#end.abort()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      // The server may not have started yet, or may have ended: meanwhile the screen is read instead.
      await this.#listen(signal).catch(() => {})
      this.#isStateKnown = false
      this.#listener.onChange()
      await sleep(reconnectMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const { body } = await this.#source.open(signal)
    if (!body) return
    let text = ''
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n')
      text = lines.pop() as string
      if (text.length > eventCharsMax) throw new Error('an event that is too long')
      for (const line of lines)
        if (line.startsWith('data: ') && !isTextEvent.test(line)) await this.#handleEvent(line.slice(6))
    }
  }

  async #handleEvent(text: string): Promise<void> {
    const { data: heard } = Event.safeParse(JSON.parse(text))
    if (!heard) return
    const { type } = heard
    if (type === 'server.connected') await this.#readState()
    else if (type === 'session.status') this.#setStatus(heard.properties.sessionID, heard.properties.status.type)
    else if (type === 'session.deleted') this.#setStatus(heard.properties.sessionID, 'idle')
    else if (type === 'message.updated') return this.#keepAnswer(heard.properties.info)
    else if (type === 'permission.asked' || type === 'question.asked')
      this.#addQuestion(heard.properties, type === 'permission.asked' ? 'permission' : 'question')
    else this.#questions.delete(heard.properties.requestID)
    this.#listener.onChange()
  }

  /** Reads the whole state when the stream of events begins. Changes during the read arrive as events afterwards. */
  async #readState(): Promise<void> {
    const { ask } = this.#source
    const statuses = ConversationStatuses.parse(await ask('GET', '/session/status'))
    const permissions = z.array(AskedRequest).parse(await ask('GET', '/permission'))
    const questions = z.array(AskedRequest).parse(await ask('GET', '/question'))
    this.#busy.clear()
    this.#questions.clear()
    for (const [id, { type }] of Object.entries(statuses)) this.#setStatus(id, type)
    for (const each of permissions) this.#addQuestion(each, 'permission')
    for (const each of questions) this.#addQuestion(each, 'question')
    this.#isStateKnown = true
    this.#recordUsage()
  }

  #addQuestion({ id, sessionID: session }: z.infer<typeof AskedRequest>, kind: AskedKind): void {
    this.#hasWorked = true
    this.#questions.set(id, { session, kind })
  }

  #setStatus(session: string, status: string): void {
    this.#countsAsBusyUntil = Number.NEGATIVE_INFINITY
    if (status !== 'idle') {
      this.#hasWorked = true
      if (!this.#busy.has(session)) void this.#noteConversation(session).catch(() => {})
      this.#busy.add(session)
      return
    }
    this.#busy.delete(session)
    // An interrupted turn takes back its questions without an event.
    for (const [id, asked] of this.#questions) if (asked.session === session) this.#questions.delete(id)
    this.#recordUsage()
  }

  /** Reports the conversation in which a turn begins, unless another conversation has begun this one. */
  async #noteConversation(session: string): Promise<void> {
    const { parentID } = Conversation.parse(await this.#source.ask('GET', `/session/${encodeURIComponent(session)}`))
    if (parentID === undefined && !this.#end.signal.aborted) this.#listener.onConversation(session)
  }

  /** Keeps an answer. opencode reports each answer several times, always in full, so the newest report replaces the one before. */
  #keepAnswer(answer: Answer): void {
    if (!this.#recorded.has(answer.id)) this.#answers.set(answer.id, answer)
  }

  /**
   * Records the usage once, at the end of a turn. A turn has one model answer for each round of tool calls, besides the answers in conversations that
   * it began.
   */
  #recordUsage(): void {
    if (this.#busy.size > 0) return
    const answers = [...this.#answers.values()]
    this.#answers.clear()
    for (const { id } of answers) this.#recorded.add(id)
    for (const id of [...this.#recorded].slice(0, -recordedAnswersMax)) this.#recorded.delete(id)
    if (answers.length > 0) this.#listener.onSpent(spendOf(answers))
  }
}

const blockedReasons = { permission: 'it waits for a permission', question: 'it asks a question' }

/**
 * Returns the usage of these answers. opencode counts cached input apart from the input, and reasoning apart from the output. A cost of 0 means that
 * the price is not known.
 */
function spendOf(answers: readonly Answer[]): CliSpend {
  const sum = (of: (answer: Answer) => number) => answers.reduce((all, answer) => all + of(answer), 0)
  const { providerID, modelID } = answers.at(-1) as Answer
  return {
    model: `${providerID}/${modelID}`,
    tokens: {
      input: sum(({ tokens: { input, cache } }) => input + cache.read + cache.write),
      output: sum(({ tokens: { output, reasoning } }) => output + reasoning),
      cached: sum(({ tokens: { cache } }) => cache.read),
    },
    usd: sum(({ cost }) => cost) || undefined,
  }
}
