// A stand-in for Codex: a program `codex` that names a socket, and a server there that speaks the part of the app-server's protocol that our code
// uses. The real one is in test/real. No tests.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type InboxMessage, makeIds } from '@agent-relay/sdk/protocol'
import { type WebSocket, WebSocketServer } from 'ws'
import { Dispatch } from '../../src/broker/dispatch.ts'
import { storeProvisionalNameOf } from '../../src/broker/presence/provisional-names.ts'
import type { Session } from '../../src/broker/sessions/session.ts'
import { daemonSessionStanding, type Standing } from '../../src/broker/sessions/standing.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import type { ApprovalRow } from '../../src/core/view.ts'
import type { OpenWorkspace } from '../../src/daemon/open-workspace.ts'
import { UserProgramMemory } from '../../src/daemon/user-program-memory.ts'
import { UserPrograms } from '../../src/daemon/user-programs.ts'
import { type Clock, systemClock } from '../../src/machine/clock.ts'
import { CodexThreads } from '../../src/supervisor/codex/threads.ts'
import { codexHarness } from '../../src/supervisor/harness/codex.ts'
import { cliCommandOf } from '../../src/supervisor/launching.ts'
import { startTimeOf } from '../../src/supervisor/processes.ts'
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
  readonly socketPath: string
  readonly #asked = join(this.root, 'asked')
  workspace: Workspace
  readonly #opened: ConstructorParameters<typeof Workspace>[0]
  /** The texts that its model was given, by thread. */
  readonly turns: { thread: string; text: string }[] = []
  /** The steps of all conversations, the last first. */
  readonly items: { type: string; id: string; clientId?: string; text?: string; thread: string }[] = []
  /** The clients that have joined a conversation, by its id, and the answers to questions. */
  readonly joined = new Map<string, number>()
  readonly decided: unknown[] = []
  /** The questions for each client that joins. */
  readonly asks: { id: number; method: string; params: { threadId: string } }[] = []
  /** Where set, the server does not answer turns: it takes them, takes them and hangs up, or hangs up. */
  silence: 'takes' | 'takes and hangs up' | 'hangs up' | undefined
  readonly threads: StandInThread[] = []
  refuses = false
  /** Where set, the server does this instead of answering the first call of a connection. */
  greeting: 'hangs up' | 'nonsense' | undefined
  /** A call that it answers in another way than we know. */
  strange: string | undefined
  greeted = 0
  /** The requests to the server, by method. */
  readonly heard = new Map<string, number>()
  /** Commands that the daemon has given by itself. */
  commands = 0
  readonly #http: Server = createServer()
  readonly #sockets = new Set<WebSocket>()
  #agents: UserPrograms | undefined

  #memory = new UserProgramMemory(undefined)

  constructor(clock: Clock, isNative: boolean) {
    this.socketPath = join(
      this.home,
      isNative ? '.codex/app-server-control/app-server-control.sock' : 'control/app-server.sock',
    )
    const paths = { databasePath: join(this.root, 'relay.db'), searchPath: ':memory:' }
    const ids = makeIds()
    const counted = (prefix: string) => {
      if (prefix === 'd') this.commands++
      return ids(prefix)
    }
    this.#opened = { name: 'play', ...paths, clock, ids: counted, ...loud }
    this.workspace = new Workspace(this.#opened)
  }

  static async start({
    version = '0.166.0',
    mode = 0o600,
    clock = systemClock,
    isNative = false,
    hasNote = true,
  } = {}): Promise<CodexWorld> {
    const world = new CodexWorld(clock, isNative)
    await world.workspace.start(() => {})
    for (const path of [join(world.root, 'bin'), dirname(world.socketPath)])
      mkdirSync(path, { recursive: true, mode: 0o700 })
    const said = JSON.stringify({ socketPath: world.socketPath, appServerVersion: version })
    const script = `#!/bin/sh\necho "$*" >>'${world.#asked}'\necho '${said}'\n`
    writeFileSync(join(world.root, 'bin/codex'), script, { mode: 0o755 })
    const server = new WebSocketServer({ server: world.#http })
    server.on('connection', (socket) => world.#serve(socket))
    await new Promise<void>((resolve) => world.#http.listen(world.socketPath, resolve))
    chmodSync(world.socketPath, mode)
    if (hasNote) world.#noteProcess()
    const env = { PATH: `${join(world.root, 'bin')}:/usr/bin:/bin`, HOME: world.home }
    world.watch(env, isNative ? join(world.home, '.codex') : undefined)
    return world
  }

  /** The process of this test stands for that of Codex's server. */
  #noteProcess(): void {
    const folder = join(this.home, '.codex/app-server-daemon')
    mkdirSync(folder, { recursive: true })
    const note = { pid: process.pid, processIdentity: { startTicks: Number(startTimeOf(process.pid)) } }
    writeFileSync(join(folder, 'daemon.pid'), JSON.stringify(note))
  }

  /** Does a daemon's part. */
  watch(env: Record<string, string>, home: string | undefined): void {
    const dispatch = this.#dispatch()
    this.#agents = new UserPrograms({
      sources: [(listener) => new CodexThreads({ home, command: () => cliCommandOf(codexHarness, env) }, listener)],
      memory: this.#memory,
      workspaces: {
        names: () => ['play'],
        dispatches: () => [dispatch],
        visit: async (_name, work) => work({ dispatch } as OpenWorkspace),
      },
      onTrouble: loud.onTrouble,
    })
    this.workspace.sessions.onChange(() => this.#agents?.lookSoon())
  }

  /** The next daemon. `meanwhile`: between the two. */
  async watchAgain(meanwhile = () => {}): Promise<void> {
    await this.#agents?.close()
    this.workspace.approvals.releaseHooks()
    this.workspace.close()
    meanwhile()
    this.workspace = new Workspace(this.#opened)
    await this.workspace.start(() => {})
    this.watch({ PATH: '/usr/bin:/bin' }, join(this.home, '.codex'))
  }

  /** A person begins a conversation. */
  converse(cwd: string, id: string): void {
    const thread = { id, cwd, status: { type: 'idle' } }
    this.threads.push(thread)
    this.say({ method: 'thread/started', params: { thread: { ephemeral: false, ...thread } } })
  }

  /** The model has answered, and the turn is over. */
  says(thread: string, text: string): void {
    this.items.unshift({ type: 'agentMessage', id: `i${this.items.length}`, text, thread })
    this.status(thread, 'idle')
  }

  #dispatch(): Dispatch {
    const { workspace } = this
    const neighbours = {
      ...{ names: () => ['play'], atRest: () => [], awake: () => [workspace] },
      visit: async <T>(_name: string, work: (other: Workspace) => T | Promise<T>) => work(workspace),
    }
    const lag = () => ({ p50: 0, p99: 0, max: 0 })
    const agentProcesses = () => new Map()
    return new Dispatch(workspace, neighbours, {
      ...{ version: '0', uptimeMs: () => 0, lag, socketPath: () => '', agentProcesses },
    })
  }

  /** The starts of `codex`, with their arguments. */
  asked(): string[] {
    return existsSync(this.#asked) ? readFileSync(this.#asked, 'utf8').split('\n').slice(0, -1) : []
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** An MCP session that Codex has started in this directory. */
  async session(agent: string, directory: string, standing: Standing = daemonSessionStanding()): Promise<Session> {
    const { sessions } = this.workspace
    const session = sessions.open({ ...standing, kind: 'model' }, { directory })
    await this.#give('agent.register', agent, { name: agent, proven: true, tokenHash: agent })
    sessions.bind(session, agent)
    sessions.markInitialized(session, 'codex')
    return session
  }

  async send(from: string, to: string | string[], body: string, kind?: 'status'): Promise<string> {
    for (const name of [to].flat()) await storeProvisionalNameOf(this.workspace, name)
    return (await this.#give('message.send', from, { to, body, kind })).id as string
  }

  /** A person answers. */
  async answer(row: ApprovalRow | undefined, choice: string): Promise<void> {
    const { id = '', digest = '' } = row ?? {}
    await this.#give('approval.answer', 'agent-relay', {
      id,
      choice,
      digest,
      surface: 'terminal',
      standing: { ...daemonSessionStanding(), rank: 'holder' as const },
    })
  }

  /** The messages themselves. */
  async taken(session: Session): Promise<InboxMessage[]> {
    return this.workspace.store.queries.inboxMessages(session.agent as string, await this.take(session))
  }

  /** The messages that the agent's own inbox tool would hand out. */
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
    await this.#agents?.close()
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
      const { id, method, params, result } = JSON.parse(String(data))
      if (result !== undefined) this.decided.push(result)
      if (id === undefined || method === undefined) return
      if (method === 'thread/resume') for (const each of this.asks) socket.send(JSON.stringify(each))
      this.heard.set(method, (this.heard.get(method) ?? 0) + 1)
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
    if (method === 'thread/turns/list') {
      const turns: { items: CodexWorld['items']; status: string }[] = []
      for (const item of this.items.filter((each) => each.thread === thread?.id).reverse()) {
        if (item.type === 'userMessage') turns.unshift({ items: [item], status: 'completed' })
        else turns[0]?.items.splice(1, 1, item)
      }
      return thread && { data: turns }
    }
    if (method === 'thread/resume' || method === 'thread/unsubscribe') {
      const [joined, by] = [this.joined.get(params.threadId ?? '') ?? 0, method === 'thread/resume' ? 1 : -1]
      this.joined.set(params.threadId ?? '', joined + by)
      return by > 0 ? { initialTurnsPage: { data: [] } } : {}
    }
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
