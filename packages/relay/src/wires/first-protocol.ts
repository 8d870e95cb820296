// The first version of the relay's protocol, for clients that were written for it: one frame type per operation, answers with `id`, `success` and `error` in
// their payload, and messages as flat DELIVER frames. Each of its frames is translated into a call of an operation.

import {
  type Call,
  callSpellings,
  type Envelope,
  type InboxMessage,
  limits,
  type OutputOf,
  type Refusal,
  type Welcome,
} from '@agent-relay/sdk/protocol'
import type { SessionService, Watch, WatchItemSink } from '../broker/call.ts'
import { markReadMax } from '../core/inbox.ts'

/** Maximum number of messages that are sent to a client which has sent no frame since. Further messages wait in the inbox. */
const unreadMax = 10_000
/** Rough size in memory of a message without its content, in characters. */
const headChars = 512

type FirstFrame = Envelope & { type: keyof typeof callSpellings }

/** The sending side of a connection. */
export interface FrameWriter {
  isReady(): boolean
  write(type: Envelope['type'], id: string, payload: unknown, flushed?: () => void): void
}

/** Puts the answer to a frame into the form of the client's protocol version. */
export interface AnswerWording {
  done(output: unknown): unknown
  refused(refusal: Refusal): { type: 'ACK' | 'ERROR'; payload: unknown }
}

/** The shape of answers in the current protocol, which every client but those of the first protocol speaks. */
export const currentWording: AnswerWording = {
  done: (output) => output,
  refused: (payload) => ({ type: 'ERROR', payload }),
}

export function isFirstFrame(frame: Envelope): frame is FirstFrame {
  return Object.hasOwn(callSpellings, frame.type)
}

/** Whether the HELLO says that its client takes flat DELIVER frames. */
export function takesFlatMail(hello: unknown): boolean {
  const { capabilities } = (hello ?? {}) as { capabilities?: unknown }
  return Array.isArray(capabilities) && capabilities.includes('mcp')
}

/**
 * Reads the call in a frame of the first version: the payload is the input, with the names of that version. A payload that is no object is refused like any
 * wrong input.
 */
export function firstCallOf({ type, payload }: FirstFrame): Call {
  const op = callSpellings[type]
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return { op, input: payload }
  const { content, include_idle, unread_only, ...rest } = payload as Record<string, unknown>
  return { op, input: { ...rest, body: rest.body ?? content, includeIdle: include_idle, unreadOnly: unread_only } }
}

/**
 * Returns how answers to this frame are worded. They contain the frame's `id`, by which the client finds its request. A client does not wait for the answer to
 * SEND, so a refusal of SEND is sent as an ERROR frame.
 */
export function firstWording(frame: FirstFrame, mail: FlatMail | undefined): AnswerWording {
  const { type, id } = frame
  return {
    done: (output) => ({ ...inFirstForm(frame, output, mail), id, success: true }),
    refused: (refusal) =>
      type === 'SEND'
        ? { type: 'ERROR', payload: { ...refusal, id, success: false, error: refusal.message } }
        : { type: 'ACK', payload: { id, success: false, error: refusal.message, code: refusal.code } },
  }
}

function inFirstForm({ type, payload }: FirstFrame, output: unknown, mail: FlatMail | undefined): object {
  if (type === 'SEND') {
    const { id: message, ...rest } = output as OutputOf<'message.send'>
    return { ...rest, message }
  }
  if (type === 'WHO') {
    const { agents, ...rest } = output as OutputOf<'agent.list'>
    const shown = agents.map((agent) => ({
      ...agent,
      cli: agent.cli ?? agent.type ?? 'agent',
      idle: agent.status === 'idle',
    }))
    return { ...rest, agents: shown }
  }
  if (type !== 'INBOX') return output as object
  const { messages, more } = output as OutputOf<'inbox.take'>
  const page = { messages: messages.map(flatMessage), more }
  return mail ? mail.addTo(page, (payload ?? {}) as Filter) : page
}

type FlatMessage = ReturnType<typeof flatMessage>

/**
 * Puts a message into the first version's form. Without a thread, `thread` is `null` and not left out: a client that waits for an answer without a thread
 * compares its own unset thread with this field, and would take any message without the field for the answer.
 */
