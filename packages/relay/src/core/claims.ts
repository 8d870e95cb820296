// Claims: which agent is editing which file, and what becomes of another agent's edit. The edit itself makes the claim; it ends when its holder
// releases it, when the file is committed, when its holder is gone, or when its time has passed. Callers find out which files a path means.
//
//   (none) → held → (none)      held → held by the same agent: renewed

import { type ClaimMet, type Fact, limits } from '@agent-relay/sdk/protocol'
import { type Reader, seesAllRuns } from './sight.ts'
import { type Command, record, refuse, type Verdict } from './verdict.ts'
import type { ClaimRow, View } from './view.ts'

/** A file of a checkout. `path` is the same however the caller spells it. */
export interface Place {
  path: string
  root: string
  file: string
  /** The repository, the same for all of its checkouts. */
  repository: string
}

export interface EditInput {
  places: readonly Place[]
  /** Directories of which the edit touches everything. */
  trees?: readonly string[]
  /** The checkout in which a git command is about to touch files that it does not name. */
  sweeps?: string
  /** A path of the edit that names another file for each process: nobody can say whether that file is claimed. */
  unclear?: string
  /** Whether another agent is live; while there is none, edits claim nothing. */
  hasOthers: boolean
  /** The agent has been warned of this git command. */
  isWarned?: boolean
  /** The edit has already happened, since the relay did not answer in time. */
  isLate?: boolean
}

/** Claims of other agents that an edit meets. */
export interface Met {
  /** Claims on the files that the edit names, and below its directories. */
  named: ClaimRow[]
  /** Claims in the checkout that a git command sweeps. */
  swept: ClaimRow[]
  /** Claims on the same files in other checkouts of the repository. */
  elsewhere: ClaimRow[]
}

/** The most claims that one fact names. */
const namedMax = 20

/** Whether a claim is in force. A claim that ends later than any new one could was made before the clock was set back, and is over. */
export function stands({ until }: Pick<ClaimRow, 'until'>, at: number): boolean {
  return until > at && until - at <= limits.claimMs
}

export function met(view: View, { by, at, world, input }: Omit<Command<EditInput>, 'mint'>): Met {
  const { places, trees = [], sweeps } = input
  const isOther = (claim: ClaimRow) => claim.agent !== by && claim.machine === world.machine && stands(claim, at)
  const paths = places.map(({ path }) => path)
  const below = trees.flatMap((tree) => view.claims.below(tree, world.machine))
  const named = [...view.claims.among(paths, world.machine), ...below].filter(isOther)
  const swept = sweeps === undefined ? [] : view.claims.inCheckout(sweeps).filter(isOther)
  // An edit that meets claims of its own checkout is about those.
  return { named, swept, elsewhere: named.length > 0 ? [] : elsewhereOf(view, places).filter(isOther) }
}

/** Claims on the same files in other checkouts of their repositories. */
function elsewhereOf(view: View, places: readonly Place[]): ClaimRow[] {
  const own = new Set(places.map(({ path }) => path))
  const repositories = new Set(places.map(({ repository }) => repository))
  const found = [...repositories].flatMap((repository) => {
    const files = places.filter((place) => place.repository === repository).map(({ file }) => file)
    return view.claims.ofFiles(repository, files)
  })
  return found.filter(({ path }) => !own.has(path))
}

/** Claims the files, unless another agent has claimed one of them: then the policy says whether the edit is denied. */
export function edit(view: View, command: Command<EditInput>): Verdict {
  const { input, by, at } = command
  const { claims: policy } = view.policy()
  if (policy === 'off') return record([], { isDenied: false })
  // Most denied edits meet claims on files that they name: then the first claim and their number suffice, also for a thousand files.
  if (policy !== 'warn' && !input.isLate) {
    const paths = input.places.map(({ path }) => path)
    const { first, count } = view.claims.othersAmong(paths, { agent: by, machine: command.world.machine, at })
    if (count > 0)
      return record([{ type: 'claim.denied', what: 'edit', ...crossing(by, first, count) }], { isDenied: true })
  }
  if (policy !== 'warn' && !input.isLate && input.unclear !== undefined && hasOtherClaims(view, command))
    return record([], { isDenied: true })
  const { named, swept, elsewhere } = met(view, command)
  const isSweepDenied = policy === 'strict' || (policy === 'deny' && !input.isWarned)
  const isDenied = (named.length > 0 && policy !== 'warn') || (swept.length > 0 && isSweepDenied)
  const what = named.length > 0 ? 'edit' : 'git'
  const claims = named.length > 0 ? named : swept
  if (isDenied && !input.isLate)
    return record([{ type: 'claim.denied', what, ...crossing(by, claims) }], { isDenied: true })
  const facts: Fact[] = []
  const why = input.isLate ? 'late' : 'warned'
  if (claims.length > 0) facts.push({ type: 'claim.passed', what, why, ...crossing(by, claims) })
  const taken = new Set(named.map(({ path }) => path))
  const free = input.hasOthers ? input.places.filter(({ path }) => !taken.has(path)) : []
  // Where there is no room for another claim the edit goes ahead without one: work never stops because of us.
  const room = free.length === 0 ? 0 : roomFor(view, by, at)
  const made = claimed(view, command, free, 'edit')
  const kept = made.filter((fact, n) => fact.type !== 'claim.made' || n < room)
  // If the same file is claimed in another checkout, both agents are told when this claim is made.
  const fresh = new Set(kept.map((fact) => fact.type === 'claim.made' && fact.file))
  const news = elsewhere.filter(({ file }) => fresh.has(file))
  if (news.length > 0) facts.push({ type: 'claim.passed', what: 'edit', why: 'worktree', ...crossing(by, news) })
  return record([...facts, ...kept], { isDenied: false })
}

