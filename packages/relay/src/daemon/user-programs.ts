// Programs of CLIs that people started by hand, as agents: each belongs to the workspace of its directory, as long as it runs. If a program has our MCP
// server too, that server's agent is the one, and the vendor's interface is only another way to it. program-sources.ts says which
// vendors' programs are found.

import { findProjectConfig, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { agentNamePattern, limits } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { nameProvisionally, settleNamed } from '../broker/presence/provisional-names.ts'
import { sharedClis } from '../broker/sessions/session.ts'
import type { OwnSession } from '../broker/waking/own-session-runtime.ts'
import { bareText, refusalOf } from '../core/refusal-error.ts'
import { CoalescedCheck } from '../machine/coalesced-check.ts'
import { DialogQuestions } from '../supervisor/dialog.ts'
import { deliverMail } from '../supervisor/mail-delivery.ts'
import type {
  Matches,
  ProgramListener,
  ProgramMessage,
  ProgramSource,
  UserProgram,
} from '../supervisor/user-program.ts'
import { addressesOf, isOwnIn, sendLastWords } from './last-words.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { UserProgramMemory } from './user-program-memory.ts'

/** After this time a program has started our MCP server, if its person has installed that. */
const enterMs = 900
/** A program whose workspace is not open is tried again after this. */
const againMs = 10_000
/** Changes within this time are handled by one look. */
const gatherMs = 50
/** A question that could not be asked yet is asked again after this. */
const askAgainMs = 1_000

export interface UserProgramsOptions {
  sources: readonly ((listener: ProgramListener) => ProgramSource)[]
  memory: UserProgramMemory
  workspaces: Pick<OpenWorkspaces, 'names' | 'dispatches' | 'visit'>
  onTrouble(error: Error): void
}

interface Member {
  program: UserProgram
  source: ProgramSource
  /** The conversation with which the program's agent was noted. */
  conversation: string
  /** When the program came, or last could not become an agent. */
  triedAt: number
  /** A session of ours may belong to the program: its news triggers the next look. */
  isUndecided: boolean
  at?: Place
  isAnswering?: boolean
  isGiving?: boolean
  isWanted?: boolean
}

interface Place {
  dispatch: Dispatch
  agent: string
  /** The session of our MCP server, or one opened here. */
  session: OwnSession
  hasOurTools: boolean
  questions: DialogQuestions | undefined
  stopMail(): void
  /** Ends the time in which messages wake the program; unset while they do not. */
  wakes?: () => void
}

export class UserPrograms {
  readonly #options: UserProgramsOptions
  readonly #sources: readonly ProgramSource[]
  readonly #members = new Map<string, Member>()
  readonly #next = new CoalescedCheck(() => this.#look())
  #isClosed = false

  constructor(options: UserProgramsOptions) {
    this.#options = options
    const { sources, onTrouble } = options
    const onSaid: ProgramListener['onSaid'] = (program, said) => this.#say(program, said)
    this.#sources = sources.map((make) => make({ onChange: () => this.#next.within(0), onSaid, onTrouble }))
    this.#next.within(0)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#next.end()
    for (const source of this.#sources) await source.close()
    for (const key of [...this.#members.keys()]) this.#leave(key)
  }

  /** Called when a session has opened or ended in a workspace. */
  lookSoon(): void {
    this.#next.within(gatherMs)
  }

  #look(): void {
    for (const source of this.#sources) {
      const hosted = this.#sessionsOf(source.cli)
      const matches = source.match([...hosted.keys()])
      for (const [session, { workspace }] of hosted) {
        const note = matches.notes.get(session.id)
        if (note !== undefined) workspace.ownSessions.shows(session, { note })
      }
      const programs = source.programs()
      for (const [key, { program, source: its }] of this.#members)
        if (its === source && programs.get(program.key) === undefined) this.#leave(key)
      for (const program of programs.values()) {
        const member = this.#memberOf(source, program)
        void this.#settle(member, matches, hosted).catch(this.#trouble)
      }
      source.onLooked?.()
    }
    // Looks again when a waiting program may become an agent.
    const waiting = [...this.#members.values()].filter(({ at, isUndecided }) => !at && !isUndecided)
    const due = waiting.map(({ triedAt }) => triedAt + enterMs)
    if (due.length > 0) this.#next.within(Math.max(gatherMs, Math.min(...due) - performance.now()))
  }

  #memberOf(source: ProgramSource, program: UserProgram): Member {
    const key = `${source.cli} ${program.key}`
    const { conversation } = program
    const known = this.#members.get(key)
    const member = known ?? { program, source, conversation, triedAt: performance.now(), isUndecided: false }
    member.program = program
    this.#members.set(key, member)
    return member
  }

  #sessionsOf(cli: string): Map<OwnSession, Dispatch> {
    const dispatches = this.#options.workspaces.dispatches()
    return new Map(
      dispatches.flatMap((dispatch) =>
        dispatch.workspace.ownSessions.sessionsOf(cli).map((session) => [session, dispatch] as const),
      ),
    )
  }

  #leave(key: string): void {
    const member = this.#members.get(key)
    this.#members.delete(key)
    if (member) this.#part(member)
  }

  #part(member: Member): void {
    const { at, program, source } = member
    member.at = undefined
    if (!at) return
    at.wakes?.()
    at.stopMail()
    if (this.#isClosed) at.questions?.letGo()
    else at.questions?.end()
    source.onPlace?.(program, undefined)
    const { sessions } = at.dispatch.workspace
    const session = sessions.live(at.session.id)
    if (!at.hasOurTools && session) sessions.end(session)
  }

  /** Gives a program its place as an agent, and its waiting mail. */
  async #settle(member: Member, matches: Matches, hosted: ReadonlyMap<OwnSession, Dispatch>): Promise<void> {
    const { key } = member.program
    const session = matches.sessions.get(key)
    const dispatch = session && hosted.get(session)
    const { at } = member
    const isGone = at && !at.dispatch.workspace.sessions.live(at.session.id)
    const isAnother = at && session && (session.id !== at.session.id || session.agent !== at.agent)
    const isElsewhere = this.#isElsewhere(member)
    if (at && (isGone || isAnother || (at.hasOurTools && !session) || isElsewhere)) this.#part(member)
    // The workspace of its project is open: it enters there at once.
    if (isElsewhere) member.triedAt = 0
    if (!member.at && session && dispatch) this.#join(member, dispatch, session, true)
    member.isUndecided = matches.undecided.has(key)
    if (!member.at && !member.isUndecided && performance.now() - member.triedAt >= enterMs) await this.#enter(member)
    if (this.#isClosed || !member.at) return
    if (session) member.at.session = session
    this.#show(member, member.at)
    await Promise.all([this.#answer(member, member.at), this.#give(member)])
  }

  /** Whether the program belongs to a project that was begun in its directory after it came. An agent that others have written to stays where they know it. */
  #isElsewhere({ at, program }: Member): boolean {
    if (!at || at.hasOurTools || !at.dispatch.workspace.sessions.live(at.session.id)?.provisional) return false
    const wanted = this.#workspaceOf(program.directory)
    return wanted !== undefined && wanted !== at.dispatch.workspace.name
  }

  async #enter(member: Member): Promise<void> {
    const { program, source } = member
    const { memory, workspaces } = this.#options
    const name = this.#workspaceOf(program.directory)
    member.triedAt = performance.now() + againMs - enterMs
    if (name === undefined) return
    await workspaces.visit(name, async ({ dispatch }) => {
      const { workspace } = dispatch
      const { conversation, host, directory: cwd, name: wanted } = program
      const { cli } = source
      const known = memory.agentOf(conversation, name)
      const isAway = known !== undefined && workspace.store.view.agent(known) && !workspace.sessions.isLive(known)
      const as = isAway ? { name: known, cli } : {}
      const { session } = await dispatch.hello({ door: 'owner', kind: 'model' }, { ...as, host, cwd })
      const isStill = this.#members.get(`${cli} ${program.key}`) === member
      if (member.at || !isStill || this.#isClosed) return workspace.sessions.end(session)
      const note = ({ agent }: { agent: string }) => memory.noteAgent(member.program.conversation, name, agent)
      const given = { name: agentNameOf(wanted, cli), cli }
      const agent = session.agent ?? nameProvisionally(workspace, session, given, note)
      if (sharedClis.has(cli)) workspace.sessions.calledFrom(session, conversation)
      this.#join(member, dispatch, { id: session.id, agent }, false)
    })
  }

  #join(member: Member, dispatch: Dispatch, session: OwnSession, hasOurTools: boolean): void {
    const { ownSessions, approvals, sessions } = dispatch.workspace
    const { key: id, directory: cwd, conversation } = member.program
    const live = sessions.live(session.id)
    // The session's hooks belong to its agent even before its first call.
    if (live && hasOurTools) sessions.likelyFrom(live, conversation)
    const { agent: name } = session
    const give = () => void this.#give(member).catch(this.#trouble)
    const stopMail = ownSessions.onMail((isFor) => isFor(name) && give())
    const asker = { id, name, cli: member.source.cli, cwd, livesOn: true }
    const questions = member.program.asked
      ? new DialogQuestions(asker, approvals, async () => member.program.asked?.())
      : undefined
    member.at = { dispatch, agent: name, session, hasOurTools, questions, stopMail }
  }

  /** Shows the program's state in lists of agents, and asks its open question. */
  #show(member: Member, at: Place): void {
    const { program, source, conversation: before } = member
    const { workspace } = at.dispatch
    const { doing, note, isReachable } = program
    workspace.sessions.shows(at.agent, { doing, note, isOnlyWay: !at.hasOurTools })
    if (isReachable && note === undefined && isUsed(program, at)) at.wakes ??= workspace.ownSessions.wakes(at.agent)
    else at.wakes = void at.wakes?.()
    void this.#ask(program, at).catch(this.#trouble)
    const { agent, session, hasOurTools } = at
    source.onPlace?.(program, {
      ...{ workspace: workspace.name, agent, session: session.id, hasOurTools },
      isWoken: at.wakes !== undefined,
    })
    // After a new beginning the same agent goes on in another conversation.
    member.conversation = program.conversation
    if (!hasOurTools && before !== program.conversation && workspace.store.view.agent(agent))
      this.#options.memory.noteAgent(program.conversation, workspace.name, agent)
  }

  /** Reports a failure, unless it comes of the daemon's own end. */
  readonly #trouble = (error: Error): void => {
    if (!this.#isClosed) this.#options.onTrouble(error)
  }

  async #ask({ doing }: UserProgram, { questions, dispatch, agent }: Place): Promise<void> {
    if (!questions) return
    if (doing?.state !== 'waiting') {
      // The question is over, and only the person can have answered it, in the program.
      questions.typed()
      return questions.gone()
    }
    // Only a stored agent can ask for an approval.
    await settleNamed(dispatch.workspace, agent)
    await questions.look()
    // The former question has only just ended: the new one is asked a little later.
    if (!questions.isOpen) this.#next.within(askAgainMs)
  }

  /** Gives the program its mail. Mail that arrives meanwhile is looked at afterwards. */
  async #give(member: Member): Promise<void> {
    member.isWanted = true
    if (member.isGiving) return
    member.isGiving = true
    try {
      while (member.isWanted && !this.#isClosed) {
        member.isWanted = false
        await this.#giveOnce(member)
      }
    } finally {
      member.isGiving = false
    }
  }

  async #giveOnce(member: Member): Promise<void> {
    const { at } = member
    if (!at) return
    const { session, hasOurTools, dispatch } = at
    const { ownSessions, name: workspace } = dispatch.workspace
    const isOwn = isOwnIn(dispatch, () => this.#options.workspaces.dispatches())
    await deliverMail({
      isOpen: () => member.at === at && member.program.isOpen && isUsed(member.program, at),
      hold: () => {
        if (member.program.wasCut?.()) ownSessions.wasCompacted(session)
        return ownSessions.hold(session, member.program.mailMax)
      },
      look: () => member.program.look?.(),
      give: (held) => {
        const { program } = member
        const to = hasOurTools || !program.lastWords ? [] : addressesOf(at.agent, held.messages, isOwn)
        const promise = (turn: string) =>
          this.#options.memory.notePromise(program.conversation, { turn, workspace, to })
        return program.give(held, {
          ...{ hasOurTools, sendTool: session.sendTool, lastWordsTo: [...new Set(to.flat())] },
          onTurn: (turn) => to.length > 0 && promise(turn),
        })
      },
    })
  }

  /** Sends the last words of turns that are over, also of turns that were under way when the former daemon ended. */
  async #answer(member: Member, { dispatch, session: { id } }: Place): Promise<void> {
    const { program } = member
    if (!program.lastWords || program.doing?.state !== 'idle' || member.isAnswering) return
    member.isAnswering = true
    const { memory } = this.#options
    try {
      for (const promised of memory.promisesOf(program.conversation, dispatch.workspace.name)) {
        const said = await program.lastWords(promised.turn)
        const session = dispatch.workspace.sessions.live(id)
        if (!said || !session || this.#isClosed) return
        if (said.words) await sendLastWords(dispatch, session, promised, said.words)
        memory.forgetPromise(promised.turn)
      }
    } finally {
      member.isAnswering = false
    }
  }

  /** Sends a message as the program's agent, which counts as being back. */
  async #say(program: UserProgram, { id, ...message }: ProgramMessage): Promise<string | undefined> {
    const { at } = [...this.#members.values()].find((each) => each.program === program) ?? {}
    const session = at?.dispatch.workspace.sessions.live(at.session.id)
    if (!at || !session) return undefined
    try {
      await at.dispatch.comeBack(session, id)
      await at.dispatch.call(session, 'message.send', message, id.slice(0, limits.idCharsMax))
      return undefined
    } catch (error) {
      return bareText(refusalOf(error))
    }
  }

  /** The workspace for a program started in this directory: the one that its project names, else `home`, else the only one. */
  #workspaceOf(directory: string): string | undefined {
    const names = this.#options.workspaces.names()
    try {
      const config = findProjectConfig(directory)
      if (config) return config.project !== undefined && names.includes(config.project) ? config.project : undefined
    } catch {
      // The configuration cannot be read: the program is put nowhere.
      return undefined
    }
    if (names.includes(homeWorkspace)) return homeWorkspace
    return names.length === 1 ? names[0] : undefined
  }
}

/** Whether the vendor's way is used for mail. If our MCP server is in the program too, its hooks hand over messages without asking its person about each. */
function isUsed({ asksPerson }: UserProgram, { hasOurTools }: Place): boolean {
  return !(asksPerson && hasOurTools)
}

/** The vendor's name of the program, made to fit our rules for names. */
function agentNameOf(name: string, cli: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '')
  return agentNamePattern.test(plain.slice(0, 40)) ? plain.slice(0, 40) : cli
}
