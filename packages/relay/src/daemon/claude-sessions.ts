// The sessions of Claude Code that people started. Their state comes from their records, and messages go to their sockets (supervisor/claude).
// Letters of their models to us become messages, our agents stand in their list, and their hooks are told when no waiter is needed.

import { dirname } from 'node:path'
import { cliOf } from '@agent-relay/sdk/internal/clis'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import type { Route } from '@agent-relay/sdk/protocol'
import type { OpenedMail, OwnSession } from '../broker/waking/own-session-runtime.ts'
import type { HooksFolder } from '../machine/hooks-folder.ts'
import { ClaudeInbox, newLetterId, removeDead, type SaidToUs } from '../supervisor/claude/inbox.ts'
import { ClaudeRegistry, type ClaudeSession } from '../supervisor/claude/registry.ts'
import { ClaudeSessionDelivery } from '../supervisor/claude/session-delivery.ts'
import { workerMarker } from '../supervisor/launching.ts'
import { carries } from '../supervisor/processes.ts'
import type {
  Answering,
  Matches,
  ProgramListener,
  ProgramMembership,
  ProgramSource,
  UserProgram,
} from '../supervisor/user-program.ts'
import { ClaudeList, type Target } from './claude-list.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { UserProgramMemory } from './user-program-memory.ts'

/** Interval between looks into transcripts, while a message is on its way. */
const transcriptMs = 1_000
/** Interval between looks whether the person has agreed to list our agents. */
const listMs = 2_000
/** Maximum number of letters from one session that wait to be sent. */
const heardMax = 100
/** The name under which the daemon itself writes to a session. */
const ownName = 'agent-relay'

export interface ClaudeSessionsOptions {
  /** Claude Code's directory: `$CLAUDE_CONFIG_DIR`, or `~/.claude`. */
  home: string
  memory: UserProgramMemory
  /** Whether the person lets our agents stand in Claude Code's own list. */
  mayList(): boolean
  hooks: HooksFolder
  workspaces: Pick<OpenWorkspaces, 'dispatches'>
}

export class ClaudeSessions implements ProgramSource {
  readonly cli = 'claude'
  readonly #options: ClaudeSessionsOptions
  readonly #listener: ProgramListener
  readonly #registry: ClaudeRegistry
  /** Programs by process id, as text. */
  readonly #programs = new Map<string, ClaudeProgram>()
  readonly #list: ClaudeList
  /** Our inboxes, by folder; undefined if one cannot be opened. */
  readonly #inboxes = new Map<string, Promise<ClaudeInbox | undefined>>()
  #timer: NodeJS.Timeout | undefined
  readonly #listing: NodeJS.Timeout
  #listTrouble: string | undefined
  #isClosed = false
  /** Sockets of listed agents that are noted for the next daemon. */
  #listedSockets = 0

  constructor(options: ClaudeSessionsOptions, listener: ProgramListener) {
    this.#options = options
    this.#listener = listener
    for (const path of options.memory.sockets) removeDead(path)
    const { home, mayList: isAllowed } = options
    const { onChange, onTrouble } = listener
    const onSaid = (said: SaidToUs, to: Target) => this.#heard(said, to)
    this.#list = new ClaudeList({ home, isAllowed, onTrouble, onSaid, onReady: onChange })
    this.#listing = setInterval(() => this.#showList(), listMs).unref()
    this.#registry = new ClaudeRegistry({ home, onChange: () => this.#look() })
  }

  programs(): ReadonlyMap<string, UserProgram> {
    return this.#programs
  }

  /** Matches programs with sessions: Claude Code's process is the parent of our MCP server. */
  match(sessions: readonly OwnSession[]): Matches {
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

  onLooked(): void {
    this.#showList()
    this.#later()
  }

  onPlace(program: ClaudeProgram, place: ProgramMembership | undefined): void {
    const { memory, hooks } = this.#options
    const { version, directory, pid } = program.session
    program.place = place
    if (place && program.note !== undefined) this.#noteTaking(program.session, false)
    // A session counts as open only after one like it has taken a message: if none is taken, an idle session without a waiter could not be woken.
    const isOpen = place?.isWoken === true && memory.isTaking(version, directory)
    if (program.isTold === isOpen) return
    program.isTold = isOpen
    hooks.noteDoor(pid, isOpen)
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
      // A worker is an agent already, in the workspace that hired it.
      else if (session.isAttended && !carries(session.pid, workerMarker))
        void this.#begin(session).catch(this.#listener.onTrouble)
    }
    this.#listener.onChange()
  }

