// The client of Codex's app-server: JSON-RPC, without its version field, in the frames of a WebSocket on a Unix socket. find-server.ts finds the
// server to use. The server's data is not trusted: its size is limited, and data that does not fit the schemas is ignored.

import { once } from 'node:events'
import { connect } from 'node:net'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { limits, type Tokens } from '@agent-relay/sdk/protocol'
import type { WebSocket } from 'ws'
import { z } from 'zod'
import { version } from '../../machine/version.ts'
import { resultWithin } from '../../machine/within.ts'
import { interruptAnswerMs } from '../cli-server.ts'
import { JsonRpc, RpcError, type RpcReply } from '../json-rpc.ts'

/** Maximum size of a frame. Most answers have a few kilobytes, but each of a conversation's newest steps may contain the whole output of a command. */
const frameBytesMax = 8 * 1024 * 1024
/** Timeout of an answer: the server runs on this machine, and answers within milliseconds unless something is wrong. */
const answerMs = waitLimitMs('cliDaemon')
/** Number of steps of a conversation in one page, and maximum number of pages that are read: a turn may have many steps. */
const [itemsMax, pagesMax] = [4, 16]
/** Number of a conversation's newest turns that are read at once; the server sends only the first and the last text of each. */
const turnsMax = 16

export const threadStates = ['idle', 'active', 'notLoaded', 'systemError'] as const
/** The status of a conversation. `activeFlags`: what the conversation waits for, such as `waitingOnApproval`. */
const Status = z.object({ type: z.enum(threadStates), activeFlags: z.array(z.string()).optional() })
const ThreadId = z.string().max(limits.idCharsMax)
const RequestId = z.union([z.number(), z.string().max(limits.idCharsMax)])
/** The fields that we use of a conversation. The fixture test/real/codex-app-server.json has the schemas of Codex. */
const CodexThread = z.object({
  id: ThreadId,
  cwd: z.string().max(limits.pathCharsMax),
  /** Whether Codex holds the conversation for itself, for example to find a title: no person sees it. */
  ephemeral: z.boolean(),
  /** The conversation that has started this one, if any. */
  parentThreadId: ThreadId.nullish(),
  status: Status,
  /** The title that a person gave the conversation. */
  name: z.string().max(limits.idCharsMax).nullish().catch(undefined),
  model: z.string().max(limits.idCharsMax).nullish().catch(undefined),
})
export type CodexThread = z.infer<typeof CodexThread>

/** A step of a conversation, such as a message. `clientId`: the id that a message's sender gave to the message. */
const CodexItem = z.looseObject({
  type: z.string(),
  id: z.string().max(limits.idCharsMax),
  clientId: z.string().nullish(),
  /** The text of a message. */
  text: z.string().optional().catch(undefined),
})
export type CodexItem = z.infer<typeof CodexItem>

/** The error of a server that cannot be used: it refuses a needed call, or answers in an unknown form. */
export class UnfitServerError extends Error {}

const Count = z.number().int().nonnegative()
const UsedTokens = z
  .object({ inputTokens: Count, outputTokens: Count, cachedInputTokens: Count })
  .transform(({ inputTokens: input, outputTokens: output, cachedInputTokens: cached }) => ({ input, output, cached }))

const notificationSchemas = {
  'thread/tokenUsage/updated': z.object({ threadId: ThreadId, tokenUsage: z.object({ total: UsedTokens }) }),
  'thread/started': z.object({ thread: CodexThread }),
  'thread/status/changed': z.object({ threadId: ThreadId, status: Status }),
  'thread/closed': z.object({ threadId: ThreadId }),
  'serverRequest/resolved': z.object({ requestId: RequestId }),
  'item/started': z.object({ item: CodexItem }),
}
const Initialized = z.object({ userAgent: z.string() })
const Loaded = z.object({ data: z.array(ThreadId) })
const QuestionIds = z.object({ id: RequestId, thread: ThreadId })

const ItemPage = z.object({ data: z.array(z.object({ item: CodexItem })), nextCursor: z.string().nullish() })
const TurnStates = z.object({ data: z.array(z.object({ id: z.string().max(limits.idCharsMax), status: z.string() })) })
const TurnPage = z.object({ data: z.array(z.object({ items: z.array(CodexItem) })) })

/** The outcome of asking the server to begin a turn. `lost`: the connection ended before the answer, so nobody knows whether the turn began. */
export type TurnStartOutcome = 'taken' | 'refused' | 'lost'

/** A question that the server asks everybody who has joined a conversation. The first answer counts. */
export interface ServerQuestion {
  id: number | string
  method: string
  thread: string
  params: unknown
  reply: RpcReply
}

