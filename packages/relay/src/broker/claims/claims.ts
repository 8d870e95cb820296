// Claims (files that an agent is editing) for hooks and agents: checks an edit that is about to happen, takes claims by hand, and lists claims. Finds out which
// files a path means, which files were committed, and which holders are gone; core/claims.ts decides, and claim-texts.ts has the texts for agents.

import { createHash } from 'node:crypto'
import { type Claim, type InputOf, limits, type OutputOf, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { type CheckoutFile, type EditInput, findClaimConflicts, isClaimInForce } from '../../core/claims.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { isInCharge, type Reader } from '../../core/sight.ts'
import type { ClaimRow } from '../../core/view.ts'
import { type Alarm, isDeadlineAhead } from '../../machine/clock.ts'
import { pathProbe } from '../../machine/path-probe.ts'
import { removeOldEditNotes, takeUncheckedEdits, type UncheckedEdit } from '../../machine/unchecked-edits.ts'
import type { CallContext, WorkspaceParts } from '../call.ts'
import { submitByDaemon, submitCall, tellAgent } from '../commands.ts'
import { dayTokenMs } from '../sessions/credentials.ts'
import { ClaimHintFile, liveAgents } from './claim-hint.ts'
import { ClaimRenewals } from './claim-renewals.ts'
import type { CommitReader } from './claim-runtime.ts'
import { claimNoticeText, claimsShownMax, deniedWithoutClaimText, editAnswerText } from './claim-texts.ts'

/** Time without a session after which a claim's holder counts as gone. After a daemon's restart an agent's CLI connects again within a second or two. */
const holderGoneMs = 15_000
/** Time that git gets to say whether a claimed file was committed. The hook of an edit waits for it, and gives up after 200 ms. */
const commitsMs = 120
const listMs = 3_000
/** Maximum number of remembered warnings about git commands. */
const warningsMax = 1_000
/** Maximum length of a holder's task in the list of claims. */
const taskCharsMax = 200

type ClaimParts = Pick<WorkspaceParts, 'store' | 'engine' | 'hub' | 'sessions' | 'clock' | 'ids' | 'name'>
type EditAnswer = OutputOf<'claim.edit'>
/** Who asks for a claim or an edit, and the id of its call. */
type ClaimAsker = Pick<CallContext, 'by' | 'id' | 'digest'>

export class Claims {
  readonly #parts: ClaimParts
  readonly #hooksPath: string | undefined
  readonly #hint: ClaimHintFile
  readonly #renewals: ClaimRenewals
  readonly #leavingAlarms = new Map<string, Alarm>()
  /** Git commands that an agent was warned of, each with the time (milliseconds since 1970) until which the agent counts as warned. */
  readonly #warned = new Map<string, number>()
  readonly #startedAt: number
  readonly #commits: CommitReader | undefined

  constructor(parts: ClaimParts, { hooksPath, commits }: { hooksPath?: string; commits?: CommitReader } = {}) {
    this.#parts = parts
    this.#hooksPath = hooksPath
    this.#commits = commits
    this.#startedAt = parts.clock.steady()
    this.#hint = new ClaimHintFile(parts, hooksPath)
    this.#renewals = new ClaimRenewals(parts)
    if (hooksPath !== undefined) removeOldEditNotes(hooksPath)
    parts.sessions.onChange((agent) => this.#onSession(agent))
    // Gives the holders of claims from before the daemon's start `holderGoneMs` to reconnect.
    for (const agent of parts.store.view.claims.holders(parts.clock.now())) this.#onSession(agent)
  }

  close(): void {
    for (const leaving of this.#leavingAlarms.values()) leaving.cancel()
    this.#renewals.close()
    this.#hint.close()
  }

  async edit(asking: ClaimAsker, input: ParsedInputOf<'claim.edit'>, socketPath: string): Promise<EditAnswer> {
    const { store, sessions, clock } = this.#parts
    const { by } = asking
    await this.#recordLateEdits(socketPath)
    const { claims: policy } = store.view.policy()
    const asked = policy === 'off' ? undefined : await this.#editOf(by, input)
    if (!asked) return { isDenied: false, met: [] }
    const command = { by, at: clock.now(), world: sessions, input: asked }
    const first = findClaimConflicts(store.view, command)
    let seq = store.journal.lastSeq
    await this.#endCommitted(Object.values(first).flat(), commitsMs)
    const before = store.journal.lastSeq === seq ? first : findClaimConflicts(store.view, command)
    seq = store.journal.lastSeq
    const { outcome, seq: decidedAt } = await submitCall(this.#parts, asking, 'claim.edit', asked)
    const { isDenied } = outcome
    if (!isDenied) this.#renew(command)
    // Other commands were decided before this edit and may have claimed its files: find the conflicts again.
    const isOther = isDenied && decidedAt !== seq + 1
    const { named, swept, elsewhere } = isOther
      ? findClaimConflicts(store.view, { ...command, at: clock.now() })
      : before
    const isAbout = named.length > 0 ? named : swept
    if (isDenied && input.git) this.#warn(warningKey(by, input.git))
    const crossed = isDenied || isAbout.length > 0 ? isAbout : elsewhere
    if (crossed.length === 0)
      return isDenied
        ? { isDenied: true, met: [], text: deniedWithoutClaimText(asked.unclear) }
        : { isDenied: false, met: [] }
    const git = named.length > 0 ? undefined : input.git?.command
    const how = { isDenied: isDenied === true, git, isElsewhere: crossed === elsewhere, policy }
    this.#notifyAgents(by, crossed, how)
    const text = editAnswerText(by, crossed, how)
    return { isDenied: how.isDenied, text, met: crossed.slice(0, claimsShownMax).map((claim) => claimFrom(claim)) }
  }

  async add(asking: CallContext, input: ParsedInputOf<'claim.add'>): Promise<OutputOf<'claim.add'>> {
    const places = await placesOf(input, asking.by)
    const { store, sessions } = this.#parts
    const claims = () => places.flatMap(({ path }) => store.view.claims.at(path, sessions.machine) ?? [])
    await this.#endCommitted(claims(), listMs)
    await submitCall(this.#parts, asking, 'claim.add', { places })
    return { claims: claims().map((claim) => claimFrom(claim)) }
  }

  async drop(asking: CallContext, input: ParsedInputOf<'claim.drop'>): Promise<OutputOf<'claim.drop'>> {
    const places = await placesOf(input, asking.by)
    const { store, sessions } = this.#parts
    const claims = places.flatMap(({ path }) => store.view.claims.at(path, sessions.machine) ?? [])
    await submitCall(this.#parts, asking, 'claim.drop', { places, standing: asking.session.standing })
    return { claims: claims.map((claim) => claimFrom(claim)) }
  }

  async list(reader: Reader, socketPath: string): Promise<OutputOf<'claim.list'>> {
    const { store, clock } = this.#parts
    await this.#recordLateEdits(socketPath)
    const all = () => store.view.claims.all(clock.now()).filter((claim) => isClaimInForce(claim, clock.now()))
    await this.#endCommitted(all(), listMs)
    const tasks = new Map<string, string | undefined>()
    return {
      claims: all().map((claim) => {
        if (!tasks.has(claim.agent)) tasks.set(claim.agent, this.#taskOf(reader, claim.agent))
        return claimFrom(this.#renewals.current(claim), tasks.get(claim.agent))
      }),
    }
  }

  #warn(warning: string): void {
    // With too many warnings, forgets them all: agents are then warned once more, which is harmless.
    if (this.#warned.size >= warningsMax) this.#warned.clear()
    this.#warned.set(warning, this.#parts.clock.now() + limits.claimMs)
  }

  /**
   * Makes the input on which the rule for edits decides. Undefined, so that the edit goes ahead, if it touches no file in a git checkout or the file system
   * does not answer.
   */
  async #editOf(by: string, input: ParsedInputOf<'claim.edit'>): Promise<EditInput | undefined> {
    const { clock } = this.#parts
    const { git, ...named } = input
    const looked = await pathProbe.ask({ ...named, directory: git?.directory }, by)
    if (!looked) return undefined
    const { places, trees, root: sweptCheckout, unclear } = looked
    const isNothing = places.every((place) => place === null) && trees.length === 0 && sweptCheckout === undefined
    if (isNothing && unclear === undefined) return undefined
    return {
      unclear,
      places: withoutDuplicates(places.filter((place) => place !== null)),
      trees,
      sweptCheckout,
      // Just after the daemon's start other agents may not have reconnected yet, so the edit is decided as if there were some.
      hasOthers: clock.steady() - this.#startedAt < holderGoneMs || liveAgents(this.#parts).some((name) => name !== by),
      isWarned: git !== undefined && (this.#warned.get(warningKey(by, git)) ?? 0) > clock.now(),
    }
  }

  /** Records edits that hooks let through because the daemon did not answer in time. Called before the next decision or list. */
  async #recordLateEdits(socketPath: string): Promise<void> {
    if (this.#hooksPath === undefined) return
    for (const edit of takeUncheckedEdits(this.#hooksPath, socketPath, this.#parts.clock.now()))
      await this.#recordUncheckedEdit(edit)
  }

  async #recordUncheckedEdit({ proof, hosts = [], thread, ...edited }: UncheckedEdit): Promise<void> {
    const by = proof === undefined ? this.#parts.sessions.agentOfHost(hosts, thread) : this.#agentOf(proof)
    // Skips the edit if its agent does not exist any more.
    if (by !== undefined && this.#parts.store.view.agent(by)) await this.recordEdit(by, edited, true)
  }

  /** Records that an edit has happened, and tells the agent and the holders of claims on the edited files. */
  async recordEdit(by: string, edited: ParsedInputOf<'claim.edit'>, hasOthers?: true): Promise<void> {
    const { store, sessions, engine, clock, ids } = this.#parts
    const asked = store.view.policy().claims === 'off' ? undefined : await this.#editOf(by, edited)
    if (!asked) return
    const input: EditInput = { ...asked, hasOthers: hasOthers ?? asked.hasOthers, isLate: true }
    const command = { by, at: clock.now(), world: sessions, input }
    const { named, swept } = findClaimConflicts(store.view, command)
    await engine.submit({ rule: 'claim.edit', input, by, cause: ids('d') })
    this.#renew(command)
    const crossed = named.length > 0 ? named : swept
    const how = { isDenied: false, isLate: true, git: edited.git?.command, policy: store.view.policy().claims }
    if (crossed.length > 0) this.#notifyAgents(by, crossed, how)
  }

  /** Returns the agent whose token has this hash. */
  #agentOf(proof: string): string | undefined {
    const { store, clock } = this.#parts
    const { agent, until } = store.queries.tokenOwner(proof) ?? {}
    return until === undefined || isDeadlineAhead(until, clock.now(), dayTokenMs) ? agent : undefined
  }

  /** Extends the editing agent's own claims on these files. */
  #renew({ by, at, input: { places } }: { by: string; at: number; input: EditInput }): void {
    const { store, sessions } = this.#parts
    const paths = places.map(({ path }) => path)
    for (const claim of store.view.claims.onPaths(paths, sessions.machine))
      if (claim.agent === by) this.#renewals.record(claim, at)
  }

  /**
   * Tells the holders of claims on files that an edit touches, once for each claim and editing agent. Tells the editing agent too if the edit went ahead. The
   * hook does not wait for these messages.
   */
  #notifyAgents(by: string, crossed: readonly ClaimRow[], how: Parameters<typeof claimNoticeText>[3]): void {
    for (const holder of new Set(crossed.map(({ agent }) => agent))) {
      const theirs = crossed.filter(({ agent }) => agent === holder)
      const newest = Math.max(...theirs.map(({ since }) => since))
      // The path is hashed, since it may be longer than the cause (id) of a command.
      const path = createHash('sha256').update(`${theirs[0]?.path}`).digest('hex')
      const about = `${how.git === undefined ? 'edit' : 'git'}/${path}/${newest}/${by}`
      void tellAgent(this.#parts, holder, claimNoticeText(by, theirs, 'holder', how), `claim/${holder}/${about}`)
      if (!how.isDenied)
        void tellAgent(this.#parts, by, claimNoticeText(by, theirs, 'agent', how), `claim/${by}/of/${holder}/${about}`)
    }
  }

  /** Ends the claims on files that were committed since their holders last edited them. If git does not answer in time, the claims stay. */
  async #endCommitted(claims: readonly ClaimRow[], ms: number): Promise<void> {
    const { sessions, clock } = this.#parts
    const here = claims.filter(({ machine }) => machine === sessions.machine)
    if (!this.#commits || here.length === 0) return
    const current = here.map((claim) => this.#renewals.current(claim))
    const found = new Set((await this.#commits.findCommitted(current, { at: clock.now(), ms })).map(({ path }) => path))
    const committed = here.filter(({ path }) => found.has(path))
    if (committed.length > 0) await submitByDaemon(this.#parts, 'claim.end', { committed })
  }

  #onSession(agent: string): void {
    const { sessions, clock, store } = this.#parts
    this.#leavingAlarms.get(agent)?.cancel()
    this.#leavingAlarms.delete(agent)
    if (sessions.isLive(agent) || !store.view.claims.of(agent).some(({ how }) => how === 'edit')) return
    const leaving = clock.after(holderGoneMs, () => {
      this.#leavingAlarms.delete(agent)
      void submitByDaemon(this.#parts, 'claim.end', { agent })
    })
    this.#leavingAlarms.set(agent, leaving)
  }

  /** Returns the task of a claim's holder, for readers that may see the task: the holder's parent and people. */
  #taskOf(reader: Reader, agent: string): string | undefined {
    const { view } = this.#parts.store
    const worker = view.workers.byName(agent)
    if (!worker || worker.status === 'exited') return undefined
    const isKnown = reader.agent === agent || isInCharge(view, reader, worker)
    return isKnown ? view.workers.taskOf(worker.id)?.slice(0, taskCharsMax) : undefined
  }
}

function warningKey(by: string, { command, directory }: NonNullable<InputOf<'claim.edit'>['git']>): string {
  return JSON.stringify([by, directory, command])
}

async function placesOf(named: { cwd: string; files: readonly string[] }, by: string): Promise<CheckoutFile[]> {
  const looked = await pathProbe.ask(named, by)
  if (!looked) throw new RefusalError('claim.no-answer', { file: named.files[0] })
  const found = looked.places.map((place, n) => {
    if (!place) throw new RefusalError('claim.outside', { file: named.files[n] })
    return place
  })
  return withoutDuplicates(found)
}

function withoutDuplicates(places: readonly CheckoutFile[]): CheckoutFile[] {
  return [...new Map(places.map((place) => [place.path, place])).values()]
}

function claimFrom({ agent, root, file, how, since, until }: ClaimRow, task?: string): Claim {
  const [from, to] = [since, until].map((ms) => new Date(ms).toISOString()) as [string, string]
  return { agent, root, file, how, since: from, until: to, ...(task === undefined ? {} : { task }) }
}
