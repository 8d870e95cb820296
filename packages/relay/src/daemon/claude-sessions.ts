// The sessions of Claude Code that people started. Their states come from Claude Code's records, and messages go to their sockets (supervisor/claude). What
// their models write to us is sent as messages, and our agents are listed in Claude Code's registry. The hooks of sessions whose sockets take messages are told
// to leave no waiter.

import { dirname } from 'node:path'
import { cliOf } from '@agent-relay/sdk/internal/clis'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import type { Route } from '@agent-relay/sdk/protocol'
import type { MailWithBrief, UserSession } from '../broker/waking/user-session-runtime.ts'
import type { HooksFolder } from '../machine/hooks-folder.ts'
import { ClaudeInbox, type IncomingText, newTextId, removeDeadSocket } from '../supervisor/claude/inbox.ts'
import { ClaudeRegistry, type ClaudeSession } from '../supervisor/claude/registry.ts'
import { ClaudeSessionDelivery } from '../supervisor/claude/session-delivery.ts'
import { workerMarker } from '../supervisor/launching.ts'
import { mayHaveVariable } from '../supervisor/processes.ts'
import type {
  AnswerPath,
  ProgramListener,
  ProgramMembership,
  ProgramSource,
  SessionMatches,
  UserProgram,
} from '../supervisor/user-program.ts'
import { ClaudeList, type ClaudeListedAgent } from './claude-list.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { UserProgramMemory } from './user-program-memory.ts'

/** Interval between two reads of the transcripts, in ms, while a message was sent and no transcript shows it yet. */
const transcriptLookMs = 1_000
/** Interval in ms between two checks whether the person has agreed to list our agents in Claude Code. */
const consentLookMs = 2_000
/** Maximum number of texts of one session, written by its model to us, that wait to be sent. */
const waitingTextsMax = 100
/** The name of the sender when the daemon itself writes to a session. */
const daemonSenderName = 'agent-relay'

export interface ClaudeSessionsOptions {
  /** Claude Code's directory: `$CLAUDE_CONFIG_DIR`, or `~/.claude`. */
  home: string
  memory: UserProgramMemory
  /** Whether the person allows our agents in Claude Code's own list. */
  mayList(): boolean
  hooks: HooksFolder
  workspaces: Pick<OpenWorkspaces, 'dispatches'>
}

export class ClaudeSessions implements ProgramSource {
  readonly cli = 'claude'
  readonly #options: ClaudeSessionsOptions
  readonly #listener: ProgramListener
  readonly #registry: ClaudeRegistry
  /** The programs by their process ids, written as text. */
  readonly #programs = new Map<string, ClaudeProgram>()
  readonly #list: ClaudeList
  /** Our sockets on which sessions write to us, by their folders. A promise resolves to undefined if the socket cannot be opened. */
  readonly #inboxes = new Map<string, Promise<ClaudeInbox | undefined>>()
  #timer: NodeJS.Timeout | undefined
  readonly #listing: NodeJS.Timeout
  #lastListError: string | undefined
  #isClosed = false
  /** Number of the listed agents' sockets that are recorded on disk, so that the next daemon can remove them. */
  #listedSockets = 0

  constructor(options: ClaudeSessionsOptions, listener: ProgramListener) {
    this.#options = options
    this.#listener = listener
    for (const path of options.memory.sockets) removeDeadSocket(path)
    const { home, mayList: isAllowed } = options
    const { onChange, onTrouble } = listener
    const onText = (said: IncomingText, to: ClaudeListedAgent) => this.#receiveText(said, to)
    this.#list = new ClaudeList({ home, isAllowed, onTrouble, onText, onInboxReady: onChange })
    this.#listing = setInterval(() => this.#showList(), consentLookMs).unref()
    this.#registry = new ClaudeRegistry({ home, onChange: () => this.#look() })
  }

  programs(): ReadonlyMap<string, UserProgram> {
    return this.#programs
  }

  /** Finds the program of each session of our MCP server: the server's parent process is Claude Code. */
  matchSessions(sessions: readonly UserSession[]): SessionMatches {
    const found = [...this.#programs].flatMap(
      ([
        key,
        {
          session: { pid },
        },
      ]) => {
        const session = sessions.find(({ host }) => host === pid)
        return session ? [[key, session] as const] : []
      },
    )
    return { sessions: new Map(found), undecided: new Set(), notes: new Map() }
  }

  onProgramsChecked(): void {
    this.#showList()
    this.#scheduleLook()
  }

