// A stand-in for Codex: a program `codex` that names a socket, and a server there that speaks as much of the app-server's protocol as ours asks
// for. The real one is in test/real. No tests.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Session } from '../../src/broker/sessions/session.ts'
import { ownStanding } from '../../src/broker/sessions/standing.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import { type Clock, systemClock } from '../../src/machine/clock.ts'
import { CodexThreads } from '../../src/supervisor/control/codex-threads.ts'
import { loud } from '../broker/loud.ts'

export interface StandInThread {
  id: string
  cwd: string
  ephemeral?: boolean
  parentThreadId?: string
  status: { type: string; activeFlags?: string[] }
}

export class CodexWorld {
  readonly root = mkdtempSync(join(tmpdir(), 'codex-'))
  readonly home = join(this.root, 'home')
  readonly socketPath = join(this.home, 'control/app-server.sock')
  readonly #asked = join(this.root, 'asked')
  readonly workspace: Workspace
  /** What its model was given, by thread. */
  readonly turns: { thread: string; text: string }[] = []
  /** The steps of all conversations, the last first. */
  readonly items: { type: string; id: string; clientId?: string; thread: string }[] = []
  /** What it does with turns instead of answering: it takes them, or hangs up after it has, or hangs up without. */
  silence: 'takes' | 'takes and hangs up' | 'hangs up' | undefined
  readonly threads: StandInThread[] = []
  refuses = false
  /** What it does instead of answering the first call of a connection. */
  greeting: 'hangs up' | 'nonsense' | undefined
  /** A call that it answers in another way than we know. */
  strange: string | undefined
  greeted = 0
  /** Commands that the daemon has given by itself. */
  commands = 0
  readonly #http: Server = createServer()
  readonly #sockets = new Set<WebSocket>()
  #codex: CodexThreads | undefined

  constructor(clock: Clock) {
    const paths = { databasePath: join(this.root, 'relay.db'), searchPath: ':memory:' }
    const ids = makeIds()
    const counted = (prefix: string) => {
      if (prefix === 'd') this.commands++
      return ids(prefix)
    }
    this.workspace = new Workspace({ name: 'play', ...paths, clock, ids: counted, ...loud })
  }

  static async start({ version = '0.166.0', mode = 0o600, clock = systemClock } = {}): Promise<CodexWorld> {
    const world = new CodexWorld(clock)
    await world.workspace.begin(() => {})
    for (const path of [join(world.root, 'bin'), dirname(world.socketPath)])
      mkdirSync(path, { recursive: true, mode: 0o700 })
    const said = JSON.stringify({ socketPath: world.socketPath, appServerVersion: version })
    const script = `#!/bin/sh\necho "$*" >>'${world.#asked}'\necho '${said}'\n`
    writeFileSync(join(world.root, 'bin/codex'), script, { mode: 0o755 })
    const server = new WebSocketServer({ server: world.#http })
    server.on('connection', (socket) => world.#serve(socket))
    await new Promise<void>((resolve) => world.#http.listen(world.socketPath, resolve))
    chmodSync(world.socketPath, mode)
    const env = { PATH: `${join(world.root, 'bin')}:/usr/bin:/bin`, HOME: world.home }
    world.#codex = new CodexThreads({ waking: world.workspace.waking, env, onTrouble: loud.onTrouble })
    return world
  }

  /** How often `codex` was started, and with which arguments. */
  asked(): string[] {
    return existsSync(this.#asked) ? readFileSync(this.#asked, 'utf8').split('\n').slice(0, -1) : []
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** An MCP session that Codex has started in this directory. */
  async session(agent: string, directory: string): Promise<Session> {
    const { sessions } = this.workspace
    const session = sessions.open({ ...ownStanding(), kind: 'model' }, { directory })
    await this.#give('agent.register', agent, { name: agent, proven: true, tokenHash: agent })
    sessions.bind(session, agent)
    sessions.initialized(session, 'codex')
    return session
  }

  async send(from: string, to: string, body: string): Promise<string> {
    return (await this.#give('message.send', from, { to, body })).id as string
  }

  /** What the agent's own inbox tool would hand out. */
  async take(session: Session): Promise<string[]> {
    const { agent = '', id } = session
    return (await this.#give('inbox.take', agent, { route: 'tool' }, id)).messages as string[]
  }

  routeOf(agent: string, message: string): string | undefined {
    const { view } = this.workspace.store
    const head = view.message(message)
    return head && view.receipt(agent, head)?.route
  }

  status(thread: string, type: string, ...activeFlags: string[]): void {
    const found = this.threads.find(({ id }) => id === thread)
    if (found) found.status = { type, activeFlags }
    this.say({ method: 'thread/status/changed', params: { threadId: thread, status: { type, activeFlags } } })
  }

  say(message: object | string): void {
    for (const socket of this.#sockets) socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  async close(): Promise<void> {
    this.#codex?.close()
    for (const socket of this.#sockets) socket.terminate()
    await new Promise((resolve) => this.#http.close(resolve))
    this.workspace.close()
    rmSync(this.root, { recursive: true, force: true })
  }

  #serve(socket: WebSocket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse(String(data))
      if (id === undefined) return
      if (method === 'initialize') this.greeted++
      if (this.greeting === 'hangs up') return socket.terminate()
      if (this.greeting === 'nonsense')
        return socket.send(JSON.stringify({ id, error: { message: { toString: 1, valueOf: 1 } } }))
      if (method === this.strange) return socket.send(JSON.stringify({ id, result: { data: 7 } }))
      if (method === 'turn/start' && this.silence?.endsWith('hangs up')) setImmediate(() => socket.terminate())
      const answer = method === 'turn/start' && this.silence === 'hangs up' ? undefined : this.#answer(method, params)
      if (method === 'turn/start' && this.silence) return
      socket.send(
        JSON.stringify(answer === undefined ? { id, error: { code: -32600, message: 'no' } } : { id, result: answer }),
      )
    })
  }

  /** Compacts the memory of a conversation, which is a turn of its own. */
  compact(thread: string): void {
    this.status(thread, 'active')
    this.items.unshift({ type: 'contextCompaction', id: `i${this.items.length}`, thread })
    this.status(thread, 'idle')
  }

  #answer(
    method: string,
    params: { threadId?: string; input?: { text: string }[]; clientUserMessageId?: string },
  ): object | undefined {
    const thread = this.threads.find(({ id }) => id === params.threadId)
    if (method === 'initialize') return { userAgent: 'stand-in' }
    if (method === 'thread/loaded/list') return { data: this.threads.map(({ id }) => id) }
    if (method === 'thread/read') return thread && { thread: { ephemeral: false, ...thread } }
    if (method === 'thread/items/list')
      return thread && { data: this.items.filter((item) => item.thread === thread.id).map((item) => ({ item })) }
    if (method !== 'turn/start' || !thread || this.refuses) return undefined
    this.turns.push({ thread: thread.id, text: params.input?.[0]?.text ?? '' })
    const clientId = params.clientUserMessageId
    this.items.unshift({ type: 'userMessage', id: `i${this.items.length}`, clientId, thread: thread.id })
    setImmediate(() => this.status(thread.id, 'active'))
    return { turn: { id: 't' } }
  }

  async #give(rule: never | string, by: string, input: object, session?: string): Promise<Record<string, unknown>> {
    const { engine, ids } = this.workspace
    const reply = await engine.submit({
      rule: rule as 'message.send',
      by,
      input: input as never,
      cause: ids('c'),
      session,
    })
    if ('refusal' in reply) throw new Error(reply.refusal.message)
    return reply.outcome
  }
}
