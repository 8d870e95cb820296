// Live connections and the agents they act for: presence, kept in memory because it is worthless after a restart.

import { setMaxListeners } from 'node:events'
import type { Ids } from '@agent-relay/sdk/protocol'
import type { Clock } from '../clock.ts'
import type { RefusalError } from '../refusal-error.ts'

/** owner: the data directory's own socket, or the daemon itself. network: anything that came over HTTP or WebSocket. */
export type Door = 'owner' | 'network'

export interface Session {
  readonly id: string
  readonly door: Door
  /** The agent it acts as; set by registration, never by a claim in an input. */
  agent?: string
  /** It has shown the workspace key. */
  isHolder: boolean
  /** The credentials it stands on: when one is revoked, the session ends. */
  readonly shown: Shown
  /** Limits that guard against loops between models; programs and people have none. */
  isModel: boolean
  /** Calls of the session it continues whose answers were lost. */
  readonly unanswered: readonly string[]
  /** The process that started it; told by itself, and believed on the owner's own socket only. */
  host?: number
  /** Its MCP client has said that it is initialized. */
  isInitialized: boolean
  /** Handed out by answers that have left: read at the next call. */
  readonly handed: Set<string>
  lastCallAt: number
  /** Ends with the session: its waits and watches stop. Its reason is a RefusalError where the session was ended by us. */
  readonly ended: AbortSignal
}

export interface Shown {
  readonly keyHash?: string
  readonly tokenHashes: Set<string>
}

/** No call for this long, and an agent counts as idle. */
export const idleMs = 120_000

export class Sessions {
  readonly #clock: Clock
  readonly #ids: Ids
  readonly #live = new Map<string, { session: Session; abort: AbortController }>()
  readonly #byAgent = new Map<string, Set<Session>>()
  readonly #lastSeenAt = new Map<string, number>()
  readonly #holds = new Map<string, Session>()
  /** Put before an agent outside any answer, such as a text typed into its terminal: read at its next call, by whichever session. */
  readonly #pasted = new Map<string, Set<string>>()
  readonly #changed = new Set<(agent: string) => void>()

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock
    this.#ids = ids
  }

  /** A former id is taken up again only while nobody uses it. */
  open(
    door: Door,
    traits: { keyHash?: string; isModel?: boolean; resume?: string; unanswered?: string[] } = {},
  ): Session {
    const { keyHash, isModel = false, resume, unanswered = [] } = traits
    const abort = new AbortController()
    // Each of its waits listens: many are no leak, and Node would warn of the eleventh.
    setMaxListeners(0, abort.signal)
    const id = resume !== undefined && !this.#live.has(resume) ? resume : this.#ids('s')
    const session: Session = {
      id,
      door,
      isHolder: keyHash !== undefined,
      shown: { keyHash, tokenHashes: new Set() },
      isModel,
      unanswered,
      isInitialized: false,
      handed: new Set(),
      lastCallAt: this.#clock.now(),
      ended: abort.signal,
    }
    this.#live.set(id, { session, abort })
    return session
  }

  bind(session: Session, agent: string): void {
    // One that ended while it was being registered stays ended.
    if (session.agent === agent || this.#live.get(session.id)?.session !== session) return
    this.#unbind(session)
    session.agent = agent
    const sessions = this.#byAgent.get(agent) ?? new Set()
    this.#byAgent.set(agent, sessions.add(session))
    this.#tell(agent)
  }

  /** It acts as nobody again. What its answers handed out was the former agent's. */
  unbind(session: Session): void {
    this.#unbind(session)
    session.agent = undefined
    session.handed.clear()
  }

  initialized(session: Session): void {
    session.isInitialized = true
    if (session.agent !== undefined) this.#tell(session.agent)
  }

  /** Has one of the agent's MCP sessions come so far that its tools are there? */
  isInitialized(agent: string): boolean {
    return [...(this.#byAgent.get(agent) ?? [])].some(({ isInitialized }) => isInitialized)
  }

  paste(agent: string, messages: Iterable<string>): void {
    const pasted = this.#pasted.get(agent) ?? new Set()
    for (const id of messages) pasted.add(id)
    this.#pasted.set(agent, pasted)
  }

  /** What the session's next call shows to have been received. Cleared: it is asked for once. */
  received(session: Session): string[] {
    const { agent, handed } = session
    const pasted = agent === undefined ? undefined : this.#pasted.get(agent)
    if (handed.size === 0 && pasted === undefined) return []
    const received = [...handed, ...(pasted ?? [])]
    handed.clear()
    if (pasted) this.#pasted.delete(agent as string)
    return received
  }

  touch(session: Session): void {
    session.lastCallAt = this.#clock.now()
  }

  /** `why` is what its other side is told. */
  end(session: Session, why?: RefusalError): void {
    const live = this.#live.get(session.id)
    if (live?.session !== session) return
    this.#live.delete(session.id)
    this.#unbind(session)
    live.abort.abort(why)
  }

  /** Tells of every agent that came, went or is served by one session less. */
  onChange(listener: (agent: string) => void): () => void {
    this.#changed.add(listener)
    return () => this.#changed.delete(listener)
  }

  isLive(agent: string): boolean {
    return this.#byAgent.has(agent)
  }

  /** The live session that a hold belongs to; undefined once it is over. */
  holder(hold: string): string | undefined {
    return this.#live.has(hold) ? hold : this.#holds.get(hold)?.id
  }

  /** A part of a session that holds messages of its own, such as one watch: what it holds is free when it ends, not when the session does. */
  hold(session: Session): { id: string; release(): void } {
    const id = this.#ids('h')
    this.#holds.set(id, session)
    const release = () => {
      if (this.#holds.delete(id) && session.agent !== undefined) this.#tell(session.agent)
    }
    return { id, release }
  }

  /** When the agent last had a session; undefined if never since the daemon started. */
  lastSeenAt(agent: string): number | undefined {
    return this.isLive(agent) ? this.#clock.now() : this.#lastSeenAt.get(agent)
  }

  /** The agent that one of these processes started, the nearest first; of several the last that came. */
  agentOfHost(hosts: readonly number[]): string | undefined {
    const named = this.all().filter(({ agent, host }) => agent !== undefined && host !== undefined)
    for (const host of hosts) {
      const found = named.findLast((session) => session.host === host)
      if (found) return found.agent
    }
    return undefined
  }

  lastCallAt(agent: string): number | undefined {
    const sessions = this.#byAgent.get(agent)
    if (!sessions) return this.#lastSeenAt.get(agent)
    return Math.max(...[...sessions].map((session) => session.lastCallAt))
  }

  statusOf(agent: string): 'active' | 'idle' | 'offline' {
    if (!this.isLive(agent)) return 'offline'
    return this.#clock.now() - (this.lastCallAt(agent) as number) >= idleMs ? 'idle' : 'active'
  }

  all(): Session[] {
    return [...this.#live.values()].map(({ session }) => session)
  }

  /** One of the agent's live sessions. */
  sessionOf(agent: string): string | undefined {
    return this.#byAgent.get(agent)?.values().next().value?.id
  }

  get size(): number {
    return this.#live.size
  }

  #unbind(session: Session): void {
    const { agent } = session
    const sessions = agent === undefined ? undefined : this.#byAgent.get(agent)
    if (agent === undefined || !sessions?.delete(session)) return
    this.#lastSeenAt.set(agent, this.#clock.now())
    if (sessions.size === 0) this.#byAgent.delete(agent)
    this.#tell(agent)
  }

  #tell(agent: string): void {
    for (const listener of this.#changed) listener(agent)
  }
}