export interface AppServerListener {
  onThread?(thread: CodexThread): void
  onStatus?(thread: string, status: CodexThread['status']): void
  /** Called with a question to the person. Without this listener only the terminal answers: even an error as our reply would decide for the person. */
  onQuestion?(asked: ServerQuestion): void
  onQuestionResolved?(id: ServerQuestion['id']): void
  /** Called with the total token usage of a conversation that was joined. */
  onTokens?(thread: string, used: Tokens): void
  /** Called when a step has begun in a joined conversation. */
  onItem?(item: CodexItem): void
  onClose(): void
}

export class AppServer {
  readonly #socket: WebSocket
  readonly #listener: AppServerListener
  readonly #rpc: JsonRpc
  /** The server's own name and version, such as `codex-tui/0.166.0 (…)`. */
  userAgent = ''

  private constructor(socket: WebSocket, listener: AppServerListener) {
    this.#socket = socket
    this.#listener = listener
    this.#rpc = new JsonRpc((message) => this.#send(message), {
      onRequest: (method, params, reply, id) => this.#onQuestion(id, method, params, reply),
      onNotification: (method, params) => this.#onNotification(method, params),
    })
    socket.on('message', (data) => this.#rpc.receive(String(data)))
    socket.on('close', () => this.#end())
    // The event `close` follows every error, and ends the connection.
    socket.on('error', () => socket.terminate())
  }

  static async connect(path: string, listener: AppServerListener): Promise<AppServer> {
    // The WebSocket library is loaded only when there is a server: most daemons never talk to one.
    const { WebSocket } = await import('ws')
    const socket = new WebSocket('ws://localhost/', {
      createConnection: () => connect(path),
      handshakeTimeout: answerMs,
      maxPayload: frameBytesMax,
      perMessageDeflate: false,
      followRedirects: false,
    })
    await once(socket, 'open')
    const server = new AppServer(socket, listener)
    try {
      const clientInfo = { name: 'agent-relay', title: 'Agent Relay', version }
      const capabilities = { experimentalApi: true }
      server.userAgent = (await server.#callRequired('initialize', { clientInfo, capabilities }, Initialized)).userAgent
    } catch (error) {
      server.close()
      throw error
    }
    server.#rpc.notify('initialized')
    return server
  }

  /** The ids of the conversations that the server has in memory. */
  async loadedThreads(): Promise<string[]> {
    return (await this.#callRequired('thread/loaded/list', {}, Loaded)).data
  }

  async readThread(thread: string): Promise<CodexThread> {
    return (await this.#call('thread/read', { threadId: thread }, z.object({ thread: CodexThread }))).thread
  }

  /**
   * Returns the id of the last compaction of the model's memory, unless a user's message has followed it. The compaction is searched for: the server
   * would report it only to those who have joined the conversation, and joining would keep the conversation open.
   */
  async lastCompaction(thread: string): Promise<string | undefined> {
    const isIt = ({ type }: CodexItem) => type === 'contextCompaction' || type === 'userMessage'
    const found = await this.#findItem(thread, isIt)
    return found?.type === 'contextCompaction' ? found.id : undefined
  }

  /** Whether the conversation contains the text that was sent under this id. */
  async hasTakenText(thread: string, id: string): Promise<boolean> {
    return (await this.#findItem(thread, ({ clientId }) => clientId === id)) !== undefined
  }

  /**
   * Puts a text before the model as the user's, which begins a turn. The call has no timeout: a slow server may still take the text, and the text
   * would be shown twice if another path had delivered it meanwhile. While the server does not answer, the conversation is searched for the text.
   */
  async startTurn(thread: string, text: string, id: string): Promise<TurnStartOutcome> {
    const params = { threadId: thread, input: [{ type: 'text', text }], clientUserMessageId: id }
    const answer: Promise<TurnStartOutcome> = this.#rpc.call('turn/start', params).then(
      () => 'taken',
      (error) => (error instanceof RpcError ? 'refused' : 'lost'),
    )
    for (;;) {
      const outcome = await resultWithin(answer, answerMs)
      if (outcome !== undefined) return outcome
      if (await this.hasTakenText(thread, id).catch(() => false)) return 'taken'
    }
  }

  /** Interrupts the conversation's turn. Returns false if its newest turn is not under way. */
  async interruptTurn(thread: string): Promise<boolean> {
    const asked = { threadId: thread, limit: 1, itemsView: 'summary', sortDirection: 'desc' }
    const [turn] = (await this.#call('thread/turns/list', asked, TurnStates, interruptAnswerMs)).data
    if (turn?.status !== 'inProgress') return false
    await this.#rpc.call('turn/interrupt', { threadId: thread, turnId: turn.id }, interruptAnswerMs)
    return true
  }

  /** Joins the conversation: the server then sends its events here too, and repeats its open questions. Returns the steps of its newest turn. */
  async joinThread(thread: string): Promise<CodexItem[]> {
    const newest = { limit: 1, itemsView: 'full', sortDirection: 'desc' }
    const asked = { threadId: thread, excludeTurns: true, initialTurnsPage: newest }
    const page = z.object({ data: z.array(z.object({ items: z.array(CodexItem) })) })
    const answer = await this.#call('thread/resume', asked, z.object({ initialTurnsPage: page }))
    return answer.initialTurnsPage.data[0]?.items ?? []
  }

  /** Leaves the conversation: the server sends its events here no longer. */
  async leaveThread(thread: string): Promise<void> {
    await this.#rpc.call('thread/unsubscribe', { threadId: thread }, answerMs)
  }

  /**
   * Returns the model's last text in the turn that began with the message of this id: empty if it wrote no text, undefined if the turn is not among
   * the newest.
   */
  async lastWords(thread: string, id: string): Promise<string | undefined> {
    const asked = { threadId: thread, limit: turnsMax, itemsView: 'summary', sortDirection: 'desc' }
    const { data } = await this.#call('thread/turns/list', asked, TurnPage)
    const turn = data.find(({ items }) => items.some(({ clientId }) => clientId === id))
    return turn && (turn.items.findLast(({ type }) => type === 'agentMessage')?.text ?? '')
  }

  /** The newest step of a conversation for which `isIt` is true. */
  async #findItem(thread: string, isIt: (item: CodexItem) => boolean): Promise<CodexItem | undefined> {
    let cursor: string | undefined
    for (let page = 0; page < pagesMax; page++) {
      const asked = { threadId: thread, limit: itemsMax, sortDirection: 'desc', cursor }
      const { data, nextCursor } = await this.#call('thread/items/list', asked, ItemPage)
      const found = data.find(({ item }) => isIt(item))?.item
      cursor = nextCursor ?? undefined
      if (found || cursor === undefined) return found
    }
    return undefined
  }

  close(): void {
    this.#socket.terminate()
  }

  async #call<T>(method: string, params: object, shape: z.ZodType<T>, withinMs = answerMs): Promise<T> {
    const answer = shape.safeParse(await this.#rpc.call(method, params, withinMs))
    if (answer.success) return answer.data
    throw new UnfitServerError(`its answer to ${method} is not as expected`)
  }

  /** Makes a call that every usable server answers: a refusal means that the server cannot be used. */
  #callRequired<T>(method: string, params: object, shape: z.ZodType<T>): Promise<T> {
    return this.#call(method, params, shape).catch((error) => {
      throw error instanceof RpcError ? new UnfitServerError(`it refuses ${method}`) : error
    })
  }

  #send(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message))
    else this.#end()
  }

  #onQuestion(id: unknown, method: string, params: unknown, reply: RpcReply): void {
    const asked = QuestionIds.safeParse({ id, thread: (params as { threadId?: unknown } | undefined)?.threadId })
    if (asked.success) this.#listener.onQuestion?.({ ...asked.data, method, params, reply })
  }

  #onNotification(method: string, params: unknown): void {
    if (method === 'thread/started') {
      const note = notificationSchemas[method].safeParse(params)
      if (note.success) this.#listener.onThread?.(note.data.thread)
    } else if (method === 'thread/status/changed') {
      const note = notificationSchemas[method].safeParse(params)
      if (note.success) this.#listener.onStatus?.(note.data.threadId, note.data.status)
    } else if (method === 'thread/closed') {
      const note = notificationSchemas[method].safeParse(params)
      if (note.success) this.#listener.onStatus?.(note.data.threadId, { type: 'notLoaded' })
    } else if (method === 'serverRequest/resolved') {
      const note = notificationSchemas[method].safeParse(params)
      if (note.success) this.#listener.onQuestionResolved?.(note.data.requestId)
    } else if (method === 'thread/tokenUsage/updated') {
      const note = notificationSchemas[method].safeParse(params)
      if (note.success) this.#listener.onTokens?.(note.data.threadId, note.data.tokenUsage.total)
    } else if (method === 'item/started') {
      const note = notificationSchemas[method].safeParse(params)
      if (note.success) this.#listener.onItem?.(note.data.item)
    }
  }

  #end(): void {
    if (this.#rpc.isOver) return
    this.#rpc.end()
    this.#listener.onClose()
  }
}