  onMembership(program: ClaudeProgram, place: ProgramMembership | undefined): void {
    const { memory, hooks } = this.#options
    const { version, directory, pid } = program.session
    program.membership = place
    if (place && program.note !== undefined) this.#rememberAcceptance(program.session, false)
    // The hooks leave no waiter only if a session of the same version and directory has taken a message by its socket: otherwise nothing might wake an idle
    // session.
    const isOpen = place?.isWoken === true && memory.acceptsMessages(version, directory)
    if (program.needsNoWaiter === isOpen) return
    program.needsNoWaiter = isOpen
    hooks.recordOwnInterface(pid, isOpen)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearInterval(this.#listing)
    this.#registry.close()
    this.#list.close()
    for (const { delivery } of this.#programs.values()) delivery?.end()
    for (const opening of this.#inboxes.values()) (await opening)?.close()
  }

  #look(): void {
    if (this.#isClosed) return
    const living = this.#registry.sessions
    for (const [key, { session, delivery }] of this.#programs) {
      if (living.get(session.pid)?.procStart === session.procStart) continue
      this.#programs.delete(key)
      delivery?.end()
    }
    for (const session of living.values()) {
      const program = this.#programs.get(String(session.pid))
      if (program) program.update(session)
      // A session with the marker of a worker is an agent already, in the workspace that hired it.
      else if (session.isAttended && !mayHaveVariable(session.pid, workerMarker))
        void this.#begin(session).catch(this.#listener.onTrouble)
    }
    this.#listener.onChange()
  }

  async #begin(session: ClaudeSession): Promise<void> {
    const look = () => this.#registry.look()
    const onTaken = () => this.#rememberAcceptance(program.session, true)
    const program = new ClaudeProgram(session, { look, onTaken, onGiven: () => this.#scheduleLook() })
    this.#programs.set(program.key, program)
    program.delivery = await this.#deliveryOf(program)
    if (this.#programs.get(program.key) !== program) program.delivery?.end()
    program.delivery?.update(program.session)
    this.#listener.onChange()
  }

  /**
   * Schedules the next check of messages on their way: soon while a sent one was not seen in a transcript, else when a session that took no message may get one
   * again.
   */
  #scheduleLook(): void {
    clearTimeout(this.#timer)
    const due = [...this.#programs.values()].flatMap(({ delivery }) =>
      delivery?.isMessagePending ? transcriptLookMs : (delivery?.pauseMs ?? []),
    )
    if (this.#isClosed || due.length === 0) return
    const look = () => {
      for (const { delivery } of this.#programs.values()) delivery?.look()
      this.#listener.onChange()
    }
    this.#timer = setTimeout(look, Math.min(...due)).unref()
  }

  /** Updates the list of agents in Claude Code. An error that repeats, such as a full disk, is reported once. */
  #showList(): void {
    const told = (error?: Error) => {
      if (error && error.message !== this.#lastListError) this.#listener.onTrouble(error)
      this.#lastListError = error?.message
    }
    void this.#updateList().then(() => told(), told)
  }

  async #updateList(): Promise<void> {
    const [first] = this.#programs.values()
    const inbox = first && (await this.#inboxes.get(dirname(first.session.socketPath)))
    if (this.#isClosed) return
    const workspaces = this.#options.workspaces.dispatches().map(({ workspace }) => workspace)
    const programs = [...this.#programs.values()]
    const writers = programs.flatMap(({ membership }) => membership?.workspace ?? [])
    const sessions = new Map(programs.map(({ session }) => [session.pid, session]))
    this.#list.update({ workspaces, sessions, writers, inbox })
    // The sockets of listed agents open asynchronously, so their number may have changed since the last update.
    if (this.#list.socketPaths.length !== this.#listedSockets) await this.#rememberSockets()
  }

  /** Remembers whether sessions of this version and directory take messages. A session that skips permissions tells nothing about the others there. */
  #rememberAcceptance({ version, directory, skipsPermissions }: ClaudeSession, acceptsMessages: boolean): void {
    if (!skipsPermissions) this.#options.memory.rememberAcceptance(version, directory, acceptsMessages)
  }

  async #deliveryOf({ session }: ClaudeProgram): Promise<ClaudeSessionDelivery | undefined> {
    const folder = dirname(session.socketPath)
    const opening =
      this.#inboxes.get(folder) ??
      ClaudeInbox.open(folder, process.pid, {
        onOutcome: (id, outcome) => {
          for (const { delivery } of this.#programs.values()) delivery?.onOutcome(id, outcome)
        },
        onText: (said) => this.#receiveText(said),
      }).catch((error: Error) => void this.#listener.onTrouble(error))
    this.#inboxes.set(folder, opening)
    const inbox = await opening
    if (inbox) await this.#rememberSockets()
    if (!inbox || this.#isClosed) return undefined
    const { onTrouble, onChange } = this.#listener
    return new ClaudeSessionDelivery(session, { home: this.#options.home, inbox, onTrouble, onChange })
  }

  async #rememberSockets(): Promise<void> {
    const inboxes = await Promise.all(this.#inboxes.values())
    const listed = this.#list.socketPaths
    this.#options.memory.rememberSockets([...inboxes.flatMap((inbox) => inbox?.path ?? []), ...listed])
    this.#listedSockets = listed.length
  }

  /** Takes a text that the session's model wrote to us. The texts of a session are sent one after another. */
  #receiveText(said: IncomingText, target?: ClaudeListedAgent): void {
    const program = [...this.#programs.values()].find(({ session }) => session.socketPath === said.socketPath)
    if (!program) return
    if (program.waitingTexts >= waitingTextsMax) {
      // The session is told once that it sends too much, until all waiting texts are sent.
      if (!program.hasTooManyTexts)
        void this.#replyTo(
          program,
          `Not sent: ${waitingTextsMax} of your messages already wait. They will be sent; send this one again later.`,
        )
      program.hasTooManyTexts = true
      return
    }
    program.waitingTexts++
    program.lastTextSent = program.lastTextSent
      .then(() => this.#sendText(program, said, target))
      .catch(this.#listener.onTrouble)
    void program.lastTextSent.then(() => {
      program.waitingTexts--
      if (program.waitingTexts === 0) program.hasTooManyTexts = false
    })
  }

  /**
   * Sends a text of a session's model as a message of its agent: to the `@name` at its start, otherwise to the sender of the mail that the model was shown
   * last.
   */
  async #sendText(program: ClaudeProgram, { id, text }: IncomingText, target?: ClaudeListedAgent): Promise<void> {
    const { membership, answerRecipient } = program
    if (!membership) return
    const [, named, rest] = /^@(\S{1,140}?)[:,]?\s+([\s\S]*)$/.exec(text.trim()) ?? []
    const to = target ? addressOf(target, membership.workspace) : (named ?? answerRecipient)
    const body = target ? text : (rest ?? text)
    if (to === undefined) return this.#replyTo(program, 'Not sent: say for whom it is at its start, as in "@Bob …".')
    const why = await this.#listener.onMessage(program, { id, to, body })
    if (why !== undefined) await this.#replyTo(program, `Not sent to ${to}: ${why}`)
  }

  async #replyTo({ session }: ClaudeProgram, text: string): Promise<void> {
    const inbox = await this.#inboxes.get(dirname(session.socketPath))
    await inbox?.send(session, { id: newTextId(), name: daemonSenderName, text }).catch(() => {})
  }
}

interface ClaudeProgramOptions {
  /** Reads Claude Code's registry of sessions again. */
  look(): void
  /** Called when messages were sent to the session. */
  onGiven(): void
  /** Called when the transcript shows that the model has a message. */
  onTaken(): void
}

class ClaudeProgram implements UserProgram {
  readonly #options: ClaudeProgramOptions
  session: ClaudeSession
  delivery: ClaudeSessionDelivery | undefined
  membership: ProgramMembership | undefined
  /** Whether the session's hooks were told to leave no waiter (a process that wakes an idle session), since its socket takes messages. */
  needsNoWaiter = false
  /** The recipient of a text that names none: the sender of the mail shown last, if all of it came from one agent. */
  answerRecipient: string | undefined
  /** The number of this session's texts that are not sent yet. The promise below resolves when the last of them is sent. */
  waitingTexts = 0
  lastTextSent: Promise<void> = Promise.resolve()
  hasTooManyTexts = false

  constructor(session: ClaudeSession, options: ClaudeProgramOptions) {
    this.session = session
    this.#options = options
  }

  get key(): string {
    return String(this.session.pid)
  }

  get host(): number {
    return this.session.pid
  }

  get directory(): string {
    return this.session.directory
  }

  get name(): string {
    return this.session.name
  }

  get conversation(): string {
    return this.session.sessionId
  }

  get doing(): UserProgram['doing'] {
    return this.session.doing
  }

  get note(): string | undefined {
    return this.delivery?.note
  }

  get asksPerson(): boolean {
    return this.delivery?.asksPerson ?? false
  }

  get isReachable(): boolean {
    return this.delivery !== undefined
  }

  get canTakeText(): boolean {
    return this.delivery?.canTakeText ?? false
  }

  /** Limits mail to one message at a time until this daemon has sent one: an earlier daemon may have sent it, so the transcript is searched for it first. */
  get messagesMax(): number | undefined {
    return this.delivery?.hasSentNothing ? 1 : undefined
  }

  update(session: ClaudeSession): void {
    this.session = session
    this.delivery?.update(session)
  }

  look(): void {
    this.#options.look()
  }

  async give(held: MailWithBrief, { hasOurTools, sendTool }: AnswerPath): Promise<void> {
    const { messages, briefText } = held
    const senders = [...new Set(messages.map(({ from }) => from))]
    this.answerRecipient = senders.length === 1 ? senders[0] : undefined
    const name = senders.length === 1 ? (senders[0] as string) : daemonSenderName
    const way = hasOurTools ? { sendTool } : { peer: this.delivery?.replyAddress }
    const { toolPrefix } = cliOf('claude')
    const text = injectionText(messages, { toolPrefix, ...way, isBare: true, opening: briefText })
    const offered = (route: Route) => {
      this.#options.onTaken()
      return held.markOffered(route)
    }
    await this.delivery?.give({ messages, name, text, markOffered: offered, release: () => held.release() })
    this.#options.onGiven()
  }
}

/** Returns the address of a listed agent, as agents of the workspace `from` write it. */
const addressOf = ({ workspace, agent }: ClaudeListedAgent, from: string): string =>
  workspace === from ? agent : `${workspace}:${agent}`
