// The one queue of approvals for all CLIs. Hooks and the interfaces of workers open and close approvals; a person or a delegated agent answers.
// core/approvals.ts decides which answers are allowed, and sessions/person.ts tells people from agents.

import {
  type Agent,
  type ApprovalChoice,
  daemonName,
  type OutputOf,
  type ParsedInputOf,
} from '@agent-relay/sdk/protocol'
import { type AnswerInput, isDelegationInForce, type OpenInput } from '../../core/approvals.ts'
import type { RuleInput } from '../../core/decide.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { type Reader, sees, seesAllRuns } from '../../core/sight.ts'
import type { ApprovalRow } from '../../core/view.ts'
import type { Alarm } from '../../machine/clock.ts'
import { actorOf, type CallContext, causeOf, type WorkspaceParts } from '../call.ts'
import { acceptedReplyOrThrow, submitByDaemon } from '../commands.ts'
import type { CommandReply } from '../engine.ts'
import type { AnswerTextDelivery, MachineRequests, ReceivedRequest } from '../requests.ts'
import { type AgentProcesses, identifyCaller, whyNoPerson } from '../sessions/person.ts'
import { approvalEndOf, approvalOpenInput, approvalSource, listedApproval, wholeApproval } from './approval-input.ts'
import { approvalNotice, denialMessage, shortInput, wantedActionText } from './approval-notice.ts'
import { type ApprovalEnd, type ApprovalQueue, approvalMark, type NewApproval } from './approval-runtime.ts'

type ApprovalParts = Pick<WorkspaceParts, 'store' | 'engine' | 'hub' | 'sessions' | 'clock' | 'ids' | 'name'>
type AnswerOutcome = Omit<OutputOf<'approval.answer'>, keyof AnswerTextDelivery>
type CloseArguments = Parameters<ApprovalQueue['close']>

/** An approval that is being opened, or is open. */
interface OpenApproval {
  asked: NewApproval
  end(end: ApprovalEnd): void
  id?: string
  /** The arguments of `close`, if the approval was closed before it was open. */
  closeArguments?: CloseArguments
}

/** Time in which a hook that asked an earlier daemon may reconnect; hooks try again every few seconds. */
const hookReturnMs = 60_000
/** Maximum number of answered approvals from before the daemon's start that are remembered, for hooks that have missed the answer. */
const rememberedAnswersMax = 100
/** Time after an approval's end in which a program may still show its question: a key press takes a moment to arrive. */
const justEndedMs = 2_000

export class Approvals implements ApprovalQueue {
  readonly #parts: ApprovalParts
  readonly #requests: MachineRequests
  readonly #bySource = new Map<string, OpenApproval>()
  /** The time at which each agent's last approval ended, in milliseconds of the monotonic clock. */
  readonly #endedAt = new Map<string, number>()
  readonly #byId = new Map<string, OpenApproval>()
  /** Approvals whose hooks may still reconnect, by approval id. The value is the agent of an open approval, and undefined for an answered one. */
  readonly #leftovers = new Map<string, string | undefined>()
  #leftoversAlarm: Alarm | undefined
  #isStopping = false

  constructor(parts: ApprovalParts, requests: MachineRequests) {
    this.#parts = parts
    this.#requests = requests
    parts.hub.listen((entries) => {
      for (const { facts } of entries)
        for (const fact of facts) if (fact.type === 'approval.closed') this.#byId.get(fact.id)?.end(approvalEndOf(fact))
    })
  }

