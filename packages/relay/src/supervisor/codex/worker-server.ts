// The connection to a Codex worker through the app-server that runs beside the worker's terminal. The app-server reports Codex's state, the usage of
// each turn, and each permission question in full, of which the terminal shows only a part. While the app-server does not answer, the screen is read
// instead.

import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tokens } from '@agent-relay/sdk/protocol'
import {
  type CliFollower,
  type CliListener,
  type CliServer,
  type CliState,
  reconnectMs,
  turnStartMs,
} from '../cli-server.ts'
import type { Dialog } from '../dialog.ts'
import { AppServer, type CodexThread } from './app-server.ts'
import { isPersonsThread } from './match.ts'
import { CodexQuestions } from './questions.ts'

const noTokens: Tokens = { input: 0, output: 0, cached: 0 }
const blockedReasons = { waitingOnApproval: 'it waits for a permission', waitingOnUserInput: 'it asks a question' }

/** A conversation in the worker's terminal. `used`: its total token usage. `noted`: the part of the usage that was already recorded. */
interface FollowedThread {
  thread: CodexThread
  used: Tokens
  noted: Tokens
  isJoined: boolean
}

/** `cwd`: the worker's directory. */
export class CodexWorkerServer implements CliServer, CliFollower {
  readonly #socket: string
  readonly #cwd: string
  readonly #questions = new CodexQuestions()
  readonly #conversations = new Map<string, FollowedThread>()
  readonly #end = new AbortController()
  #server: AppServer | undefined
  #connecting: Promise<AppServer> | undefined
  #listener: CliListener | undefined
  #hasWorked = false
  #countsAsBusyUntil = Number.NEGATIVE_INFINITY

  constructor(socket: string, cwd: string) {
    this.#socket = socket
    this.#cwd = cwd
  }

  follow(listener: CliListener): CliFollower {
    this.#listener = listener
    void this.#stayConnected()
    return this
  }

  /** The state of Codex. Undefined before Codex's first turn: until then the server cannot know whether the terminal is connected. */
  get doing(): CliState | undefined {
    if (!this.#server || !this.#hasWorked) return undefined
    const statuses = [...this.#conversations.values()].map(({ thread }) => thread.status)
    for (const [flag, reason] of Object.entries(blockedReasons))
      if (statuses.some(({ activeFlags }) => activeFlags?.includes(flag))) return { state: 'blocked', reason }
    const isBusy = statuses.some(({ type }) => type === 'active') || performance.now() < this.#countsAsBusyUntil
    return { state: isBusy ? 'busy' : 'idle' }
  }

  onMessageGiven(): void {
    this.#countsAsBusyUntil = performance.now() + turnStartMs
  }

  end(): void {
    this.#end.abort()
    this.#server?.close()
  }

  /** Reads the open question of the conversation that waits for an answer. */
  async readDialog(): Promise<Dialog | undefined> {
    const server = await this.#connected()
    const thread = this.#questions.askingThread ?? (await waitingThreadIn(server))
    return thread === undefined ? undefined : this.#questions.readDialog(server, thread, this.#cwd)
  }

  async interrupt(): Promise<boolean> {
    const active = [...this.#conversations.values()].filter(({ thread }) => thread.status.type === 'active')
    const told = await Promise.all(active.map(({ thread }) => this.#server?.interruptTurn(thread.id)))
    return told.includes(true)
  }

  async #stayConnected(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      await this.#connected().catch(() => {})
      await sleep(reconnectMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async #connected(): Promise<AppServer> {
    if (this.#server) return this.#server
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<AppServer> {
    const server: AppServer = await AppServer.connect(await realpath(this.#socket), {
      ...this.#questions.listener,
      onThread: (thread) => this.#remember(thread),
      onStatus: (id, status) => void this.#onStatus(id, status).catch(() => {}),
      onTokens: (id, used) => {
        const conversation = this.#conversations.get(id)
        if (conversation) conversation.used = used
      },
      onClose: () => {
        // The connection may close before it is stored in `#server`.
        if (this.#server !== server) return
        this.#server = undefined
        this.#questions.clear()
        this.#conversations.clear()
        this.#listener?.onChange()
      },
    })
    try {
      for (const id of await server.loadedThreads()) this.#remember(await server.readThread(id))
    } catch (error) {
      // A conversation may have been closed before it was read. The next attempt to connect reads the others.
      server.close()
      throw error
    }
    if (this.#end.signal.aborted) server.close()
    this.#server = server
    this.#listener?.onChange()
    return server
  }

  #remember(thread: CodexThread): FollowedThread | undefined {
    const known = this.#conversations.get(thread.id)
    if (thread.status.type === 'active' && isPersonsThread(thread)) this.#listener?.onConversation(thread.id)
    if (known) known.thread = thread
    else if (isPersonsThread(thread))
      this.#conversations.set(thread.id, { thread, used: noTokens, noted: noTokens, isJoined: false })
    return this.#conversations.get(thread.id)
  }

  async #onStatus(id: string, status: CodexThread['status']): Promise<void> {
    const conversation = this.#conversations.get(id)
    if (!conversation) return
    conversation.thread.status = status
    if (status.type === 'active') this.#listener?.onConversation(id)
    this.#countsAsBusyUntil = Number.NEGATIVE_INFINITY
    if (status.type === 'notLoaded') this.#conversations.delete(id)
    else if (status.type !== 'active') this.#reportUsage(conversation)
    this.#hasWorked ||= status.type === 'active'
    this.#listener?.onChange()
    // The server reports usage only to those who have joined the conversation, which nobody can before its first turn.
    if (status.type !== 'active' || conversation.isJoined || !this.#listener) return
    conversation.isJoined = true
    await this.#server?.joinThread(id)
  }

  /** Reports the usage of a turn that has ended. */
  #reportUsage(conversation: FollowedThread): void {
    const { used, noted, thread } = conversation
    conversation.noted = used
    if (used.input === noted.input && used.output === noted.output) return
    const tokens = {
      input: used.input - noted.input,
      output: used.output - noted.output,
      cached: used.cached - noted.cached,
    }
    this.#listener?.onSpent({ model: thread.model ?? undefined, tokens })
  }
}

async function waitingThreadIn(server: AppServer): Promise<string | undefined> {
  for (const id of await server.loadedThreads()) {
    const { status } = await server.readThread(id)
    if (status.activeFlags?.includes('waitingOnApproval')) return id
  }
  return undefined
}
