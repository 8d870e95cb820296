// Keeps the live sessions of this machine and the agents that they act as. Only in memory, because no session outlives the daemon.

import { setMaxListeners } from 'node:events'
import type { Agent, Ids, MailTools } from '@agent-relay/sdk/protocol'
import type { RefusalError } from '../../core/refusal-error.ts'
import type { World } from '../../core/world.ts'
import type { Clock } from '../../machine/clock.ts'
import { KeyedQueue } from '../../machine/keyed-queue.ts'
import { notifyEach } from '../hub.ts'
import { idOnMachine } from '../sharing.ts'
import { hashSecret, newSecret } from './credentials.ts'
import {
  agentOfProcesses,
  type ClockReadings,
  type ProvisionalName,
  type Session,
  type SessionTraits,
} from './session.ts'
import { daemonSessionStanding, type Standing } from './standing.ts'

/** Time without a call after which an agent counts as idle. */
export const idleMs = 120_000

export class Sessions implements World {
  /** The name of this machine in its cluster; undefined if the workspace lives on one machine alone. */
  readonly machine: string | undefined
  /** The name of the person whose daemon this is; undefined if it belongs to no person. */
  readonly person: string | undefined
  /** Registrations under way, by the family of the name (`Ada`, `Ada-2`, …). */
  readonly registrations = new KeyedQueue()
  readonly #clock: Clock
  readonly #ids: Ids
  readonly #onTrouble: (error: Error) => void
  readonly #live = new Map<string, { session: Session; abort: AbortController }>()
  readonly #byAgent = new Map<string, Set<Session>>()
  readonly #byCli = new Map<string, Set<Session>>()
  readonly #startedAt: ClockReadings
  readonly #lastSeen = new Map<string, ClockReadings>()
  /** For each agent, whether all its sessions since the daemon's start came over the owner's socket or from a logged-in person's page. */
  readonly #onOwnersAccount = new Map<string, boolean>()
  readonly #provisional = new Map<string, Session>()
  readonly #holds = new Map<string, Session>()
  /** Messages shown to an agent outside any answer, such as text typed into its terminal: they count as read at the agent's next call. */
  readonly #shownOutsideAnswers = new Map<string, Set<string>>()
  /** The agents whose CLI has run one of our hooks since they connected. */
  readonly #hooked = new Set<string>()
  /** The state of each agent's program, as the program itself reports it. */
  readonly #programStates = new Map<string, ProgramState>()
  readonly #changed = new Set<(agent: string) => void>()

  constructor(clock: Clock, ids: Ids, onTrouble: (error: Error) => void, machine?: string, person?: string) {
    this.machine = machine
    this.person = person
    this.#onTrouble = onTrouble
    this.#clock = clock
    this.#ids = ids
    this.#startedAt = this.#now()
  }

  /** Opens a session. With the ticket of a former session it continues that one, unless it is still connected. */
  open(
    standing: Standing,
    { keyHash, resume, unanswered = [], host, process, directory }: SessionTraits = {},
  ): Session {
    const abort = new AbortController()
    // Each wait of the session adds a listener to this signal: many are no leak, but Node would warn at the eleventh.
    setMaxListeners(0, abort.signal)
    const isResumed = resume !== undefined && !this.#live.has(this.#idOf(resume))
    const ticket = isResumed ? resume : newSecret('st')
    const id = this.#idOf(ticket)
    const session: Session = {
      id,
      ticket,
      standing,
      agent: undefined,
      isNameGiven: false,
      provisional: undefined,
      shownCredentials: { keyHash, tokenHashes: new Set() },
      isResumed,
      unanswered,
      ...{ host, process, directory },
      isInitialized: false,
      handedMessages: new Set(),
      lastCall: this.#now(),
      ended: abort.signal,
    }
    this.#live.set(id, { session, abort })
    return session
  }

  /** Opens a session of the daemon itself, under its own name or that of a worker whose program runs. */
  openForDaemon(agent: string): Session {
    const session = this.open(daemonSessionStanding(this.machine))
    this.bind(session, agent)
    return session
  }