/** Whether another agent has a claim on any file of this machine. */
function hasOtherClaims(view: View, { by, at, world }: Command<EditInput>): boolean {
  return view.claims.below('/', world.machine).some((claim) => claim.agent !== by && stands(claim, at))
}

/** Number of further claims the agent may have. */
function roomFor(view: View, agent: string, at: number): number {
  const own = limits.claimsOfAgentMax - view.claims.countOf(agent, at)
  return Math.min(own, limits.claimsMax - view.claims.count(at))
}

function crossing(agent: string, claims: readonly ClaimRow[], count = claims.length) {
  const named = claims.slice(0, namedMax).map(({ file, agent: holder, since }): ClaimMet => ({ file, holder, since }))
  return { agent, root: claims[0]?.root ?? '', claims: named, count }
}

function claimed(view: View, command: Command<unknown>, places: readonly Place[], how: 'edit' | 'hand'): Fact[] {
  const { by: agent, at, world } = command
  const { machine } = world
  const until = at + limits.claimMs
  const paths = places.map(({ path }) => path)
  const held = view.claims.among(paths, machine).filter((claim) => claim.agent === agent && stands(claim, at))
  const own = new Set(held.map(({ path }) => path))
  return places.flatMap(({ path, root, file, repository }): Fact[] => {
    if (!own.has(path)) return [{ type: 'claim.made', path, root, file, repository, agent, how, until, machine }]
    // Agents edit the same file many times a minute: `renew` extends such claims.
    return how === 'edit' ? [] : [{ type: 'claim.renewed', path, agent, until, machine }]
  })
}

export interface RenewInput {
  /** The last edit of each file by its holder. */
  edits: readonly { path: string; agent: string; at: number }[]
}

/** Extends claims by their holders' edits since the last renewal. */
export function renew(view: View, { input, at: now, world: { machine } }: Command<RenewInput>): Verdict {
  const facts: Fact[] = []
  for (const { path, agent, at } of input.edits) {
    const held = view.claims.at(path, machine)
    if (held?.agent !== agent || !stands(held, now) || held.editedAt >= at || at > now) continue
    facts.push({ type: 'claim.renewed', path, agent, until: at + limits.claimMs, machine })
  }
  return record(facts)
}

export interface AddInput {
  places: readonly Place[]
}

/** Claims files by hand: all of them, or none. */
export function add(view: View, command: Command<AddInput>): Verdict {
  const { input, by, at, world } = command
  const places = [...new Map(input.places.map((place) => [place.path, place])).values()]
  for (const { path, file } of places) {
    const held = view.claims.at(path, world.machine)
    if (held && held.agent !== by && stands(held, at))
      return refuse('claim.held', { file, holder: held.agent, since: timeText(held.since) })
  }
  const facts = claimed(view, command, places, 'hand')
  const more = facts.filter(({ type }) => type === 'claim.made').length
  const [count, own] = [view.claims.count(at), view.claims.countOf(by, at)]
  if (more > 0 && own + more > limits.claimsOfAgentMax)
    return refuse('claim.too-many-yours', { agent: by, count: own, max: limits.claimsOfAgentMax })
  if (more > 0 && count + more > limits.claimsMax) return refuse('claim.too-many', { count })
  return record(facts)
}

export interface DropInput extends AddInput {
  /** The caller's standing. */
  standing: Reader['standing']
}

export function drop(view: View, { input, by, at, world }: Command<DropInput>): Verdict {
  const isPerson = seesAllRuns(view, { agent: by, standing: input.standing })
  const facts: Fact[] = []
  for (const { path, file } of input.places) {
    const held = view.claims.at(path, world.machine)
    if (!held || !stands(held, at)) return refuse('claim.none', { file })
    if (held.agent !== by && !isPerson) return refuse('claim.not-yours', { file, holder: held.agent })
    facts.push(ended(held, 'released'))
  }
  return record(facts)
}

export interface EndInput {
  /** Ends the claims that this agent's edits made, if it is gone. A claim made by hand lasts its time, whoever typed it. */
  agent?: string
  /** Claims on files that were committed, as the claims were when the commit was found. */
  committed?: readonly Pick<ClaimRow, 'path' | 'agent' | 'editedAt'>[]
}

export function end(view: View, { input, at, world }: Command<EndInput>): Verdict {
  const { agent, committed = [] } = input
  const facts: Fact[] = []
  if (agent !== undefined && !world.isLive(agent)) facts.push(...endsOf(view, agent, at))
  for (const { path, agent: holder, editedAt } of committed) {
    const held = view.claims.at(path, world.machine)
    if (held?.agent === holder && held.editedAt === editedAt) facts.push(ended(held, 'committed'))
  }
  return record(facts)
}

/** The facts that end an agent's claims made by edits; with `all`, also those made by hand. */
export function endsOf(view: View, agent: string, at: number, all = false): Fact[] {
  const held = view.claims.of(agent).filter((claim) => (all || claim.how === 'edit') && stands(claim, at))
  return held.map((claim) => ended(claim, 'gone'))
}

function ended({ path, root, file, agent, machine }: ClaimRow, why: 'released' | 'committed' | 'gone'): Fact {
  return { type: 'claim.ended', path, root, file, agent, why, machine }
}

/** Formats a time as `12:04 UTC`, by arithmetic alone: rules have no clock. */
export function timeText(ms: number): string {
  const minutes = Math.floor(ms / 60_000) % 1_440
  const two = (n: number) => String(n).padStart(2, '0')
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)} UTC`
}
