// Finds claimed files that were committed since their holders last edited them, by asking git. Writes nothing.

import type { CommitReader } from '../broker/claims/claim-runtime.ts'
import type { ClaimRow } from '../core/view.ts'
import { type Env, Git } from './git.ts'

/** Age after which an edit in the same second as a commit counts as before it: git's commit times are whole seconds. */
const secondMs = 2_000
/** Most files that are named to git; beyond that it looks at the whole checkout. */
const filesNamedMax = 100

/** Time limit of one look at a checkout, after which its git is killed; and how long a result is kept. */
const gitLookMs = 3_000
const rememberedMs = 1_000
/** Most checkouts that are looked at, or were within that time; beyond it no further one is. */
const checkoutsMax = 32

/** A look at one checkout. */
interface Look {
  /** The claims that the look covers, as `keyOf` names them. */
  keys: ReadonlySet<string>
  found: Promise<ClaimRow[]>
  isOver: boolean
}

/** The looks at one checkout: one at a time, and one that waits for it. */
interface Looks {
  last?: Look
  next?: { claims: Map<string, ClaimRow>; found: Promise<ClaimRow[]> }
}

export class Commits implements CommitReader {
  readonly #git: Git
  readonly #checkouts = new Map<string, Looks>()
  readonly #lookMs: number

  constructor(env: Env, { lookMs = gitLookMs } = {}) {
    this.#git = new Git(env)
    this.#lookMs = lookMs
  }

  async committed(claims: readonly ClaimRow[], { at, ms }: { at: number; ms: number }): Promise<ClaimRow[]> {
    const roots = new Map<string, ClaimRow[]>()
    for (const claim of claims) {
      const theirs = roots.get(claim.root)
      if (theirs) theirs.push(claim)
      else roots.set(claim.root, [claim])
    }
    const found = [...roots].map(([root, theirs]) => this.#look(root, theirs, at))
    let late: NodeJS.Timeout | undefined
    const none = new Promise<ClaimRow[]>((done) => {
      late = setTimeout(() => done([]), ms)
    })
    const inTime = await Promise.all(found.map((each) => Promise.race([each, none])))
    clearTimeout(late)
    const asked = new Set(claims.map(keyOf))
    return inTime.flat().filter((claim) => asked.has(keyOf(claim)))
  }

  /** Shares a look that is under way or was made a moment ago, if it covers these claims; else asks for the next one. */
  #look(root: string, claims: readonly ClaimRow[], at: number): Promise<ClaimRow[]> {
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
    if (!last || last.isOver) return this.#begin(root, looks, wanted, at)
    const found = last.found.then(() => {
      looks.next = undefined
      return this.#begin(root, looks, wanted, at)
    })
    looks.next = { claims: wanted, found }
    return found
  }

  #begin(root: string, looks: Looks, claims: ReadonlyMap<string, ClaimRow>, at: number): Promise<ClaimRow[]> {
    const found = this.#inCheckout(root, [...claims.values()], at).catch((): ClaimRow[] => [])
    const look: Look = { keys: new Set(claims.keys()), found, isOver: false }
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

  async #inCheckout(root: string, claims: readonly ClaimRow[], at: number): Promise<ClaimRow[]> {
    const end = performance.now() + this.#lookMs
    const ask = (args: readonly string[]) => {
      const timeoutMs = Math.max(1, Math.floor(end - performance.now()))
      return this.#git.run(root, args, { timeoutMs, killSignal: 'SIGKILL' })
    }
    const oldest = Math.min(...claims.map(({ editedAt }) => editedAt))
    const names = claims.length > filesNamedMax ? [] : ['--', ...claims.map(({ file }) => `:(literal)${file}`)]
    const since = `--since=${Math.floor(oldest / 1_000) - 1}`
    // With -m a merge names its files too. -O/dev/null, since a repository may name an order file, which git would read.
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

/** The time of each file's last commit, in seconds. */
function committedAt(log: string, at: number): Map<string, number> {
  const found = new Map<string, number>()
  for (const commit of log.split('\x01').slice(1)) {
    const [seconds = '', ...files] = commit.split('\0')
    const time = Number.parseInt(seconds, 10)
    // A commit from a clock that runs ahead tells nothing.
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
