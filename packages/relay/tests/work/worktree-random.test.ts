// Random histories of workers in worktrees, on a real repository with a person's unfinished work in it: spawn, edit, commit, kill at any
// moment, release, merge, sweep. The person's work stays byte for byte, nothing with changes is removed, and nothing of ours is left over.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random } from '@agent-relay/prove/harness/random'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guardMs } from '../../../../test/guard.ts'
import { sized } from '../../../../test/size.ts'
import { Worktrees } from '../../src/work/worktrees.ts'
import { git, leaveWork, makeRepository, oursIn, personsWork } from './repository-world.ts'

const histories = sized(3, 500)
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

let root: string
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-random-')))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

function keeperWith(path: string): Worktrees {
  return new Worktrees({ env: { PATH: path, HOME: root }, dataDir: join(root, 'data') })
}

interface Hired {
  worker: string
  worktree: Worktree
  /** Its program was started, so what is in the worktree may be its own. */
  hasRun: boolean
  /** Files that it wrote and did not commit, and commits that are on no other branch. */
  files: number
  commits: number
  isGone: boolean
}

class History {
  readonly #random: Random
  readonly #repository: string
  readonly #before: Record<string, string>
  readonly #keeper: Worktrees
  readonly #hired: Hired[] = []
  #count = 0

  constructor(number: number) {
    this.#random = new Random(number)
    this.#repository = join(root, `repository-${number}`)
    // A test that is tried again plays the same ones.
    rmSync(this.#repository, { recursive: true, force: true })
    makeRepository(this.#repository)
    leaveWork(this.#repository)
    this.#before = personsWork(this.#repository)
    this.#keeper = keeperWith(process.env.PATH ?? '')
  }

  async play(): Promise<void> {
    const steps = [
      ...[this.#spawn, this.#spawn, this.#edit, this.#edit, this.#commit, this.#leave, this.#leave],
      ...[this.#merge, this.#killedWhileMaking, this.#killedWhileLeaving, this.#discard],
    ]
    for (let left = 5 + this.#random.below(5); left > 0; left--) {
      await (steps[this.#random.below(steps.length)] as () => Promise<void>).call(this)
      this.#check()
    }
    for (const each of this.#hired.filter(({ isGone }) => !isGone)) {
      await this.#keeper.discard(each.worktree, each)
      each.isGone = true
    }
    expect(oursIn(this.#repository)).toEqual({ paths: [], branches: [], listed: [] })
    rmSync(this.#repository, { recursive: true, force: true })
  }

  async #plan(): Promise<Hired> {
    const name = `W${this.#random.below(3)}`
    const { worktree } = await this.#keeper.plan({ name, directory: this.#repository })
    const hired = { worker: `w${this.#hired.length}`, worktree, hasRun: false, files: 0, commits: 0, isGone: false }
    this.#hired.push(hired)
    return hired
  }

  async #make({ worker, worktree }: Hired, keeper = this.#keeper): Promise<void> {
    const { signal } = new AbortController()
    const env = { PATH: process.env.PATH ?? '' }
    const onSetup = async () => {}
    await keeper.make(worktree, { worker, cwd: worktree.path, marker: {}, environment: env, signal, onSetup })
  }

  async #spawn(): Promise<void> {
    const hired = await this.#plan()
    await this.#make(hired)
    hired.hasRun = true
  }

  #some(): Hired | undefined {
    const there = this.#hired.filter(({ isGone, hasRun }) => !isGone && hasRun)
    return there[this.#random.below(there.length || 1)]
  }

  async #edit(): Promise<void> {
    const hired = this.#some()
    if (!hired) return
    const name = ['a.txt', 'new.txt', 'sub/b.txt', 'other/deep.txt'][this.#random.below(4)] as string
    const path = join(hired.worktree.path, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, `${++this.#count}\n`)
    hired.files++
  }

  async #commit(): Promise<void> {
    const hired = this.#some()
    if (!hired) return
    git(hired.worktree.path, 'add', '-A')
    git(hired.worktree.path, 'commit', '-q', '--allow-empty', '-m', `work ${++this.#count}`)
    hired.files = 0
    hired.commits++
  }

  /** The person keeps the commits elsewhere: the checkout with work in hand is not the place for a merge. */
  async #merge(): Promise<void> {
    const hired = this.#some()
    if (!hired || hired.commits === 0) return
    git(this.#repository, 'update-ref', `refs/tags/merged-${++this.#count}`, hired.worktree.branch)
    this.#before.refs = personsWork(this.#repository).refs as string
    hired.commits = 0
  }

  async #leave(hired = this.#some()): Promise<void> {
    if (!hired) return
    const { kept } = await this.#keeper.removeIfClean(hired.worktree, hired)
    hired.isGone = kept === undefined
    if (hired.isGone) expect([hired.files, hired.commits]).toEqual([0, 0])
    else expect(hired.files + hired.commits, kept).toBeGreaterThan(0)
  }

  /** Dies in the middle of making or removing a worktree, by the git that did it; the next one ends what it finds. */
  async #killed(work: (keeper: Worktrees) => Promise<unknown>): Promise<void> {
    const folder = `${this.#repository}-killed`
    const ms = `0.00${this.#random.below(10)}${this.#random.below(10)}`
    mkdirSync(folder, { recursive: true })
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
    const script = `#!/bin/sh\ncase "$*" in *"worktree add"*|*" status "*) exec timeout -s KILL ${ms} ${real} "$@";; esac\nexec ${real} "$@"\n`
    writeFileSync(join(folder, 'git'), script)
    chmodSync(join(folder, 'git'), 0o755)
    await work(keeperWith(`${folder}:${process.env.PATH}`)).catch(() => {})
  }

  async #killedWhileMaking(): Promise<void> {
    const hired = await this.#plan()
    await this.#killed((keeper) => this.#make(hired, keeper))
    await this.#leave(hired)
    expect(hired.isGone).toBe(true)
  }

  async #killedWhileLeaving(): Promise<void> {
    const hired = this.#some()
    if (!hired) return
    const isClean = hired.files === 0 && hired.commits === 0
    await this.#killed((keeper) => keeper.removeIfClean(hired.worktree, hired))
    await this.#leave(hired)
    if (isClean) expect(hired.isGone).toBe(true)
  }

  async #discard(): Promise<void> {
    const hired = this.#some()
    if (!hired || this.#random.below(3) > 0) return
    await this.#keeper.discard(hired.worktree, hired)
    hired.isGone = true
  }

  #check(): void {
    expect(personsWork(this.#repository)).toEqual(this.#before)
    const there = this.#hired.filter(({ isGone }) => !isGone).map(({ worktree }) => worktree)
    const { paths, branches, listed } = oursIn(this.#repository)
    expect(new Set(listed)).toEqual(new Set(there.map(({ path }) => path)))
    expect(new Set(branches)).toEqual(new Set(there.map(({ branch }) => branch)))
    expect(paths).toHaveLength(there.length)
  }
}

test(`${histories} random histories from seed ${seed}`, { timeout: sized(5, 15) * guardMs }, async () => {
  let next = 0
  const playAll = async () => {
    for (let n = next++; n < histories; n = next++) {
      try {
        await new History(seed + n).play()
      } catch (error) {
        ;(error as Error).message += `\nSEED=${seed + n}`
        throw error
      }
    }
  }
  await Promise.all([playAll(), playAll(), playAll()])
})
