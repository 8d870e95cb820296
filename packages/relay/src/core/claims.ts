// Rules for claims: which agent is editing which file, and what becomes of another agent's edit. An edit claims its files. A claim ends when its holder
// releases it, when the file is committed, when the holder is gone, or when the claim's time has passed. Callers find out which files a path means.
//
//   (none) → held → (none)      held → held by the same agent: renewed

import { type ClaimMet, type Fact, limits } from '@agent-relay/sdk/protocol'
import { type Reader, seesAllRuns } from './sight.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { ClaimRow, View } from './view.ts'

/** A file in a git checkout. `path` is canonical: the same however the caller spells it. */
export interface CheckoutFile {
  path: string
  root: string
  file: string
  /** The identity of the git repository, the same for all of its checkouts. */
  repository: string
}

export interface EditInput {
  places: readonly CheckoutFile[]
  /** Directories whose whole content the edit touches. */
  trees?: readonly string[]
  /** The checkout in which a git command is about to touch files that the command does not name. */
  sweptCheckout?: string
  /** A path in the edit that names a different file in each process, so that nobody can say whether that file is claimed. */
  unclear?: string
  /** Whether another agent is connected. If none is, edits claim nothing. */
  hasOthers: boolean
  /** Whether the agent was already warned of this git command. */
  isWarned?: boolean
  /** Whether the edit has already happened, because the relay did not answer in time. */
  isLate?: boolean
}

/** Claims of other agents on files that an edit touches. */
export interface ClaimConflicts {
  /** Claims on files that the edit names, and on files below its directories. */
  named: ClaimRow[]
  /** Claims in the checkout in which a git command touches files without naming them. */
  swept: ClaimRow[]
  /** Claims on the same files in other checkouts of the repository. */
  elsewhere: ClaimRow[]
}

/** The most claims that one stored fact lists. */
const namedMax = 20

/** Whether a claim is in force. A claim with more time left than the maximum was made before the clock was set back, and is over. */
export function isClaimInForce({ until }: Pick<ClaimRow, 'until'>, at: number): boolean {
  return until > at && until - at <= limits.claimMs
}

export function findClaimConflicts(
  view: View,
  { by, at, world, input }: Omit<Command<EditInput>, 'mint'>,
): ClaimConflicts {
  const { places, trees = [], sweptCheckout } = input
  const isOther = (claim: ClaimRow) =>
    claim.agent !== by && claim.machine === world.machine && isClaimInForce(claim, at)
  const paths = places.map(({ path }) => path)
  const below = trees.flatMap((tree) => view.claims.below(tree, world.machine))
  const named = [...view.claims.onPaths(paths, world.machine), ...below].filter(isOther)
  const swept = sweptCheckout === undefined ? [] : view.claims.inCheckout(sweptCheckout).filter(isOther)
  // Claims in other checkouts matter only if the edit meets none in its own checkout.
  return { named, swept, elsewhere: named.length > 0 ? [] : claimsInOtherCheckouts(view, places).filter(isOther) }
}

/** Finds claims on the same files in other checkouts of their repositories. */
function claimsInOtherCheckouts(view: View, places: readonly CheckoutFile[]): ClaimRow[] {
  const own = new Set(places.map(({ path }) => path))
  const repositories = new Set(places.map(({ repository }) => repository))
  const found = [...repositories].flatMap((repository) => {
    const files = places.filter((place) => place.repository === repository).map(({ file }) => file)
    return view.claims.ofFiles(repository, files)
  })
  return found.filter(({ path }) => !own.has(path))
}

