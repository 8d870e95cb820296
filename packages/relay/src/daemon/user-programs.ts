// Makes agents of the CLI programs that people start by hand: each belongs to the workspace of its directory while it runs. If a program has started our MCP
// server, the server's agent is the program's, and the vendor's interface is only another way to it. program-sources.ts says which vendors' programs are found.

import { findProjectConfig, homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { agentNamePattern, limits } from '@agent-relay/sdk/protocol'
import type { Dispatch } from '../broker/dispatch.ts'
import { giveProvisionalName, storeProvisionalNameOf } from '../broker/presence/provisional-names.ts'
import { clisWithManyConversations } from '../broker/sessions/session.ts'
import type { UserSession } from '../broker/waking/user-session-runtime.ts'
import { RefusalError, refusalTextWithoutFix, toRefusal } from '../core/refusal-error.ts'
import { CoalescedCheck } from '../machine/coalesced-check.ts'
import { DialogQuestions } from '../supervisor/dialog.ts'
import { deliverMail } from '../supervisor/mail-delivery.ts'
import type {
  ProgramListener,
  ProgramMessage,
  ProgramSource,
  SessionMatches,
  UserProgram,
} from '../supervisor/user-program.ts'
import { answerAddressesOf, ownAgentCheck, sendLastWords } from './last-words.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { UserProgramMemory } from './user-program-memory.ts'

/** Time in ms in which a program starts our MCP server, if the person has installed it. Until then the program gets no agent of its own. */
const mcpStartMs = 900
/** Delay in ms before another attempt for a program that no workspace took. */
const placeRetryMs = 10_000
/** Changes within this time, in ms, are handled together. */
const changesBatchMs = 50
/** Delay in ms before another attempt to ask a question. */
const askAgainMs = 1_000

export interface UserProgramsOptions {
  sources: readonly ((listener: ProgramListener) => ProgramSource)[]
  memory: UserProgramMemory
  workspaces: Pick<OpenWorkspaces, 'names' | 'dispatches' | 'visit'>
  onTrouble(error: Error): void
}

interface MemberProgram {
  program: UserProgram
  source: ProgramSource
  /** The id of the program's conversation under which its agent was remembered last. */
  conversation: string
  /** Time from which the next attempt is counted, which follows `mcpStartMs` later: when the program was found, or a later time after a failed attempt. */
  triedAt: number
  /** Whether one of our MCP sessions may belong to the program. A change of that session decides, so no timer is set. */
  isUndecided: boolean
  place?: ProgramPlace
  isAnswering?: boolean
  isGiving?: boolean
  hasNewMail?: boolean
}

interface ProgramPlace {
  dispatch: Dispatch
  agent: string
  /** The session of the program's MCP server, or else one that was opened here. */
  session: UserSession
  hasOurTools: boolean
  questions: DialogQuestions | undefined
  stopMail(): void
  /** Ends the record that messages can wake the program; unset while they cannot. */
  wakes?: () => void
}

export class UserPrograms {
  readonly #options: UserProgramsOptions
  readonly #sources: readonly ProgramSource[]
  readonly #members = new Map<string, MemberProgram>()
  readonly #next = new CoalescedCheck(() => this.#look())
  #isClosed = false

  constructor(options: UserProgramsOptions) {
    this.#options = options
    const { sources, onTrouble } = options
    const onSaid: ProgramListener['onMessage'] = (program, said) => this.#sendMessage(program, said)
    this.#sources = sources.map((make) =>
      make({ onChange: () => this.#next.runWithin(0), onMessage: onSaid, onTrouble }),
    )
    this.#next.runWithin(0)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#next.end()
    for (const source of this.#sources) await source.close()
    for (const key of [...this.#members.keys()]) this.#removeMember(key)
  }

  /** Called when a session of a workspace has opened or ended: soon looks at all programs again. */
  lookSoon(): void {
    this.#next.runWithin(changesBatchMs)
  }

  #look(): void {
    for (const source of this.#sources) {
      const hosted = this.#sessionsOf(source.cli)
      const matches = source.matchSessions([...hosted.keys()])
      for (const [session, { workspace }] of hosted) {
        const note = matches.notes.get(session.id)
        if (note !== undefined) workspace.userSessions.setProgramState(session, { note })
      }
      const programs = source.programs()
      for (const [key, { program, source: its }] of this.#members)
        if (its === source && programs.get(program.key) === undefined) this.#removeMember(key)
      for (const program of programs.values()) {
        const member = this.#memberOf(source, program)
        void this.#updateMember(member, matches, hosted).catch(this.#trouble)
      }
      source.onProgramsChecked?.()
    }
    // Sets a timer for the earliest next attempt to make an agent of a program.
    const waiting = [...this.#members.values()].filter(({ place, isUndecided }) => !place && !isUndecided)
    const due = waiting.map(({ triedAt }) => triedAt + mcpStartMs)
    if (due.length > 0) this.#next.runWithin(Math.max(changesBatchMs, Math.min(...due) - performance.now()))
  }

  #memberOf(source: ProgramSource, program: UserProgram): MemberProgram {
    const key = `${source.cli} ${program.key}`
    const { conversation } = program
    const known = this.#members.get(key)
    const member = known ?? { program, source, conversation, triedAt: performance.now(), isUndecided: false }
    member.program = program
    this.#members.set(key, member)
    return member
  }

  #sessionsOf(cli: string): Map<UserSession, Dispatch> {
    const dispatches = this.#options.workspaces.dispatches()
    return new Map(
      dispatches.flatMap((dispatch) =>
        dispatch.workspace.userSessions.sessionsOf(cli).map((session) => [session, dispatch] as const),
      ),
    )
  }

  #removeMember(key: string): void {
    const member = this.#members.get(key)
    this.#members.delete(key)
    if (member) this.#endMembership(member)
  }

  #endMembership(member: MemberProgram): void {
    const { place, program, source } = member
    member.place = undefined
    if (!place) return
    place.wakes?.()
    place.stopMail()
    if (this.#isClosed) place.questions?.forget()
    else place.questions?.end()
    source.onMembership?.(program, undefined)
    const { sessions } = place.dispatch.workspace
    const session = sessions.liveById(place.session.id)
    if (!place.hasOurTools && session) sessions.end(session)
  }

  /** Makes a program an agent, or updates its state as one, and gives it its waiting mail. */
  async #updateMember(
    member: MemberProgram,
    matches: SessionMatches,
    hosted: ReadonlyMap<UserSession, Dispatch>,
  ): Promise<void> {
    const { key } = member.program
    const session = matches.sessions.get(key)
    const dispatch = session && hosted.get(session)
    const { place } = member
    const isGone = place && !place.dispatch.workspace.sessions.liveById(place.session.id)
    const isAnother = place && session && (session.id !== place.session.id || session.agent !== place.agent)
    const isElsewhere = this.#isElsewhere(member)
    if (place && (isGone || isAnother || (place.hasOurTools && !session) || isElsewhere)) this.#endMembership(member)
    // The program moves to the workspace of its project, which is open, without the usual delay.
    if (isElsewhere) member.triedAt = 0
    if (!member.place && session && dispatch) this.#join(member, dispatch, session, true)
    member.isUndecided = matches.undecided.has(key)
    if (!member.place && !member.isUndecided && performance.now() - member.triedAt >= mcpStartMs)
      await this.#enter(member)
    if (this.#isClosed || !member.place) return
    if (session) member.place.session = session
    this.#show(member, member.place)
    await Promise.all([this.#sendLastWords(member, member.place), this.#deliver(member)])
  }

  /**
   * Whether to move the program's agent to a project that was made in its directory after the program had started. Only an agent with a provisional name is
   * moved: others that have written to an agent know it in its present workspace.
   */
  #isElsewhere({ place, program }: MemberProgram): boolean {
    if (!place || place.hasOurTools || !place.dispatch.workspace.sessions.liveById(place.session.id)?.provisional)
      return false
    const wanted = this.#workspaceOf(program.directory)
    return wanted !== undefined && wanted !== place.dispatch.workspace.name
  }

  async #enter(member: MemberProgram): Promise<void> {
    const { program, source } = member
    const { memory, workspaces } = this.#options
    const name = this.#workspaceOf(program.directory)
    member.triedAt = performance.now() + placeRetryMs - mcpStartMs
    if (name === undefined) return
    await workspaces.visit(name, async ({ dispatch }) => {
      const { workspace } = dispatch
      const { conversation, host, directory: cwd, name: wanted } = program
      const { cli } = source
      const known = memory.agentOf(conversation, name)
      const isAway = known !== undefined && workspace.store.view.agent(known) && !workspace.sessions.isLive(known)
      const as = isAway ? { name: known, cli } : {}
      const { session } = await dispatch.openSession({ door: 'owner', kind: 'model' }, { ...as, host, cwd })
      const isStill = this.#members.get(`${cli} ${program.key}`) === member
      if (member.place || !isStill || this.#isClosed) return workspace.sessions.end(session)
      const note = ({ agent }: { agent: string }) => memory.rememberAgent(member.program.conversation, name, agent)
      const given = { name: agentNameOf(wanted, cli), cli }
      const agent = session.agent ?? giveProvisionalName(workspace, session, given, note)
      if (clisWithManyConversations.has(cli)) workspace.sessions.setCalledThread(session, conversation)
      this.#join(member, dispatch, { id: session.id, agent }, false)
    })
  }

  #join(member: MemberProgram, dispatch: Dispatch, session: UserSession, hasOurTools: boolean): void {
    const { userSessions, approvals, sessions } = dispatch.workspace
    const { key: id, directory: cwd, conversation } = member.program
    const live = sessions.liveById(session.id)
    // Assigns the conversation to the session now, so that the program's hooks belong to its agent even before the session's first call.
    if (live && hasOurTools) sessions.setLikelyThread(live, conversation)
    const { agent: name } = session
    const give = () => void this.#deliver(member).catch(this.#trouble)
    const stopMail = userSessions.onMail((isFor) => isFor(name) && give())
    const asker = { id, name, cli: member.source.cli, cwd, outlivesDaemon: true }
    const questions = member.program.readDialog
      ? new DialogQuestions(asker, approvals, async () => member.program.readDialog?.())
      : undefined
    member.place = { dispatch, agent: name, session, hasOurTools, questions, stopMail }
  }

  /** Updates the program's state in lists of agents, and asks the question that is open in the program. */
  #show(member: MemberProgram, at: ProgramPlace): void {
    const { program, source, conversation: before } = member
    const { workspace } = at.dispatch
    const { doing, note, isReachable } = program
    workspace.sessions.setProgramState(at.agent, { doing, note, isOnlyWay: !at.hasOurTools })
    if (isReachable && note === undefined && usesVendorPath(program, at))
      at.wakes ??= workspace.userSessions.recordWaking(at.agent)
    else at.wakes = void at.wakes?.()
    void this.#ask(program, at).catch(this.#trouble)
    const { agent, session, hasOurTools } = at
    source.onMembership?.(program, {
      ...{ workspace: workspace.name, agent, session: session.id, hasOurTools },
      isWoken: at.wakes !== undefined,
    })
    // After a command such as `/clear` the same agent continues in another conversation, which is remembered as the agent's.
    member.conversation = program.conversation
    if (!hasOurTools && before !== program.conversation && workspace.store.view.agent(agent))
      this.#options.memory.rememberAgent(program.conversation, workspace.name, agent)
  }

  /** Reports an error, unless it comes from the daemon's own end. */
  readonly #trouble = (error: Error): void => {
    if (!this.#isClosed) this.#options.onTrouble(error)
  }

  async #ask({ doing }: UserProgram, { questions, dispatch, agent }: ProgramPlace): Promise<void> {
    if (!questions) return
    if (doing?.state !== 'waiting') {
      // The question is no longer open, although nobody has answered it here: the person has answered it in the program.
      questions.onTyped()
      return questions.onDialogGone()
    }
    // An agent without a row in the database cannot ask for an approval, so it is stored first.
    await storeProvisionalNameOf(dispatch.workspace, agent)
    await questions.look()
    // Asking failed because the question before was open until now, so it is tried again a little later.
    if (!questions.isOpen) this.#next.runWithin(askAgainMs)
  }

  /** Gives the program its mail, and then the mail that has arrived meanwhile. */
  async #deliver(member: MemberProgram): Promise<void> {
    member.hasNewMail = true
    if (member.isGiving) return
    member.isGiving = true
    try {
      while (member.hasNewMail && !this.#isClosed) {
        member.hasNewMail = false
        await this.#deliverOnce(member)
      }
    } finally {
      member.isGiving = false
    }
  }

  async #deliverOnce(member: MemberProgram): Promise<void> {
    const { place } = member
    if (!place) return
    const { session, hasOurTools, dispatch } = place
    const { userSessions, name: workspace } = dispatch.workspace
    const isOwn = ownAgentCheck(dispatch, () => this.#options.workspaces.dispatches())
    await deliverMail({
      canTakeText: () => member.place === place && member.program.canTakeText && usesVendorPath(member.program, place),
      hold: () => {
        if (member.program.wasCompacted?.()) userSessions.recordCompaction(session)
        return userSessions.holdMail(session, member.program.messagesMax)
      },
      look: () => member.program.look?.(),
      give: (held) => {
        const { program } = member
        const to = hasOurTools || !program.lastWords ? [] : answerAddressesOf(place.agent, held.messages, isOwn)
        const promise = (turn: string) =>
          this.#options.memory.rememberPromise(program.conversation, { turn, workspace, to })
        return program.give(held, {
          ...{ hasOurTools, sendTool: session.sendTool, lastWordsTo: [...new Set(to.flat())] },
          onTurn: (turn) => to.length > 0 && promise(turn),
        })
      },
    })
  }

  /** Sends the promised last words of turns that have ended, including turns that began under an earlier daemon. */
  async #sendLastWords(member: MemberProgram, { dispatch, session: { id } }: ProgramPlace): Promise<void> {
    const { program } = member
    if (!program.lastWords || program.doing?.state !== 'idle' || member.isAnswering) return
    member.isAnswering = true
    const { memory } = this.#options
    try {
      for (const promised of memory.promisesOf(program.conversation, dispatch.workspace.name)) {
        const said = await program.lastWords(promised.turn)
        const session = dispatch.workspace.sessions.liveById(id)
        if (!said || !session || this.#isClosed) return
        if (said.words !== undefined) await sendLastWords(dispatch, session, promised, said.words)
        memory.forgetPromise(promised.turn)
      }
    } catch (error) {
      // If the relay refuses only for now, the promise is kept and the answer is sent later.
      if (!(error instanceof RefusalError) || !error.refusal.retry) throw error
      this.#next.runWithin(placeRetryMs)
    } finally {
      member.isAnswering = false
    }
  }

  /** Sends a message as the program's agent. Returns the reason if it was refused. */
  async #sendMessage(program: UserProgram, { id, ...message }: ProgramMessage): Promise<string | undefined> {
    const { place } = [...this.#members.values()].find((each) => each.program === program) ?? {}
    const session = place?.dispatch.workspace.sessions.liveById(place.session.id)
    if (!place || !session) return undefined
    try {
      await place.dispatch.beginTurn(session, id)
      await place.dispatch.call(session, 'message.send', message, id.slice(0, limits.idCharsMax))
      return undefined
    } catch (error) {
      return refusalTextWithoutFix(toRefusal(error))
    }
  }

  /** Returns the workspace for a program in this directory: the one that its project names, else the home workspace, else the only one. */
  #workspaceOf(directory: string): string | undefined {
    const names = this.#options.workspaces.names()
    try {
      const config = findProjectConfig(directory)
      if (config) return config.project !== undefined && names.includes(config.project) ? config.project : undefined
    } catch {
      // The project's configuration cannot be read: the program gets no workspace.
      return undefined
    }
    if (names.includes(homeWorkspace)) return homeWorkspace
    return names.length === 1 ? names[0] : undefined
  }
}

/**
 * Whether the program gets mail by its vendor's interface. If that asks the person about each message, and the program has our hooks too, the hooks give the
 * mail instead.
 */
function usesVendorPath({ asksPerson }: UserProgram, { hasOurTools }: ProgramPlace): boolean {
  return !(asksPerson && hasOurTools)
}

/** Returns the vendor's name for the program, changed to fit the rules for agent names. */
function agentNameOf(name: string, cli: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '')
  return agentNamePattern.test(plain.slice(0, 40)) ? plain.slice(0, 40) : cli
}