  async #begin(session: ClaudeSession): Promise<void> {
    const look = () => this.#registry.look()
    const onTaken = () => this.#noteTaking(program.session, true)
    const program = new ClaudeProgram(session, { look, onTaken, onGiven: () => this.#later() })
    this.#programs.set(program.key, program)
    program.delivery = await this.#deliveryOf(program)
    if (this.#programs.get(program.key) !== program) program.delivery?.end()
    program.delivery?.update(program.session)
    this.#listener.onChange()
  }

  /** Looks again while a message is on its way, and when a session that took none may be written to again. */
  #later(): void {
    clearTimeout(this.#timer)
    const due = [...this.#programs.values()].flatMap(({ delivery }) =>
      delivery?.isWaiting ? transcriptMs : (delivery?.shutMs ?? []),
    )
    if (this.#isClosed || due.length === 0) return
    const look = () => {
      for (const { delivery } of this.#programs.values()) delivery?.look()
      this.#listener.onChange()
    }
    this.#timer = setTimeout(look, Math.min(...due)).unref()
  }

  /** Updates the list. A repeated failure, such as a full disk, is reported once. */
  #showList(): void {
    const told = (error?: Error) => {
      if (error && error.message !== this.#listTrouble) this.#listener.onTrouble(error)
      this.#listTrouble = error?.message
    }
    void this.#updateList().then(() => told(), told)
  }

  async #updateList(): Promise<void> {
    const [first] = this.#programs.values()
    const inbox = first && (await this.#inboxes.get(dirname(first.session.socketPath)))
    if (this.#isClosed) return
    const workspaces = this.#options.workspaces.dispatches().map(({ workspace }) => workspace)
    const programs = [...this.#programs.values()]
    const writers = programs.flatMap(({ place }) => place?.workspace ?? [])
    const sessions = new Map(programs.map(({ session }) => [session.pid, session]))
    this.#list.update({ workspaces, sessions, writers, inbox })
    // Inboxes of listed agents open by themselves, between two updates.
    if (this.#list.sockets.length !== this.#listedSockets) await this.#noteSockets()
  }

  /** Notes whether sessions of this version and directory take messages. A session that asks its person about each message says nothing about others. */
  #noteTaking({ version, directory, isUnasked }: ClaudeSession, isTaking: boolean): void {
    if (!isUnasked) this.#options.memory.noteTaking(version, directory, isTaking)
  }

  async #deliveryOf({ session }: ClaudeProgram): Promise<ClaudeSessionDelivery | undefined> {
    const folder = dirname(session.socketPath)
    const opening =
      this.#inboxes.get(folder) ??
      ClaudeInbox.open(folder, process.pid, {
        onOutcome: (id, outcome) => {
          for (const { delivery } of this.#programs.values()) delivery?.onOutcome(id, outcome)
        },
        onSaid: (said) => this.#heard(said),
      }).catch((error: Error) => void this.#listener.onTrouble(error))
    this.#inboxes.set(folder, opening)
    const inbox = await opening
    if (inbox) await this.#noteSockets()
    if (!inbox || this.#isClosed) return undefined
    const { onTrouble, onChange } = this.#listener
    return new ClaudeSessionDelivery(session, { home: this.#options.home, inbox, onTrouble, onChange })
  }

  async #noteSockets(): Promise<void> {
    const inboxes = await Promise.all(this.#inboxes.values())
    const listed = this.#list.sockets
    this.#options.memory.noteSockets([...inboxes.flatMap((inbox) => inbox?.path ?? []), ...listed])
    this.#listedSockets = listed.length
  }

  /** Takes a letter from a session; its letters are sent one after another, in order. */
  #heard(said: SaidToUs, target?: Target): void {
    const program = [...this.#programs.values()].find(({ session }) => session.socketPath === said.socketPath)
    if (!program) return
    if (program.waiting >= heardMax) {
      // The session is told once, until all waiting letters are sent.
      if (!program.isFull) void this.#tell(program, 'Not sent: too much at once. What came before is sent.')
      program.isFull = true
      return
    }
    program.waiting++
    program.last = program.last.then(() => this.#hear(program, said, target)).catch(this.#listener.onTrouble)
    void program.last.then(() => {
      program.waiting--
      if (program.waiting === 0) program.isFull = false
    })
  }

  /** Sends a letter from a session's model as a message of its agent. It goes to the name at its start, else to the sender of the mail last shown. */
  async #hear(program: ClaudeProgram, { id, text }: SaidToUs, target?: Target): Promise<void> {
    const { place, answersTo } = program
    if (!place) return
    const [, named, rest] = /^@(\S{1,140}?)[:,]?\s+([\s\S]*)$/.exec(text.trim()) ?? []
    const to = target ? addressOf(target, place.workspace) : (named ?? answersTo)
    const body = target ? text : (rest ?? text)
    if (to === undefined) return this.#tell(program, 'Not sent: say for whom it is at its start, as in "@Bob …".')
    const why = await this.#listener.onSaid(program, { id, to, body })
    if (why !== undefined) await this.#tell(program, `Not sent to ${to}: ${why}`)
  }

  async #tell({ session }: ClaudeProgram, text: string): Promise<void> {
    const inbox = await this.#inboxes.get(dirname(session.socketPath))
    await inbox?.send(session, { id: newLetterId(), name: ownName, text }).catch(() => {})
  }
}

interface ClaudeProgramOptions {
  /** Reads the registry again. */
  look(): void
  /** Called when messages were given to the session. */
  onGiven(): void
  /** Called when the session's model was shown a message. */
  onTaken(): void
}

class ClaudeProgram implements UserProgram {
  readonly #options: ClaudeProgramOptions
  session: ClaudeSession
  delivery: ClaudeSessionDelivery | undefined
  place: ProgramMembership | undefined
  /** Whether hooks were told to leave no waiter. */
  isTold = false
  /** The recipient of an answer without a name: the sender of the mail last shown, if that was a single agent. */
  answersTo: string | undefined
  /** The number of letters of this session that are being sent, and the last of them. */
  waiting = 0
  last: Promise<void> = Promise.resolve()
  isFull = false

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
    return this.delivery?.holds ?? false
  }

  get isReachable(): boolean {
    return this.delivery !== undefined
  }

  get isOpen(): boolean {
    return this.delivery?.isOpen ?? false
  }

  /** Limits mail to one message at a time while an earlier daemon may have sent some of it: each message is looked for by itself. */
  get mailMax(): number | undefined {
    return this.delivery?.isFirst ? 1 : undefined
  }

  update(session: ClaudeSession): void {
    this.session = session
    this.delivery?.update(session)
  }

  look(): void {
    this.#options.look()
  }

  async give(held: OpenedMail, { hasOurTools, sendTool }: Answering): Promise<void> {
    const { messages, opening } = held
    const senders = [...new Set(messages.map(({ from }) => from))]
    this.answersTo = senders.length === 1 ? senders[0] : undefined
    const name = senders.length === 1 ? (senders[0] as string) : ownName
    const way = hasOurTools ? { sendTool } : { peer: this.delivery?.address }
    const { toolPrefix } = cliOf('claude')
    const text = injectionText(messages, { toolPrefix, ...way, isBare: true, opening })
    const offered = (route: Route) => {
      this.#options.onTaken()
      return held.offered(route)
    }
    await this.delivery?.give({ messages, name, text, offered, release: () => held.release() })
    this.#options.onGiven()
  }
}

/** The agent's address as an agent of the workspace `from` writes it. */
const addressOf = ({ workspace, agent }: Target, from: string): string =>
  workspace === from ? agent : `${workspace}:${agent}`