function flatMessage({ id, seq, ts, from, to, channel, thread, replyTo, kind, body }: InboxMessage) {
  return { id, seq, ts, from, to, channel, thread: thread ?? null, replyTo, kind, content: body }
}

function charsOf({ content }: FlatMessage): number {
  return content.length + headChars
}

interface Filter {
  from?: string
  channel?: string
  limit?: number
  unread_only?: boolean
  before?: string
}

interface Page {
  messages: FlatMessage[]
  more: number
}

/**
 * The messages that one connection was sent as DELIVER frames. They count as read at the client's next frame. A client that does not listen to DELIVER has not
 * seen them, so the next INBOX returns them once more. If a client never sends INBOX, the oldest messages are dropped from this memory; the client's history
 * still has them.
 */
export class FlatMail {
  readonly #service: SessionService
  readonly #watch: Watch
  readonly #unread = new Set<string>()
  #unasked: FlatMessage[] = []
  #chars = 0

  private constructor(service: SessionService, since: number, { isReady, write }: FrameWriter) {
    this.#service = service
    const item = (received: unknown) => {
      const message = flatMessage(received as InboxMessage)
      // A message that stays unread for long is offered again. The client has it already, so it is not sent again.
      if (this.#unread.has(message.id)) return
      // The message is kept before it has left: an INBOX that arrives meanwhile is answered after this DELIVER, and must return the message.
      this.#keep(message)
      write('DELIVER', message.id, message, () => this.#unread.add(message.id))
    }
    const sink: WatchItemSink = {
      isReady: () => this.#unread.size < unreadMax && isReady(),
      item,
      end: (why) => write('ERROR', '-', why),
    }
    this.#watch = service.watch('inbox.follow', { since }, sink)
  }

  /**
   * Starts to send messages that arrive from now on. Earlier messages are returned by INBOX only: if they were sent as DELIVER frames, the client could take
   * one for the answer to its first question.
   */
  static start(service: SessionService, writer: FrameWriter): FlatMail | undefined {
    const { agent, seq } = service.welcome as Welcome
    if (agent === undefined) return undefined
    try {
      return new FlatMail(service, seq, writer)
    } catch {
      // The session may not follow its inbox on this connection. Its calls are still answered, or refused with the reason.
      return undefined
    }
  }

  drained(): void {
    this.#watch.drained()
  }

  /** Stops sending messages; unread ones are free for the next session that takes messages. */
  stop(): void {
    this.#watch.stop()
  }

  #keep(message: FlatMessage): void {
    this.#unasked.push(message)
    this.#chars += charsOf(message)
    while (this.#chars > limits.waitingBytesMax) this.#chars -= charsOf(this.#unasked.shift() as FlatMessage)
  }

  /**
   * Called when the client has sent a frame: the messages sent to it count as read. Messages beyond what one command may mark as read wait for the next frames.
   */
  markRead(): void {
    const read = [...this.#unread].slice(0, markReadMax)
    this.#service.markReceived?.(read)
    const isFull = this.#unread.size >= unreadMax
    for (const id of read) this.#unread.delete(id)
    if (isFull) this.#watch.drained()
  }

  /**
   * Adds messages that were sent as DELIVER frames to a page of INBOX, as many as fit, oldest first. A page that also shows read messages contains them anyway.
   */
  addTo({ messages, more }: Page, filter: Filter): Page {
    const { from, channel, limit = limits.pageMessagesMax, unread_only, before } = filter
    const isMeant = (message: FlatMessage) =>
      (from === undefined || message.from === from) &&
      (channel === undefined || message.channel?.replace('#', '') === channel.replace('#', ''))
    const meant = unread_only === false || before !== undefined ? [] : this.#unasked.filter(isMeant)
    const added = meant.slice(0, Math.max(0, limit - messages.length))
    const shown = [...messages, ...added].sort((a, b) => a.seq - b.seq)
    const ids = new Set(shown.map(({ id }) => id))
    this.#unasked = this.#unasked.filter(({ id }) => !ids.has(id))
    this.#chars = this.#unasked.reduce((sum, message) => sum + charsOf(message), 0)
    return { messages: shown, more: more + meant.length - added.length }
  }
}