/** Claims the edited files. If another agent has claimed one of them, the workspace's policy says whether the edit is denied. */
export function claimEditedFiles(view: View, command: Command<EditInput>): Verdict {
  const { input, by, at } = command
  const { claims: policy } = view.policy()
  if (policy === 'off') return recordFacts([], { isDenied: false })
  // Looks first for claims on files that the edit names, the usual reason for a denial. The first claims and their number are enough for it, even if the edit
  // names a thousand files.
  if (policy !== 'warn' && !input.isLate) {
    const paths = input.places.map(({ path }) => path)
    const { first, count } = view.claims.othersOnPaths(paths, { agent: by, machine: command.world.machine, at })
    if (count > 0)
      return recordFacts([{ type: 'claim.denied', what: 'edit', ...conflictFields(by, first, count) }], {
        isDenied: true,
      })
  }
  if (policy !== 'warn' && !input.isLate && input.unclear !== undefined && hasOtherClaims(view, command))
    return recordFacts([], { isDenied: true })
  const { named, swept, elsewhere } = findClaimConflicts(view, command)
  const isSweepDenied = policy === 'strict' || (policy === 'deny' && !input.isWarned)
  const isDenied = (named.length > 0 && policy !== 'warn') || (swept.length > 0 && isSweepDenied)
  const what = named.length > 0 ? 'edit' : 'git'
  const claims = named.length > 0 ? named : swept
  if (isDenied && !input.isLate)
    return recordFacts([{ type: 'claim.denied', what, ...conflictFields(by, claims) }], { isDenied: true })
  const facts: Fact[] = []
  const why = input.isLate ? 'late' : 'warned'
  if (claims.length > 0) facts.push({ type: 'claim.passed', what, why, ...conflictFields(by, claims) })
  const taken = new Set(named.map(({ path }) => path))
  const free = input.hasOthers ? input.places.filter(({ path }) => !taken.has(path)) : []
  // An agent with no room for another claim edits without one: limits of the relay never stop an agent's work.
  const room = free.length === 0 ? 0 : roomFor(view, by, at)
  const made = claimed(view, command, free, 'edit')
  const kept = made.filter((fact, n) => fact.type !== 'claim.made' || n < room)
  // If another agent has claimed the same file in another checkout, a fact records it, once, when this claim is made.
  const fresh = new Set(kept.map((fact) => fact.type === 'claim.made' && fact.file))
  const news = elsewhere.filter(({ file }) => fresh.has(file))
  if (news.length > 0) facts.push({ type: 'claim.passed', what: 'edit', why: 'worktree', ...conflictFields(by, news) })
  return recordFacts([...facts, ...kept], { isDenied: false })
}

/** Whether another agent has a claim on any file of this machine. */
function hasOtherClaims(view: View, { by, at, world }: Command<EditInput>): boolean {
  return view.claims.below('/', world.machine).some((claim) => claim.agent !== by && isClaimInForce(claim, at))
}

/** Returns how many more claims the agent may have. */
function roomFor(view: View, agent: string, at: number): number {
  const own = limits.claimsOfAgentMax - view.claims.countOf(agent, at)
  return Math.min(own, limits.claimsMax - view.claims.count(at))
}

function conflictFields(agent: string, claims: readonly ClaimRow[], count = claims.length) {
  const named = claims.slice(0, namedMax).map(({ file, agent: holder, since }): ClaimMet => ({ file, holder, since }))
  return { agent, root: claims[0]?.root ?? '', claims: named, count }
}

function claimed(view: View, command: Command<unknown>, places: readonly CheckoutFile[], how: 'edit' | 'hand'): Fact[] {
  const { by: agent, at, world } = command
  const { machine } = world
  const until = at + limits.claimMs
  const paths = places.map(({ path }) => path)
  const held = view.claims.onPaths(paths, machine).filter((claim) => claim.agent === agent && isClaimInForce(claim, at))
  const own = new Set(held.map(({ path }) => path))
  return places.flatMap(({ path, root, file, repository }): Fact[] => {
    if (!own.has(path)) return [{ type: 'claim.made', path, root, file, repository, agent, how, until, machine }]
    // An edit does not renew a claim here, since agents edit the same file many times a minute: the rule `claim.renew` extends such claims.
    return how === 'edit' ? [] : [{ type: 'claim.renewed', path, agent, until, machine }]
  })
}

export interface RenewInput {
  /** The last edit of each file by the agent that holds the file's claim. */
  edits: readonly { path: string; agent: string; at: number }[]
}

