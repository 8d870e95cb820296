// The one queue of approvals for all CLIs. Hooks and the interfaces of workers open and close approvals; a person or a delegated agent answers.
// core/approvals.ts decides which answers are allowed, and sessions/person.ts tells people from agents.

import {
  type Agent,
  type ApprovalChoice,
  type ApprovalClosed,
  daemonName,
  type OutputOf,
  type ParsedInputOf,
} from '@agent-relay/sdk/protocol'
import { type AnswerInput, isHeldNow, type OpenInput } from '../../core/approvals.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { type Reader, sees, seesAllRuns } from '../../core/sight.ts'
import type { ApprovalRow } from '../../core/view.ts'
import type { Alarm } from '../../machine/clock.ts'
import { type Asking, actorOf, causeOf, type Parts } from '../call.ts'
import type { Reply } from '../engine.ts'
import { type Asked, namesAs, type Requests, type Told } from '../requests.ts'
import { type AgentProcesses, speakerOf, whyNot } from '../sessions/person.ts'
import { endOf, openInputOf, shown, shownWhole, sourceOf } from './approval-input.ts'
import { approvalNotice, shortOf, shortWish, wordsMessage } from './approval-notice.ts'
import { type ApprovalEnd, type ApprovalQueue, type AskedApproval, markOf } from './approval-runtime.ts'

type ApprovalParts = Pick<Parts, 'store' | 'engine' | 'hub' | 'sessions' | 'clock' | 'ids' | 'name'>
type Given = Omit<OutputOf<'approval.answer'>, keyof Told>
type Closing = Parameters<ApprovalQueue['close']>

/** An approval that is being opened, or is open. */
interface Live {
  asked: AskedApproval
  over(end: ApprovalEnd): void
  id?: string
  /** The arguments of `close`, if the approval was closed before it was open. */
  closing?: Closing
}

/** Time in which hooks that asked an earlier daemon may come back: they try again every few seconds. */
const comeBackMs = 60_000
/** Maximum number of remembered approvals that were answered while a daemon ended. */
const answeredMax = 100
/** Time after an approval's end in which a program may still show its question: a key press takes a moment to arrive. */
const overMs = 2_000

export class Approvals implements ApprovalQueue {
  readonly #parts: ApprovalParts
  readonly #requests: Requests
  readonly #bySource = new Map<string, Live>()
  /** The time of the end of each agent's last approval, by the monotonic clock. */
  readonly #overAt = new Map<string, number>()
  readonly #byId = new Map<string, Live>()
  /** Approvals that an earlier daemon left and whose hooks may come back, by id; each with its agent while the approval is open. */
  readonly #left = new Map<string, string | undefined>()
  #giveUp: Alarm | undefined
  #isStopping = false

  constructor(parts: ApprovalParts, requests: Requests) {
    this.#parts = parts
    this.#requests = requests
    parts.hub.listen((entries) => {
      for (const { facts } of entries)
        for (const fact of facts) if (fact.type === 'approval.closed') this.#byId.get(fact.id)?.over(endOf(fact))
    })
  }