  /** Lets the session act as this agent. `provisional`: set if the daemon gave the name and has not stored it yet. */
  bind(session: Session, agent: string, provisional?: ProvisionalName): void {
    // The session's provisional name ends here: it has been stored, or the session took another name.
    if (session.provisional) this.#provisional.delete(session.provisional.profile.name)
    writable(session).provisional = undefined
    writable(session).isNameGiven = provisional !== undefined
    // Does nothing for a session that ended during its registration.
    if (session.agent === agent || this.#live.get(session.id)?.session !== session) return
    this.#unbind(session)
    // Forgets the messages in earlier answers: they were for the former agent.
    session.handedMessages.clear()
    writable(session).agent = agent
    writable(session).provisional = provisional
    if (provisional) this.#provisional.set(agent, session)
    const sessions = this.#byAgent.get(agent) ?? new Set()
    this.#byAgent.set(agent, sessions.add(session))
    const { door, isPage = false } = session.standing
    this.#onOwnersAccount.set(agent, (door === 'owner' || isPage) && this.#onOwnersAccount.get(agent) !== false)
    this.#tell(agent)
  }

  markNameGiven(session: Session): void {
    writable(session).isNameGiven = true
  }

  markInitialized(session: Session, cli?: string, mailTools?: MailTools): void {
    writable(session).isInitialized = true
    writable(session).cli = cli
    writable(session).mailTools = mailTools
    if (cli !== undefined && this.#live.get(session.id)?.session === session)
      this.#byCli.set(cli, (this.#byCli.get(cli) ?? new Set()).add(session))
    if (session.agent !== undefined) this.#tell(session.agent)
  }

  setCalledThread(session: Session, thread: string): void {
    if (session.calledThread === thread) return
    writable(session).calledThread = thread
    if (session.agent !== undefined) this.#tell(session.agent)
  }

  /** Records which conversation of Codex a session most likely belongs to, before its first call names one. */
  setLikelyThread(session: Session, thread: string): void {
    writable(session).likelyThread = thread
  }

  /** Returns the live MCP sessions of an agent CLI. */
  ofCli(cli: string): ReadonlySet<Session> {
    return this.#byCli.get(cli) ?? noSessions
  }

  ofAgent(agent: string): ReadonlySet<Session> {
    return this.#byAgent.get(agent) ?? noSessions
  }

  /** Whether one of the agent's MCP sessions is initialized, so that the agent has the relay's tools. */
  isInitialized(agent: string): boolean {
    return [...this.ofAgent(agent)].some(({ isInitialized }) => isInitialized)
  }

  recordHook(agent: string): void {
    this.#hooked.add(agent)
  }

  /** Whether the agent's CLI runs our hooks, so that messages are shown to the agent at its next turn. */
  hasHooks(agent: string): boolean {
    return this.#hooked.has(agent)
  }

  /** Sets the state of the agent's program for lists of agents. It is forgotten when the agent's last session ends. */
  setProgramState(agent: string, word: ProgramState): void {
    if (this.isLive(agent)) this.#programStates.set(agent, word)
  }

  programState(agent: string): ProgramState | undefined {
    return this.#programStates.get(agent)
  }

  /**
   * Finds the session that the daemon itself has opened for the program which started the given session's client. If a server runs many programs, their
   * directory must be the same. Undefined unless exactly one session fits.
   */
  sessionOpenedFor({ host, directory }: Session): Session | undefined {
    const isOnlyWay = ({ agent }: Session) => agent !== undefined && this.#programStates.get(agent)?.isOnlyWay
    const isHere = (each: Session) => each.calledThread === undefined || each.directory === directory
    const opened = this.all().filter((each) => each.host !== undefined && each.host === host && isOnlyWay(each))
    const fitting = opened.filter(isHere)
    return fitting.length === 1 ? fitting[0] : undefined
  }

  recordShownOutsideAnswers(agent: string, messages: Iterable<string>): void {
    const shown = this.#shownOutsideAnswers.get(agent) ?? new Set()
    for (const id of messages) shown.add(id)
    this.#shownOutsideAnswers.set(agent, shown)
  }

  /** Returns the messages in the session's earlier answers, and forgets them. That the session makes a call now shows that it has received them. */
  takeReceivedMessages(session: Session): string[] {
    const { agent, handedMessages } = session
    const shown = agent === undefined ? undefined : this.#shownOutsideAnswers.get(agent)
    if (handedMessages.size === 0 && shown === undefined) return []
    const received = [...handedMessages, ...(shown ?? [])]
    handedMessages.clear()
    if (shown) this.#shownOutsideAnswers.delete(agent as string)
    return received
  }

  recordCall(session: Session): void {
    writable(session).lastCall = this.#now()
  }

  /** Ends a session; `why` is told to its client. */
  end(session: Session, why?: RefusalError): void {
    const live = this.#live.get(session.id)
    if (live?.session !== session) return
    this.#live.delete(session.id)
    if (session.cli !== undefined) this.#byCli.get(session.cli)?.delete(session)
    this.#unbind(session)
    live.abort.abort(why)
  }

  /** Calls the listener for every agent that connected, left or lost a session. */
  onChange(listener: (agent: string) => void): () => void {
    this.#changed.add(listener)
    return () => this.#changed.delete(listener)
  }

  /** Returns the session that has this provisional name. */
  provisional(name: string): Session | undefined {
    return this.#provisional.get(name)
  }

  get provisionalCount(): number {
    return this.#provisional.size
  }

  provisionalNames(): Iterable<string> {
    return this.#provisional.keys()
  }

  isLive(agent: string): boolean {
    return this.#byAgent.has(agent)
  }

  /** Whether the agent runs on the owner's account: it was connected since the daemon started, and never over a network port. */
  isOnOwnersAccount(agent: string): boolean {
    return this.#onOwnersAccount.get(agent) === true
  }

  /** Returns the live session that a hold (a reservation of messages) belongs to. Undefined once that session is over, or if it does not act as `agent`. */
  liveSession(hold: string, agent?: string): string | undefined {
    const session = this.#live.get(hold)?.session ?? this.#holds.get(hold)
    return agent === undefined || session?.agent === agent ? session?.id : undefined
  }

  /**
   * Opens a hold (a reservation of messages) for a part of a session, such as one watch. Messages that this part is handed are hidden from the agent's other
   * sessions until it ends.
   */
  openHold(session: Session): MessageHold {
    const id = this.#ids('h')
    this.#holds.set(id, session)
    const release = () => {
      if (this.#holds.delete(id) && session.agent !== undefined) this.#tell(session.agent)
    }
    return { id, release, forget: () => void this.#holds.delete(id) }
  }

  /** Records that the agent has just disconnected from another machine. */
  recordLeftElsewhere(agent: string): void {
    this.#lastSeen.set(agent, this.#now())
  }

  /** Returns the time since the agent's last session ended, or since the daemon started if the agent had none since then. */
  timeSinceSeen(agent: string): { ms: number; isAtLeast: boolean } {
    const seen = this.#lastSeen.get(agent)
    return { ms: this.#clock.steady() - (seen ?? this.#startedAt).steady, isAtLeast: seen === undefined }
  }

  agentOfHost(hosts: readonly number[], thread?: string): string | undefined {
    return agentOfProcesses(this.all(), hosts, thread)
  }

  /** Returns the working directory of the agent's CLI, if one of the agent's sessions has said it. */
  directoryOf(agent: string): string | undefined {
    return [...this.ofAgent(agent)].findLast(({ directory }) => directory !== undefined)?.directory
  }

  lastCall(agent: string): ClockReadings | undefined {
    const sessions = this.#byAgent.get(agent)
    if (!sessions) return this.#lastSeen.get(agent)
    return [...sessions].map(({ lastCall }) => lastCall).reduce((a, b) => (b.steady > a.steady ? b : a))
  }

  statusOf(agent: string): 'active' | 'idle' | 'offline' {
    if (!this.isLive(agent)) return 'offline'
    const { doing } = this.#programStates.get(agent) ?? {}
    if (doing) return doing.state === 'busy' ? 'active' : 'idle'
    return this.#clock.steady() - (this.lastCall(agent) as ClockReadings).steady >= idleMs ? 'idle' : 'active'
  }

  all(): Session[] {
    return [...this.#live.values()].map(({ session }) => session)
  }

  liveById(id: string): Session | undefined {
    return this.#live.get(id)?.session
  }

  /** Returns the id of one of the agent's live sessions. */
  sessionOf(agent: string): string | undefined {
    return this.#byAgent.get(agent)?.values().next().value?.id
  }

  get size(): number {
    return this.#live.size
  }

  #unbind(session: Session): void {
    const { agent, provisional } = session
    if (provisional && this.#provisional.get(provisional.profile.name) === session) {
      this.#provisional.delete(provisional.profile.name)
      writable(session).provisional = undefined
    }
    const sessions = agent === undefined ? undefined : this.#byAgent.get(agent)
    if (agent === undefined || !sessions?.delete(session)) return
    this.#lastSeen.set(agent, this.#now())
    if (sessions.size === 0) {
      this.#byAgent.delete(agent)
      this.#hooked.delete(agent)
      this.#programStates.delete(agent)
    }
    this.#tell(agent)
  }

  #idOf(ticket: string): string {
    return idOnMachine(`s_${hashSecret(ticket).slice(0, 32)}`, this.machine)
  }

  #now(): ClockReadings {
    return { at: this.#clock.now(), steady: this.#clock.steady() }
  }

  #tell(agent: string): void {
    notifyEach(this.#changed, agent, this.#onTrouble)
  }
}

/** The state of an agent's program, as its CLI reports it. */
export interface ProgramState {
  doing?: Agent['doing']
  /** The reason why the CLI's own interface takes no messages now; unset if it takes them. */
  note?: string
  /** Whether the agent gets messages only by its CLI's own interface. */
  isOnlyWay?: boolean
}

export interface MessageHold {
  readonly id: string
  /** Ends the hold, and tells the agent's other sessions that its messages can be taken. */
  release(): void
  /** Ends the hold without telling other sessions, because it has no messages that they could take. */
  forget(): void
}

const noSessions: ReadonlySet<Session> = new Set()

/** Returns a writable view of a session, for this file alone: all other code may only read it. */
function writable(session: Session): { -readonly [K in keyof Session]: Session[K] } {
  return session
}