  /**
   * Closes the approvals that an earlier daemon left open. Those of hooks stay open for a minute, since a hook may reconnect; the latest answered ones are
   * remembered, for hooks that have missed the answer.
   */
  async endLeftovers(): Promise<void> {
    const { store, sessions, clock } = this.#parts
    const rows = store.view.approvals.open().filter(({ machine }) => machine === sessions.machine)
    const over = rows.filter(({ mark }) => mark === undefined)
    if (over.length > 0) await this.#submitClose({ ids: over.map(({ id }) => id), how: 'restart' })
    for (const { id, agent, mark } of rows) if (mark !== undefined) this.#leftovers.set(id, agent)
    for (const id of store.view.approvals.lastAnswered(rememberedAnswersMax)) this.#leftovers.set(id, undefined)
    if (this.#leftovers.size > 0) this.#leftoversAlarm = clock.after(hookReturnMs, () => void this.#closeLeftovers())
  }

  async #closeLeftovers(): Promise<void> {
    const ids = [...this.#leftovers].flatMap(([id, agent]) => (agent === undefined ? [] : [id]))
    this.#leftovers.clear()
    if (ids.length > 0) await this.#submitClose({ ids, how: 'restart' }).catch(() => undefined)
  }

  /** Opens an approval. Cuts the input before the first `await`: the input may have megabytes, which must not stay in memory while a person decides. */
  open(asked: NewApproval): Promise<ApprovalEnd> {
    const input = approvalOpenInput(asked)
    return this.#open({ ...asked, tool: input.tool, input: input.input, choices: input.choices }, input)
  }

  async #open(asked: NewApproval, input: OpenInput): Promise<ApprovalEnd> {
    const { source, agent } = asked
    if (this.#bySource.has(source)) return { how: 'cancelled' }
    if (this.#isStopping && asked.mark !== undefined) return { how: 'restart' }
    let end: (end: ApprovalEnd) => void = () => {}
    const over = new Promise<ApprovalEnd>((resolve) => (end = resolve))
    const isFirst = !this.hasOpen(agent)
    const live: OpenApproval = { asked, end }
    this.#bySource.set(source, live)
    try {
      const before = this.#findEarlier(input)
      // Somebody answered the approval while its hook was disconnected.
      if (before?.closed) return approvalEndOf(before.closed)
      const id = before?.id ?? (await this.#submitOpen(input))
      if (id === undefined) return { how: 'cancelled' }
      live.id = id
      this.#byId.set(id, live)
      if (live.closeArguments) this.close(...live.closeArguments)
      else if (isFirst && !before && !asked.isHirerTold) this.#tellHirer(id, asked)
      return await over
    } catch {
      // The approval was not stored: the workspace is being closed, or its disk is full.
      return { how: 'gone' }
    } finally {
      this.#bySource.delete(source)
      this.#endedAt.set(agent, this.#parts.clock.steady())
      if (live.id !== undefined) this.#byId.delete(live.id)
    }
  }

  /** Finds the approval of a hook that has reconnected, open or answered meanwhile. An approval that another connection waits for is not found. */
  #findEarlier({ mark, digest }: OpenInput): ApprovalRow | undefined {
    const row = mark === undefined ? undefined : this.#parts.store.view.approvals.byMark(mark)
    return row?.digest === digest && this.#leftovers.delete(row.id) ? row : undefined
  }

  async #submitOpen(input: OpenInput): Promise<string | undefined> {
    const reply = await submitByDaemon(this.#parts, 'approval.open', input)
    return 'refusal' in reply ? undefined : (reply.outcome.id as string)
  }

  close(...closing: CloseArguments): void {
    const [source, how, kind] = closing
    const live = this.#bySource.get(source)
    if (!live) return
    if (live.id === undefined) live.closeArguments = closing
    else void this.#submitClose({ ids: [live.id], how, kind }).catch(() => live.end({ how }))
  }

  /** Stops the queue because the workspace is being closed: open approvals stay unanswered, and the next daemon closes them. */
  stop(): void {
    this.#leftoversAlarm?.cancel()
    for (const { end } of this.#bySource.values()) end({ how: 'restart' })
  }

  /** Tells waiting hooks that the daemon stops: they come back to the next daemon, where their approvals are still open. */
  releaseHooks(): void {
    this.#isStopping = true
    for (const { asked, end } of this.#bySource.values()) if (asked.mark !== undefined) end({ how: 'restart' })
  }

  /** Opens an approval for a hook of the agent's own CLI; when the hook's connection ends, nobody waits for the answer any more. */
  ask(asking: CallContext, { key, ...asked }: ParsedInputOf<'approval.ask'>): Promise<OutputOf<'approval.ask'>> {
    const { session, by: agent, abandoned } = asking
    const source = approvalSource(session, key)
    const over = this.open({ ...asked, source, agent, mark: approvalMark(agent, key) })
    const leave = () => this.close(source, 'gone')
    if (abandoned.aborted) leave()
    abandoned.addEventListener('abort', leave, { once: true })
    return over.finally(() => abandoned.removeEventListener('abort', leave))
  }

  settle({ session }: CallContext, { key, how, kind }: ParsedInputOf<'approval.settle'>): OutputOf<'approval.settle'> {
    this.close(approvalSource(session, key), how, kind)
    return {}
  }

  hasOpen(agent: string, mark?: string): boolean {
    for (const { asked } of this.#bySource.values()) if (asked.agent === agent) return true
    const own = mark === undefined ? undefined : this.#parts.store.view.approvals.byMark(mark)?.id
    return [...this.#leftovers].some(([id, left]) => left === agent && id !== own)
  }

  hasJustEnded(agent: string): boolean {
    return this.#parts.clock.steady() - (this.#endedAt.get(agent) ?? Number.NEGATIVE_INFINITY) < justEndedMs
  }

  list(reader: Reader): OutputOf<'approval.list'> {
    const { store, clock } = this.#parts
    const { view } = store
    const approvals = view.approvals.open().filter((row) => sees(view, reader, 'approval', row))
    const held = view.policy().approve.filter((each) => isDelegationInForce(each, clock.now()))
    const isAll = seesAllRuns(view, reader)
    const delegations = held.filter(({ agent }) => isAll || agent === reader.agent)
    return { approvals: approvals.map(listedApproval), delegations }
  }

  show(reader: Reader, { id }: ParsedInputOf<'approval.show'>): OutputOf<'approval.show'> {
    const { view } = this.#parts.store
    const row = view.approvals.byId(id)
    if (!row || !sees(view, reader, 'approval', row)) throw new RefusalError('approval.unknown', { id })
    return { approval: wholeApproval(row, view.approvals.wholeInput(id)) }
  }

  /** Returns the agent's open approval for lists of agents: every reader sees since when it is open, only some see what the agent wants to do. */
  blockedOf(reader: Reader, agent: string): Agent['blocked'] {
    const { store, sessions } = this.#parts
    const { view } = store
    // Leaves out approvals of this machine if this daemon has opened none for the agent: an earlier daemon left them.
    const isLeft = !this.hasOpen(agent)
    const row = view.approvals.of(agent).find(({ machine }) => !(isLeft && machine === sessions.machine))
    if (!row) return undefined
    const since = new Date(row.at).toISOString()
    if (!sees(view, reader, 'approval', row)) return { since }
    return { since, tool: row.tool, input: shortInput(row.input), wants: wantedActionText(row) }
  }

  async answer(
    asking: CallContext,
    input: ParsedInputOf<'approval.answer'>,
    agents: AgentProcesses,
  ): Promise<OutputOf<'approval.answer'>> {
    const { standing } = asking.session
    const { by, surface, why } = await this.#identifyAnswerer(asking, input.id, agents)
    const answer = () => this.#submitAnswer({ ...input, standing, surface, why }, { by, ...causeOf(asking) })
    const { reply, told } = await answer()
    if (!('refusal' in reply)) return { ...(reply.outcome as AnswerOutcome), ...told }
    const request = { op: 'approval.answer', id: asking.id, by, standing, surface, input } as const
    const again = async () => (await answer()).reply
    const { wordsReach, wordsAs } = await this.#requests.ask(reply.refusal, request, again)
    const { agent, tool, choices } = this.#parts.store.view.approvals.byId(input.id) as ApprovalRow
    const { kind } = choices.find(({ id }) => id === input.choice) as ApprovalChoice
    return { agent, tool, kind, how: 'answered', wordsReach, wordsAs }
  }

  /** Answers an approval for a person on another machine, as this machine's owner has permitted. */
  async answerForMachine(
    { asker, standing, surface, cause, digest }: ReceivedRequest,
    input: ParsedInputOf<'approval.answer'>,
  ): Promise<AnswerTextDelivery> {
    const who = { by: daemonName, cause, digest }
    const { reply, told } = await this.#submitAnswer({ ...input, standing, surface, asker }, who)
    acceptedReplyOrThrow(reply)
    return told
  }

  async #submitAnswer(
    input: AnswerInput,
    who: { by: string; cause: string; digest?: () => string },
  ): Promise<{ reply: CommandReply; told: AnswerTextDelivery }> {
    const asked = this.#byId.get(input.id)?.asked
    // If the hook is disconnected, it gets the answer, with the reason of a denial, once it has reconnected.
    const passesWords = asked ? asked.passesWords : this.#leftovers.has(input.id)
    await asked?.closeIfGone?.()
    const reply = await this.#parts.engine.submit({ rule: 'approval.answer', input, ...who })
    if (!asked && passesWords && !('refusal' in reply)) this.#leftovers.set(input.id, undefined)
    if ('refusal' in reply) return { reply, told: { wordsReach: false } }
    const wordsAs = passesWords ? 'answer' : await this.#sendWords(input, reply.outcome.kind, who.by)
    return { reply, told: { wordsReach: wordsAs !== undefined, ...(wordsAs ? { wordsAs } : {}) } }
  }

  async #sendWords(input: AnswerInput, kind: unknown, by: string): Promise<'message' | undefined> {
    const { store, engine, ids } = this.#parts
    const message = kind === 'deny' ? denialMessage(store.view, input, by) : undefined
    const reply = message && (await engine.submit({ rule: 'message.send', ...message, cause: ids('d') }))
    return !reply || 'refusal' in reply ? undefined : 'message'
  }

  /** Finds out who answers: a person and where they sit (web page or terminal), or an agent, proven by its processes or its token. */
  async #identifyAnswerer(
    asking: CallContext,
    id: string,
    agents: AgentProcesses,
  ): Promise<{ by: string; surface?: 'page' | 'terminal'; why?: string }> {
    const { session } = asking
    const speaker = await identifyCaller(session, agents)
    const named = session.agent
    const isAgent = named !== undefined && this.#parts.store.view.agent(named)?.type !== 'human'
    const deny = (why: string) => new RefusalError('approval.not-yours', { id, why })
    if ('inside' in speaker) {
      const { workspace, agent } = speaker.inside
      if (workspace !== this.#parts.name || (isAgent && named !== agent)) throw deny(whyNoPerson(speaker))
      return { by: agent, why: `${whyNoPerson(speaker)}, which has no delegation for it` }
    }
    if (isAgent) {
      // Refuses a session that has not shown the agent's own token. The workspace key gives every name, and on the owner's socket an agent's name needs no
      // proof while the agent is away.
      if (session.shownCredentials.tokenHashes.size === 0 || session.standing.hasKey)
        throw deny(`you act as the agent ${named}`)
      return { by: named, why: `the agent ${named} has no delegation for it` }
    }
    if (!('surface' in speaker)) throw deny(whyNoPerson(speaker))
    return { by: actorOf(asking), surface: speaker.surface }
  }

  async #submitClose(input: RuleInput<'approval.close'>): Promise<void> {
    acceptedReplyOrThrow(await submitByDaemon(this.#parts, 'approval.close', input))
  }

  /** Tells the agent's hirer that the agent is blocked; one message covers all approvals that the agent has open at the same time. */
  #tellHirer(id: string, { agent, tool, input }: NewApproval): void {
    const { store, engine, clock } = this.#parts
    const notice = approvalNotice(store.view, { id, agent, tool, input }, clock.now())
    if (notice) void engine.submit({ rule: 'message.send', by: daemonName, ...notice }).catch(() => undefined)
  }
}
