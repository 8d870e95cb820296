// Sessions of Claude Code that people started, without anything of ours in them: each is an agent of the workspace of its directory, as long as its
// process lives. Where it has our MCP server too, that server's agent is the one, and this is only another way to it. What is said of a session is
// what its record says; how a message gets in is in supervisor/claude.

import { dirname } from 'node:path'
import { cliOf } from '@agent-relay/sdk/internal/clis'
import { findProjectConfig, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import { agentNamePattern, limits, type Route } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { nameProvisionally } from '../broker/provisional.ts'
import type { OpenedMail, OwnSession } from '../broker/wake-runtime.ts'
import { bareText, refusalOf } from '../core/refusal-error.ts'
import type { HooksFolder } from '../machine/hooks-folder.ts'
import { ClaudeDoor } from '../supervisor/claude/door.ts'
import { ClaudeInbox, newLetterId, removeDead, type SaidToUs } from '../supervisor/claude/inbox.ts'
import { ClaudeRegistry, type ClaudeSession } from '../supervisor/claude/registry.ts'
import { workerMarker } from '../supervisor/launching.ts'
import { carries } from '../supervisor/processes.ts'
import { ClaudeList, type Target } from './claude-list.ts'
import type { ClaudeMemory } from './claude-memory.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'

/** By then a session has started our MCP server, where its person has installed that. */
const enterMs = 900
/** A session whose workspace is not open is tried again after this. */
const againMs = 10_000
/** Between two looks into transcripts, while a message is on its way. */
const transcriptMs = 1_000
/** What comes together is one look. */
const gatherMs = 50
/** Between two looks whether the person has agreed that our agents are listed. */
const listMs = 2_000
/** Messages of one session that wait to be sent. */
const heardMax = 100
/** The name under which the daemon itself writes to a session. */
const ownName = 'agent-relay'

interface Member {
  session: ClaudeSession
  /** It was seen, or was to come in, and could not. */
  triedAt: number
  door?: ClaudeDoor
  at?: Place
  /** Whom an answer without a name is for: who was shown last, if that was one. */
  answersTo?: string
  isGiving?: boolean
  isWanted?: boolean
  /** What its model wrote, and is being sent: how much, and the last of it. */
  waiting: number
  last: Promise<void>
  isFull?: boolean
}

/** Where it is an agent. */
interface Place {
  dispatch: Dispatch
  agent: string
  /** Its MCP session, or the one that we opened for it. */
  session: OwnSession
  isOurs: boolean
  /** Undone when it leaves. */
  undo: (() => void)[]
  wakes?: () => void
  /** Hooks were told that they need not leave a waiter. */
  isTold?: boolean
}

export interface ClaudeSessionsOptions {
  /** `$CLAUDE_CONFIG_DIR`, or `~/.claude`. */
  home: string
  memory: ClaudeMemory
  /** The person lets our agents stand in Claude Code's own list. */
  mayList(): boolean
  hooks: HooksFolder
  workspaces: OpenWorkspaces
  onTrouble(error: Error): void
}

export class ClaudeSessions {
  readonly #options: ClaudeSessionsOptions
  readonly #registry: ClaudeRegistry
  readonly #members = new Map<number, Member>()
  readonly #list: ClaudeList
  /** By folder; undefined where ours cannot be opened. */
  readonly #inboxes = new Map<string, Promise<ClaudeInbox | undefined>>()
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  readonly #listing: NodeJS.Timeout
  #listTrouble: string | undefined
  #isClosed = false

  constructor(options: ClaudeSessionsOptions) {
    this.#options = options
    for (const path of options.memory.sockets) removeDead(path)
    const { home, onTrouble, mayList: isAllowed } = options
    const onSaid = (said: SaidToUs, to: Target) => this.#heard(said, to)
    this.#list = new ClaudeList({ home, isAllowed, onTrouble, onSaid, onReady: () => this.lookSoon() })
    this.#listing = setInterval(() => this.#showList(), listMs).unref()
    this.#registry = new ClaudeRegistry({ home: options.home, onChange: () => this.#look() })
  }

  /** The files of the registry that were left alone, and why. */
  leftAlone(): { file: string; why: string }[] {
    return this.#registry.leftAlone()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#soon)
    clearInterval(this.#listing)
    this.#registry.close()
    this.#list.close()
    for (const pid of [...this.#members.keys()]) this.#leave(pid)
    for (const opening of this.#inboxes.values()) (await opening)?.close()
  }

  /** Somebody came to a workspace, or went. */
  lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#look()
    }, gatherMs).unref()
  }

  #look(): void {
    if (this.#isClosed) return
    const living = this.#registry.sessions
    for (const [pid, { session }] of this.#members)
      if (living.get(pid)?.procStart !== session.procStart) this.#leave(pid)
    for (const session of living.values()) {
      const member = this.#members.get(session.pid)
      if (member) this.#update(member, session)
      // A hired one is an agent already, in the workspace that hired it.
      else if (session.isAttended && !carries(session.pid, workerMarker))
        this.#members.set(session.pid, { session, triedAt: performance.now(), waiting: 0, last: Promise.resolve() })
    }
    for (const member of this.#members.values()) void this.#settle(member).catch(this.#options.onTrouble)
    this.#showList()
    this.#later()
  }

  /** Looks again while somebody is about to come, or a message is on its way. */
  #later(): void {
    clearTimeout(this.#timer)
    const due = [...this.#members.values()].flatMap(({ at, door, triedAt }) =>
      at ? (door?.isWaiting ? transcriptMs : (door?.shutMs ?? [])) : Math.max(0, triedAt + enterMs - performance.now()),
    )
    if (this.#isClosed || due.length === 0) return
    this.#timer = setTimeout(
      () => {
        for (const { door } of this.#members.values()) door?.look()
        this.#look()
      },
      Math.min(...due),
    ).unref()
  }

  /** A disk that is full is told of once, not at each look. */
  #showList(): void {
    const told = (error?: Error) => {
      if (error && error.message !== this.#listTrouble) this.#options.onTrouble(error)
      this.#listTrouble = error?.message
    }
    void this.#updateList().then(() => told(), told)
  }

  async #updateList(): Promise<void> {
    const [first] = this.#members.values()
    const inbox = first && (await this.#inboxes.get(dirname(first.session.socketPath)))
    if (this.#isClosed) return
    const workspaces = this.#options.workspaces.dispatches().map(({ workspace }) => workspace)
    const writers = [...this.#members.values()].flatMap(({ at }) => at?.dispatch.workspace.name ?? [])
    const sessions = new Map([...this.#members].map(([pid, { session }]) => [pid, session]))
    const before = this.#list.sockets.length
    this.#list.update({ workspaces, sessions, writers, inbox })
    if (this.#list.sockets.length !== before) await this.#noteSockets()
  }

  #update(member: Member, session: ClaudeSession): void {
    const { at, session: before } = member
    member.session = session
    // After `/clear` the same agent goes on in another conversation.
    if (at?.isOurs && before.sessionId !== session.sessionId) {
      const { name, store } = at.dispatch.workspace
      if (store.view.agent(at.agent)) this.#options.memory.noteAgent(session.sessionId, name, at.agent)
    }
    member.door?.update(session)
  }

  #leave(pid: number): void {
    const member = this.#members.get(pid)
    this.#members.delete(pid)
    member?.door?.end()
    if (member) this.#part(member)
  }

  #part(member: Member): void {
    const { at } = member
    member.at = undefined
    if (!at) return
    at.wakes?.()
    this.#tellHooks(member, at, false)
    for (const undo of at.undo) undo()
    const { sessions } = at.dispatch.workspace
    const session = sessions.live(at.session.id)
    if (at.isOurs && session) sessions.end(session)
  }

  /** Gives it its place as an agent, and what waits for it. */
  async #settle(member: Member): Promise<void> {
    member.door ??= await this.#doorOf(member)
    const hosted = this.#hosted(member.session.pid)
    const { at } = member
    const isGone = at && !at.dispatch.workspace.sessions.live(at.session.id)
    if (at && (isGone || (hosted && hosted.session.id !== at.session.id) || this.#isElsewhere(member)))
      this.#part(member)
    if (!member.at && hosted) this.#join(member, { ...hosted, isOurs: false })
    else if (!member.at && performance.now() - member.triedAt >= enterMs) await this.#enter(member)
    this.#show(member)
    await this.#give(member)
  }

  /** A project of its directory was begun after it came. Once somebody has written to it, it stays where they know it. */
  #isElsewhere({ at, session }: Member): boolean {
    if (!at?.isOurs || !at.dispatch.workspace.sessions.live(at.session.id)?.provisional) return false
    const wanted = this.#workspaceOf(session.directory)
    return wanted !== undefined && wanted !== at.dispatch.workspace.name
  }

  /** The MCP session that this process has started, in whichever workspace. */
  #hosted(pid: number): Omit<Place, 'isOurs' | 'undo'> | undefined {
    for (const dispatch of this.#options.workspaces.dispatches()) {
      const session = dispatch.workspace.waking.sessionsOf('claude').find(({ host }) => host === pid)
      if (session) return { dispatch, agent: session.agent, session }
    }
    return undefined
  }

  async #enter(member: Member): Promise<void> {
    const name = this.#workspaceOf(member.session.directory)
    member.triedAt = performance.now() + againMs - enterMs
    if (name === undefined) return
    await this.#options.workspaces.visit(name, async ({ dispatch }) => {
      const { pid, sessionId, directory: cwd, name: wanted } = member.session
      const { workspace } = dispatch
      const known = this.#options.memory.agentOf(sessionId, name)
      const isAway = known !== undefined && workspace.store.view.agent(known) && !workspace.sessions.isLive(known)
      const as = isAway ? { name: known, cli: 'claude' } : {}
      const { session } = await dispatch.hello({ door: 'owner', kind: 'model' }, { ...as, host: pid, cwd })
      if (member.at || !this.#members.has(pid)) return workspace.sessions.end(session)
      const note = ({ agent }: { agent: string }) =>
        this.#options.memory.noteAgent(member.session.sessionId, name, agent)
      const given = { name: agentNameOf(wanted), cli: 'claude' }
      const agent = session.agent ?? nameProvisionally(workspace, session, given, note)
      this.#join(member, { dispatch, agent, session: { id: session.id, agent }, isOurs: true })
    })
  }

  #join(member: Member, { dispatch, ...place }: Omit<Place, 'undo'>): void {
    const { waking } = dispatch.workspace
    const undo = waking.onMail((isFor) => isFor(place.agent) && void this.#give(member).catch(this.#options.onTrouble))
    member.at = { dispatch, ...place, undo: [undo] }
  }

  /** What lists of agents say of it. */
  #show(member: Member): void {
    const { session, at, door } = member
    if (!at) return
    const { sessions, waking } = at.dispatch.workspace
    sessions.shows(at.agent, { doing: session.doing, note: door?.note, isOnlyWay: at.isOurs })
    if (door && door.note === undefined && isDoorUsed(member)) at.wakes ??= waking.wakes(at.agent)
    else at.wakes = void at.wakes?.()
    if (door?.note !== undefined) this.#noteTaking(session, false)
    const { version, directory } = session
    this.#tellHooks(member, at, at.wakes !== undefined && this.#options.memory.isTaking(version, directory))
  }

  /** One that asks about each message tells nothing of the others there. */
  #noteTaking({ version, directory, isUnasked }: ClaudeSession, isTaking: boolean): void {
    if (!isUnasked) this.#options.memory.noteTaking(version, directory, isTaking)
  }

  /** Not before a session like it has taken a message: where none is taken, an idle one could not be woken any more. */
  #tellHooks({ session }: Member, at: Place, isOpen: boolean): void {
    if ((at.isTold ?? false) === isOpen) return
    at.isTold = isOpen
    this.#options.hooks.noteDoor(session.pid, isOpen)
  }

  /** What comes while it gives is looked at afterwards. */
  async #give(member: Member): Promise<void> {
    member.isWanted = true
    if (member.isGiving) return
    member.isGiving = true
    try {
      while (member.isWanted) {
        member.isWanted = false
        await this.#giveOnce(member)
      }
    } finally {
      member.isGiving = false
      this.#later()
    }
  }

  async #giveOnce(member: Member): Promise<void> {
    const { at, door } = member
    if (!at || !door?.isOpen || !isDoorUsed(member)) return
    const held = await at.dispatch.workspace.waking.hold(at.session, door.isFirst ? 1 : undefined)
    if (!held) return
    // A dialog may have come since the last look.
    this.#registry.look()
    if (door.isOpen && member.at === at) await door.give(this.#mail(member, at, held))
    else held.release()
  }

  #mail(member: Member, { session: { sendTool }, isOurs }: Place, held: OpenedMail) {
    const senders = [...new Set(held.messages.map(({ from }) => from))]
    member.answersTo = senders.length === 1 ? senders[0] : undefined
    const name = senders.length === 1 ? (senders[0] as string) : ownName
    const { messages, opening } = held
    const way = isOurs ? { peer: member.door?.address } : { sendTool }
    const { toolPrefix } = cliOf('claude')
    const text = injectionText(messages, { toolPrefix, ...way, isBare: true, opening })
    const offered = (route: Route) => {
      this.#noteTaking(member.session, true)
      return held.offered(route)
    }
    return { messages, name, text, offered, release: held.release.bind(held) }
  }

  async #doorOf({ session }: Member): Promise<ClaudeDoor | undefined> {
    const folder = dirname(session.socketPath)
    const opening =
      this.#inboxes.get(folder) ??
      ClaudeInbox.open(folder, process.pid, {
        onFate: (id, fate) => {
          for (const { door } of this.#members.values()) door?.onFate(id, fate)
        },
        onSaid: (said) => this.#heard(said),
      }).catch((error: Error) => void this.#options.onTrouble(error))
    this.#inboxes.set(folder, opening)
    const inbox = await opening
    if (inbox) await this.#noteSockets()
    if (!inbox || this.#isClosed) return undefined
    const { home, onTrouble } = this.#options
    return new ClaudeDoor(session, { home, inbox, onTrouble, onChange: () => this.#look() })
  }

  async #noteSockets(): Promise<void> {
    const inboxes = await Promise.all(this.#inboxes.values())
    this.#options.memory.noteSockets([...inboxes.flatMap((inbox) => inbox?.path ?? []), ...this.#list.sockets])
  }

  /** One after the other, as they were said. */
  #heard(said: SaidToUs, target?: Target): void {
    const member = [...this.#members.values()].find(({ session }) => session.socketPath === said.socketPath)
    if (!member) return
    if (member.waiting >= heardMax) {
      // Once, until it is quiet again.
      if (!member.isFull) void this.#tell(member, 'Not sent: too much at once. What came before is sent.')
      member.isFull = true
      return
    }
    member.waiting++
    member.last = member.last.then(() => this.#hear(member, said, target)).catch(this.#options.onTrouble)
    void member.last.then(() => {
      member.waiting--
      if (member.waiting === 0) member.isFull = false
    })
  }

  /** A session's model writes to us: a message of its agent, as the frame claims. It is for the name at its start, else for who was shown last. */
  async #hear(member: Member, { id, text }: SaidToUs, target?: Target): Promise<void> {
    const { at } = member
    const session = at?.dispatch.workspace.sessions.live(at.session.id)
    if (!at || !session) return
    const [, named, rest] = /^@(\S{1,140}?)[:,]?\s+([\s\S]*)$/.exec(text.trim()) ?? []
    const to = target ? addressOf(target, at.dispatch.workspace.name) : (named ?? member.answersTo)
    const body = target ? text : (rest ?? text)
    if (to === undefined) return this.#tell(member, 'Not sent: say for whom it is at its start, as in "@Bob …".')
    try {
      await at.dispatch.comeBack(session, id)
      await at.dispatch.call(session, 'message.send', { to, body }, id.slice(0, limits.idCharsMax))
    } catch (error) {
      await this.#tell(member, `Not sent to ${to}: ${bareText(refusalOf(error))}`)
    }
  }

  async #tell({ session }: Member, text: string): Promise<void> {
    const inbox = await this.#inboxes.get(dirname(session.socketPath))
    await inbox?.send(session, { id: newLetterId(), name: ownName, text }).catch(() => {})
  }

  /** As for a program that is started there: the workspace that its project names, else `home`, else the only one. */
  #workspaceOf(directory: string): string | undefined {
    const names = this.#options.workspaces.names()
    try {
      const config = findProjectConfig(directory)
      if (config) return config.project !== undefined && names.includes(config.project) ? config.project : undefined
    } catch {
      // What it says cannot be read: nobody is put anywhere.
      return undefined
    }
    if (names.includes(homeWorkspace)) return homeWorkspace
    return names.length === 1 ? names[0] : undefined
  }
}

/** As somebody of this workspace writes it. */
const addressOf = ({ workspace, agent }: Target, from: string): string =>
  workspace === from ? agent : `${workspace}:${agent}`

/** Where our server is in the session too, its hooks hand messages over without asking its person about each. */
function isDoorUsed({ at, door }: Member): boolean {
  return !(door?.holds && at && !at.isOurs)
}

/** As Claude Code calls it, as far as a name of ours may be so. */
function agentNameOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '')
  return agentNamePattern.test(plain.slice(0, 40)) ? plain.slice(0, 40) : 'claude'
}