/** Extends the claims whose holders have edited the files since the last renewal. */
export function renewClaims(view: View, { input, at: now, world: { machine } }: Command<RenewInput>): Verdict {
  const facts: Fact[] = []
  for (const { path, agent, at } of input.edits) {
    const held = view.claims.at(path, machine)
    if (held?.agent !== agent || !isClaimInForce(held, now) || held.editedAt >= at || at > now) continue
    facts.push({ type: 'claim.renewed', path, agent, until: at + limits.claimMs, machine })
  }
  return recordFacts(facts)
}

export interface AddInput {
  places: readonly CheckoutFile[]
}

/** Claims files by hand: all of them, or none. */
export function claimByHand(view: View, command: Command<AddInput>): Verdict {
  const { input, by, at, world } = command
  const places = [...new Map(input.places.map((place) => [place.path, place])).values()]
  for (const { path, file } of places) {
    const held = view.claims.at(path, world.machine)
    if (held && held.agent !== by && isClaimInForce(held, at))
      return refuse('claim.held', { file, holder: held.agent, since: utcTimeText(held.since) })
  }
  const facts = claimed(view, command, places, 'hand')
  const more = facts.filter(({ type }) => type === 'claim.made').length
  const [count, own] = [view.claims.count(at), view.claims.countOf(by, at)]
  if (more > 0 && own + more > limits.claimsOfAgentMax)
    return refuse('claim.too-many-yours', { agent: by, count: own, max: limits.claimsOfAgentMax })
  if (more > 0 && count + more > limits.claimsMax) return refuse('claim.too-many', { count })
  return recordFacts(facts)
}

export interface DropInput extends AddInput {
  /** The rights of the caller's session. */
  standing: Reader['standing']
}

export function dropClaims(view: View, { input, by, at, world }: Command<DropInput>): Verdict {
  const isPerson = seesAllRuns(view, { agent: by, standing: input.standing })
  const facts: Fact[] = []
  for (const { path, file } of input.places) {
    const held = view.claims.at(path, world.machine)
    if (!held || !isClaimInForce(held, at)) return refuse('claim.none', { file })
    if (held.agent !== by && !isPerson) return refuse('claim.not-yours', { file, holder: held.agent })
    facts.push(ended(held, 'released'))
  }
  return recordFacts(facts)
}

export interface EndInput {
  /** The agent whose claims end, if it is gone. Only claims made by its edits end: a claim made by hand lasts until it expires. */
  agent?: string
  /** Claims on committed files, as they were when the commit was found; a claim whose holder has edited the file since then stays. */
  committed?: readonly Pick<ClaimRow, 'path' | 'agent' | 'editedAt'>[]
}

export function endClaims(view: View, { input, at, world }: Command<EndInput>): Verdict {
  const { agent, committed = [] } = input
  const facts: Fact[] = []
  if (agent !== undefined && !world.isLive(agent)) facts.push(...claimEndFacts(view, agent, at))
  for (const { path, agent: holder, editedAt } of committed) {
    const held = view.claims.at(path, world.machine)
    if (held?.agent === holder && held.editedAt === editedAt) facts.push(ended(held, 'committed'))
  }
  return recordFacts(facts)
}

/** Returns the facts that end an agent's claims made by edits; with `all`, also those made by hand. */
export function claimEndFacts(view: View, agent: string, at: number, all = false): Fact[] {
  const held = view.claims.of(agent).filter((claim) => (all || claim.how === 'edit') && isClaimInForce(claim, at))
  return held.map((claim) => ended(claim, 'gone'))
}

function ended({ path, root, file, agent, machine }: ClaimRow, why: 'released' | 'committed' | 'gone'): Fact {
  return { type: 'claim.ended', path, root, file, agent, why, machine }
}

/** Formats a time as `12:04 UTC`, by arithmetic alone: rules have no clock. */
export function utcTimeText(ms: number): string {
  const minutes = Math.floor(ms / 60_000) % 1_440
  const two = (n: number) => String(n).padStart(2, '0')
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)} UTC`
}
