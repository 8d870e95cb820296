// Asks git which claimed files (files that an agent is editing) were committed since their holders last edited them. Writes nothing.

import type { CommitReader } from '../broker/claims/claim-runtime.ts'
import type { ClaimRow } from '../core/view.ts'
import { resultWithin } from '../machine/within.ts'
import { type Env, Git } from './git.ts'

/** Time after an edit from which a commit in the same second counts as made after the edit: git's commit times are whole seconds. */
const secondMs = 2_000
/** Maximum number of files that git is asked about by name; for more files, git searches the whole checkout. */
const filesNamedMax = 100

/** Timeout of a search in one checkout, after which git is killed; below it, how long the result of a search is kept. */
const gitLookMs = 3_000
const rememberedMs = 1_000
/** Maximum number of checkouts that are being searched or whose results are kept; in further checkouts no commits are found. */
const checkoutsMax = 32

/** One run of git in a checkout, to find commits of some claimed files. */
interface CommitSearch {
  /** The claims that this run of git covers, as `keyOf` names them. */
  keys: ReadonlySet<string>
  found: Promise<ClaimRow[]>
  isOver: boolean
}

/** The searches in one checkout: the last one that has begun, and at most one that waits for its end. */
interface CheckoutSearches {
  last?: CommitSearch
  next?: { claims: Map<string, ClaimRow>; found: Promise<ClaimRow[]> }
}

export class GitCommitReader implements CommitReader {
  readonly #git: Git
  readonly #checkouts = new Map<string, CheckoutSearches>()
  readonly #lookMs: number

  constructor(env: Env, { lookMs = gitLookMs } = {}) {
    this.#git = new Git(env)
    this.#lookMs = lookMs
  }

  async findCommitted(claims: readonly ClaimRow[], { at, ms }: { at: number; ms: number }): Promise<ClaimRow[]> {
    const roots = new Map<string, ClaimRow[]>()
    for (const claim of claims) {
      const theirs = roots.get(claim.root)
      if (theirs) theirs.push(claim)
      else roots.set(claim.root, [claim])
    }
    const found = [...roots].map(([root, theirs]) => this.#search(root, theirs, at))
    const inTime = await Promise.all(found.map((each) => resultWithin(each, ms)))
    const asked = new Set(claims.map(keyOf))
    return inTime.flatMap((each) => each ?? []).filter((claim) => asked.has(keyOf(claim)))
  }

  /** Shares the result of a search that is under way or ended a moment ago, if the search covers these claims; otherwise asks for the next search. */
  #search(root: string, claims: readonly ClaimRow[], at: number): Promise<ClaimRow[]> {
    const looks = this.#checkouts.get(root) ?? {}
    const { last, next } = looks
    if (last && claims.every((claim) => last.keys.has(keyOf(claim)))) return last.found
    if (next) {
      for (const claim of claims) next.claims.set(keyOf(claim), claim)
      return next.found
    }
    if (!last && this.#checkouts.size >= checkoutsMax) return Promise.resolve([])
    this.#checkouts.set(root, looks)
    const wanted = new Map(claims.map((claim) => [keyOf(claim), claim]))
    if (!last || last.isOver) return this.#startSearch(root, looks, wanted, at)
    const found = last.found.then(() => {
      looks.next = undefined
      return this.#startSearch(root, looks, wanted, at)
    })
    looks.next = { claims: wanted, found }
    return found
  }

  #startSearch(
    root: string,
    looks: CheckoutSearches,
    claims: ReadonlyMap<string, ClaimRow>,
    at: number,
  ): Promise<ClaimRow[]> {
    const found = this.#searchCheckout(root, [...claims.values()], at).catch((): ClaimRow[] => [])
    const look: CommitSearch = { keys: new Set(claims.keys()), found, isOver: false }
    looks.last = look
    void found.then(() => {
      look.isOver = true
      const forget = () => {
        if (looks.last === look) looks.last = undefined
        if (!looks.last && !looks.next && this.#checkouts.get(root) === looks) this.#checkouts.delete(root)
      }
      setTimeout(forget, rememberedMs).unref()
    })
    return found
  }

  async #searchCheckout(root: string, claims: readonly ClaimRow[], at: number): Promise<ClaimRow[]> {
    const end = performance.now() + this.#lookMs
    const ask = (args: readonly string[]) => {
      const timeoutMs = Math.max(1, Math.floor(end - performance.now()))
      return this.#git.run(root, args, { timeoutMs, killSignal: 'SIGKILL' })
    }
    const oldest = Math.min(...claims.map(({ editedAt }) => editedAt))
    const names = claims.length > filesNamedMax ? [] : ['--', ...claims.map(({ file }) => `:(literal)${file}`)]
    const since = `--since=${Math.floor(oldest / 1_000) - 1}`
    // `-m`: merge commits list their files too. `-O/dev/null`: a repository may name an order file, which git would read.
    const shown = ['-m', '--first-parent', '--no-renames', '--name-only', '-z', '--format=%x01%ct', '-O/dev/null']
    const log = ['log', ...shown, since, ...names]
    const commits = committedAt(await ask(log), at)
    const recent = claims.filter((claim) => isAfter(commits.get(claim.file), claim.editedAt, at))
    if (recent.length === 0) return []
    const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all', '--ignore-submodules=all']
    const changed = new Set((await ask([...status, ...names])).split('\0').map((line) => line.slice(3)))
    return recent.filter(({ file }) => !changed.has(file))
  }
}

/** Identifies a claim together with its last edit. */
function keyOf({ path, agent, editedAt }: ClaimRow): string {
  return `${path}\0${agent}\0${editedAt}`
}

/** Returns the time of each file's last commit, in seconds, from the output of `git log`. */
function committedAt(log: string, at: number): Map<string, number> {
  const found = new Map<string, number>()
  for (const commit of log.split('\x01').slice(1)) {
    const [seconds = '', ...files] = commit.split('\0')
    const time = Number.parseInt(seconds, 10)
    // A commit with a time in the future is left out: it comes from a clock that runs ahead, so its time tells nothing.
    if (time * 1_000 > at + secondMs) continue
    for (const file of files) {
      const name = file.replace(/^\n/, '')
      if (name !== '') found.set(name, Math.max(found.get(name) ?? 0, time))
    }
  }
  return found
}

function isAfter(committed: number | undefined, editedAt: number, at: number): boolean {
  if (committed === undefined) return false
  const edited = Math.floor(editedAt / 1_000)
  return committed > edited || (committed === edited && at - editedAt > secondMs)
}