  /** Closes the approvals that an earlier daemon left, except those of hooks, which may come back. Such a hook may also have missed an answer. */
  async begin(): Promise<void> {
    const { store, sessions, clock } = this.#parts
    const rows = store.view.approvals.open().filter(({ machine }) => machine === sessions.machine)
    const over = rows.filter(({ mark }) => mark === undefined)
    if (over.length > 0) await this.#submitClose({ ids: over.map(({ id }) => id), how: 'restart' })
    for (const { id, agent, mark } of rows) if (mark !== undefined) this.#left.set(id, agent)
    for (const id of store.view.approvals.lastAnswered(answeredMax)) this.#left.set(id, undefined)
    if (this.#left.size > 0) this.#giveUp = clock.after(comeBackMs, () => void this.#closeLeft())
  }

  async #closeLeft(): Promise<void> {
    const ids = [...this.#left].flatMap(([id, agent]) => (agent === undefined ? [] : [id]))
    this.#left.clear()
    if (ids.length > 0) await this.#submitClose({ ids, how: 'restart' }).catch(() => undefined)
  }

  /** Opens an approval. Nothing is awaited before the input is cut: the input may have megabytes, which must not be kept while a person thinks about it. */
  open(asked: AskedApproval): Promise<ApprovalEnd> {
    const input = openInputOf(asked)
    return this.#open({ ...asked, tool: input.tool, input: input.input, choices: input.choices }, input)
  }

  async #open(asked: AskedApproval, input: OpenInput): Promise<ApprovalEnd> {
    const { source, agent } = asked
    if (this.#bySource.has(source)) return { how: 'cancelled' }
    if (this.#isStopping && asked.mark !== undefined) return { how: 'restart' }
    let end: (end: ApprovalEnd) => void = () => {}
    const over = new Promise<ApprovalEnd>((resolve) => (end = resolve))
    const isFirst = !this.isOpen(agent)
    const live: Live = { asked, over: end }
    this.#bySource.set(source, live)
    try {
      const before = this.#before(input)
      // The approval was answered while its hook was away.
      if (before?.closed) return endOf(before.closed)
      const id = before?.id ?? (await this.#submitOpen(input))
      if (id === undefined) return { how: 'cancelled' }
      live.id = id
      this.#byId.set(id, live)
      if (live.closing) this.close(...live.closing)
      else if (isFirst && !before && !asked.isTold) this.#tellParent(id, asked)
      return await over
    } catch {
      // The workspace is being closed, or its disk is full.
      return { how: 'gone' }
    } finally {
      this.#bySource.delete(source)
      this.#overAt.set(agent, this.#parts.clock.steady())
      if (live.id !== undefined) this.#byId.delete(live.id)
    }
  }

  /** Finds the approval of a hook that comes back, open or answered meanwhile. The approval of a hook that is still connected is not found. */
  #before({ mark, digest }: OpenInput): ApprovalRow | undefined {
    const row = mark === undefined ? undefined : this.#parts.store.view.approvals.byMark(mark)
    return row?.digest === digest && this.#left.delete(row.id) ? row : undefined
  }

  async #submitOpen(input: OpenInput): Promise<string | undefined> {
    const command = { rule: 'approval.open', input, by: daemonName, cause: this.#parts.ids('d') } as const
    const reply = await this.#parts.engine.submit(command)
    return 'refusal' in reply ? undefined : (reply.outcome.id as string)
  }

  close(...closing: Closing): void {
    const [source, how, kind] = closing
    const live = this.#bySource.get(source)
    if (!live) return
    if (live.id === undefined) live.closing = closing
    else void this.#submitClose({ ids: [live.id], how, kind }).catch(() => live.over({ how }))
  }

  /** Stops the queue because the workspace is being closed: open approvals stay unanswered, and the next daemon closes them. */
  stop(): void {
    this.#giveUp?.cancel()
    for (const { over } of this.#bySource.values()) over({ how: 'restart' })
  }

  /** Tells waiting hooks that the daemon stops: they come back to the next daemon, where their approvals are still open. */
  letHooksGo(): void {
    this.#isStopping = true
    for (const { asked, over } of this.#bySource.values()) if (asked.mark !== undefined) over({ how: 'restart' })
  }

  /** Opens an approval for a hook of the agent's own CLI; when the hook's connection ends, nobody waits for the answer any more. */
  ask(asking: Asking, { key, ...asked }: ParsedInputOf<'approval.ask'>): Promise<OutputOf<'approval.ask'>> {
    const { session, by: agent, abandoned } = asking
    const source = sourceOf(session, key)
    const over = this.open({ ...asked, source, agent, mark: markOf(agent, key) })
    const leave = () => this.close(source, 'gone')
    if (abandoned.aborted) leave()
    abandoned.addEventListener('abort', leave, { once: true })
    return over.finally(() => abandoned.removeEventListener('abort', leave))
  }

  settle({ session }: Asking, { key, how, kind }: ParsedInputOf<'approval.settle'>): OutputOf<'approval.settle'> {
    this.close(sourceOf(session, key), how, kind)
    return {}
  }

  isOpen(agent: string, mark?: string): boolean {
    for (const { asked } of this.#bySource.values()) if (asked.agent === agent) return true
    const own = mark === undefined ? undefined : this.#parts.store.view.approvals.byMark(mark)?.id
    return [...this.#left].some(([id, left]) => left === agent && id !== own)
  }

  isJustOver(agent: string): boolean {
    return this.#parts.clock.steady() - (this.#overAt.get(agent) ?? Number.NEGATIVE_INFINITY) < overMs
  }

  list(reader: Reader): OutputOf<'approval.list'> {
    const { store, clock } = this.#parts
    const { view } = store
    const approvals = view.approvals.open().filter((row) => sees(view, reader, 'approval', row))
    const held = view.policy().approve.filter((each) => isHeldNow(each, clock.now()))
    const isAll = seesAllRuns(view, reader)
    const delegations = held.filter(({ agent }) => isAll || agent === reader.agent)
    return { approvals: approvals.map(shown), delegations }
  }

  show(reader: Reader, { id }: ParsedInputOf<'approval.show'>): OutputOf<'approval.show'> {
    const { view } = this.#parts.store
    const row = view.approvals.byId(id)
    if (!row || !sees(view, reader, 'approval', row)) throw new RefusalError('approval.unknown', { id })
    return { approval: shownWhole(row, view.approvals.whole(id)) }
  }

  /** Returns the agent's open approval as lists of agents show it: its time to everybody, and its subject to readers who may know it. */
  blockedOf(reader: Reader, agent: string): Agent['blocked'] {
    const { store, sessions } = this.#parts
    const { view } = store
    // An approval of this machine that this daemon has not opened is left from an earlier daemon, and does not count.
    const isLeft = !this.isOpen(agent)
    const row = view.approvals.of(agent).find(({ machine }) => !(isLeft && machine === sessions.machine))
    if (!row) return undefined
    const since = new Date(row.at).toISOString()
    if (!sees(view, reader, 'approval', row)) return { since }
    return { since, tool: row.tool, input: shortOf(row.input), wants: shortWish(row) }
  }

  async answer(
    asking: Asking,
    input: ParsedInputOf<'approval.answer'>,
    agents: AgentProcesses,
  ): Promise<OutputOf<'approval.answer'>> {
    const { standing } = asking.session
    const { by, surface, why } = await this.#answerer(asking, input.id, agents)
    const answer = () => this.#submitAnswer({ ...input, standing, surface, why }, { by, ...causeOf(asking) })
    const { reply, told } = await answer()
    if (!('refusal' in reply)) return { ...(reply.outcome as Given), ...told }
    if (reply.refusal.code !== 'approval.elsewhere') throw new RefusalError(reply.refusal)
    const request = { op: 'approval.answer', id: asking.id, ...namesAs(by, standing), surface, input } as const
    const done = await this.#requests.ask(reply.refusal, request, async () => (await answer()).reply)
    const { agent, tool, choices } = this.#parts.store.view.approvals.byId(input.id) as ApprovalRow
    const { kind } = choices.find(({ id }) => id === input.choice) as ApprovalChoice
    return { agent, tool, kind, how: 'answered', ...done }
  }

  /** Gives the answer of a person on another machine, which this machine's owner allows. */
  async answerFor(
    { asker, standing, surface, cause, digest }: Asked,
    input: ParsedInputOf<'approval.answer'>,
  ): Promise<Told> {
    const who = { by: daemonName, cause, digest }
    const { reply, told } = await this.#submitAnswer({ ...input, standing, surface, asker }, who)
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
    return told
  }

  async #submitAnswer(
    input: AnswerInput,
    who: { by: string; cause: string; digest?: () => string },
  ): Promise<{ reply: Reply; told: Told }> {
    const asked = this.#byId.get(input.id)?.asked
    // A hook that is away gets the words of a denial with the answer when it comes back.
    const passesWords = asked ? asked.passesWords : this.#left.has(input.id)
    await asked?.check?.()
    const reply = await this.#parts.engine.submit({ rule: 'approval.answer', input, ...who })
    if (!asked && passesWords && !('refusal' in reply)) this.#left.set(input.id, undefined)
    if ('refusal' in reply) return { reply, told: { wordsReach: false } }
    const wordsAs = passesWords ? 'answer' : await this.#sendWords(input, reply.outcome.kind, who.by)
    return { reply, told: { wordsReach: wordsAs !== undefined, ...(wordsAs ? { wordsAs } : {}) } }
  }

  async #sendWords(input: AnswerInput, kind: unknown, by: string): Promise<'message' | undefined> {
    const { store, engine, ids } = this.#parts
    const message = kind === 'deny' ? wordsMessage(store.view, input, by) : undefined
    const reply = message && (await engine.submit({ rule: 'message.send', ...message, cause: ids('d') }))
    return !reply || 'refusal' in reply ? undefined : 'message'
  }

  /** Finds out who answers: a person with their place, or an agent proven by its processes or its token. */
  async #answerer(
    asking: Asking,
    id: string,
    agents: AgentProcesses,
  ): Promise<{ by: string; surface?: 'page' | 'terminal'; why?: string }> {
    const { session } = asking
    const speaker = await speakerOf(session, agents)
    const named = session.agent
    const isAgent = named !== undefined && this.#parts.store.view.agent(named)?.type !== 'human'
    const deny = (why: string) => new RefusalError('approval.not-yours', { id, why })
    if ('inside' in speaker) {
      const { workspace, agent } = speaker.inside
      if (workspace !== this.#parts.name || (isAgent && named !== agent)) throw deny(whyNot(speaker))
      return { by: agent, why: `${whyNot(speaker)}, which has no delegation for it` }
    }
    if (isAgent) {
      // A session without a token is not proven to be the agent: with the key a session may take every name, and on the owner's socket an agent's name needs no
      // proof while the agent is away.
      if (session.shown.tokenHashes.size === 0 || session.standing.hasKey) throw deny(`you act as the agent ${named}`)
      return { by: named, why: `the agent ${named} has no delegation for it` }
    }
    if (!('surface' in speaker)) throw deny(whyNot(speaker))
    return { by: actorOf(asking), surface: speaker.surface }
  }

  async #submitClose(input: {
    ids: string[]
    how: Exclude<ApprovalClosed['how'], 'answered'>
    kind?: ApprovalChoice['kind']
  }) {
    const { engine, ids } = this.#parts
    const reply = await engine.submit({ rule: 'approval.close', input, by: daemonName, cause: ids('d') })
    if ('refusal' in reply) throw new RefusalError(reply.refusal)
  }

  /** Tells the agent's hirer that the agent is blocked; one message covers all approvals that the agent has open at the same time. */
  #tellParent(id: string, { agent, tool, input }: AskedApproval): void {
    const { store, engine, clock } = this.#parts
    const notice = approvalNotice(store.view, { id, agent, tool, input }, clock.now())
    if (notice) void engine.submit({ rule: 'message.send', by: daemonName, ...notice }).catch(() => undefined)
  }
}
