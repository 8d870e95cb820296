// Work that may never be lost: commits of which git cannot say that they are elsewhere too, and worktrees made for another worker or by a person.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { Worktrees } from '../../src/work/worktrees.ts'
import { git, makeRepository, oursIn, write } from './repository-world.ts'

let root: string
let repository: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-loss-')))
  repository = join(root, 'repository')
  makeRepository(repository)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Each workspace has its own, and so has each daemon. */
function newKeeper(path = process.env.PATH): Worktrees {
  return new Worktrees({ env: { PATH: path, HOME: root }, dataDir: join(root, 'data') })
}

async function planned(keeper: Worktrees): Promise<Worktree> {
  return (await keeper.plan({ name: 'Ann', directory: repository })).worktree
}

function make(keeper: Worktrees, worktree: Worktree, worker: string, onSetup = async () => {}): Promise<void> {
  const { signal } = new AbortController()
  const environment = { PATH: process.env.PATH ?? '' }
  return keeper.make(worktree, { worker, cwd: worktree.path, marker: {}, environment, signal, onSetup })
}

function configure(worktree: object): void {
  write(repository, '.relay/config.json', JSON.stringify({ worktree }))
  trustConfig(projectConfig(repository, join(root, 'data')) as ProjectConfigFile, join(root, 'data'))
}

/** A branch that names a commit which is not there: git cannot count commits any more. */
function breakARef(gitDirectory: string): void {
  writeFileSync(join(gitDirectory, 'refs', 'heads', 'broken'), `${'12'.repeat(20)}\n`)
}

test('commits stay when git cannot tell whether they are elsewhere too', async () => {
  const keeper = newKeeper()
  const worktree = await planned(keeper)
  await make(keeper, worktree, 'w1')
  git(worktree.path, 'commit', '-q', '--allow-empty', '-m', 'work')
  const tip = git(worktree.path, 'rev-parse', 'HEAD')
  breakARef(join(repository, '.git'))
  const ran = { worker: 'w1', hasRun: true }
  expect((await keeper.removeIfClean(worktree, ran)).kept).toContain('git rev-list: fatal: bad object')
  await expect(keeper.changes(worktree)).rejects.toThrow('git rev-list')
  rmSync(worktree.path, { recursive: true })
  expect((await keeper.removeIfClean(worktree, ran)).kept).toContain('git rev-list: fatal: bad object')
  expect(git(repository, 'rev-parse', worktree.branch)).toBe(tip)
  rmSync(join(repository, '.git/refs/heads/broken'))
  expect((await keeper.removeIfClean(worktree, ran)).kept).toContain('its directory is gone, and it had commits')
})

test('a worktree stays when its HEAD, or what is in a submodule of it, cannot be read', async () => {
  const library = join(root, 'library')
  makeRepository(library)
  git(repository, 'submodule', 'add', '-q', library, 'lib')
  git(repository, 'commit', '-qm', 'lib')
  configure({ submodules: ['lib'] })
  const keeper = newKeeper()
  const worktree = await planned(keeper)
  await make(keeper, worktree, 'w1')
  const ran = { worker: 'w1', hasRun: true }
  const inside = join(worktree.path, 'lib')
  const before = git(inside, 'rev-parse', 'HEAD')
  git(inside, 'commit', '-q', '--allow-empty', '-m', 'inside')
  git(worktree.path, 'update-index', '--assume-unchanged', 'lib')
  git(worktree.path, 'update-index', '--cacheinfo', `160000,${git(inside, 'rev-parse', 'HEAD')},lib`)
  git(worktree.path, 'commit', '-qm', 'newer lib')
  git(repository, 'update-ref', 'refs/tags/merged', worktree.branch)
  breakARef(join(repository, '.git/modules/lib'))
  expect((await keeper.removeIfClean(worktree, ran)).kept).toContain('git rev-list: fatal: bad object')
  expect(existsSync(inside)).toBe(true)
  git(inside, 'reset', '-q', '--hard', before)
  writeFileSync(join(repository, '.git', 'refs', 'heads', worktree.branch), `${'12'.repeat(20)}\n`)
  expect((await keeper.removeIfClean(worktree, ran)).kept).toContain('git ')
  expect(existsSync(worktree.path)).toBe(true)
})

test('a submodule in a submodule is made, looked into and removed like its own; what it may hold keeps the worktree', async () => {
  const [inner, library] = [join(root, 'inner'), join(root, 'library')]
  makeRepository(inner)
  makeRepository(library)
  git(library, 'submodule', 'add', '-q', inner, 'deep/inner')
  git(library, 'commit', '-qm', 'inner')
  git(repository, 'submodule', 'add', '-q', library, 'lib')
  git(repository, 'submodule', 'update', '-q', '--init', '--recursive')
  git(repository, 'commit', '-qm', 'lib')
  configure({ submodules: ['lib', 'lib/deep/inner'] })
  const keeper = newKeeper()
  const ran = { worker: 'w1', hasRun: true }
  const worktree = await planned(keeper)
  await make(keeper, worktree, 'w1')
  const inside = join(worktree.path, 'lib/deep/inner')
  expect(existsSync(join(inside, 'a.txt'))).toBe(true)
  write(inside, 'a.txt', 'changed\n')
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('1 file not committed')
  git(inside, 'checkout', '-q', 'a.txt')
  // A commit that only this HEAD has, hidden from the checkouts around it.
  const before = git(inside, 'rev-parse', 'HEAD')
  git(inside, 'commit', '-q', '--allow-empty', '-m', 'inside')
  git(
    join(worktree.path, 'lib'),
    'update-index',
    '--cacheinfo',
    `160000,${git(inside, 'rev-parse', 'HEAD')},deep/inner`,
  )
  git(join(worktree.path, 'lib'), 'commit', '-qm', 'newer inner')
  git(join(repository, 'lib'), 'update-ref', 'refs/tags/kept', git(join(worktree.path, 'lib'), 'rev-parse', 'HEAD'))
  git(
    worktree.path,
    'update-index',
    '--cacheinfo',
    `160000,${git(join(worktree.path, 'lib'), 'rev-parse', 'HEAD')},lib`,
  )
  git(worktree.path, 'commit', '-qm', 'newer lib')
  git(repository, 'update-ref', 'refs/tags/merged', worktree.branch)
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('its submodule lib/deep/inner may hold work')
  git(inside, 'checkout', '-q', before)
  git(join(worktree.path, 'lib'), 'checkout', '-q', 'HEAD~1')
  git(worktree.path, 'reset', '-q', '--hard', worktree.base)
  expect(await keeper.removeIfClean(worktree, ran)).toEqual({})
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
  for (const way of ['lib', 'lib/deep/inner'])
    expect(git(join(repository, way), 'worktree', 'list').split('\n')).toHaveLength(1)
})

test('two workspaces that plan the same worktree: who comes second harms nothing of the first', async () => {
  configure({ setup: ['true'] })
  const [first, second] = [newKeeper(), newKeeper()]
  const [mine, theirs] = [await planned(first), await planned(second)]
  expect(theirs).toEqual(mine)
  const answers: unknown[] = []
  await make(first, mine, 'w1', async () => {
    await expect(make(second, theirs, 'w2')).rejects.toThrow('git update-ref')
    answers.push(await second.removeIfClean(theirs, { worker: 'w2', hasRun: false }))
    // A daemon that was started again remembers nothing of it.
    answers.push(await newKeeper().removeIfClean(theirs, { worker: 'w2', hasRun: false }))
  })
  // An old row of the same path, whose own worktree somebody has removed.
  answers.push(await second.removeIfClean(theirs, { worker: 'w0', hasRun: true }))
  await second.discard(theirs, { worker: 'w0', hasRun: true })
  expect(answers).toEqual([{}, {}, {}])
  expect(oursIn(repository)).toEqual({ paths: ['Ann'], branches: ['relay/Ann'], listed: [mine.path] })
  expect(await first.removeIfClean(mine, { worker: 'w1', hasRun: true })).toEqual({})
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})

test('what a person made by that name is not taken for ours', async () => {
  const keeper = newKeeper()
  const worktree = await planned(keeper)
  git(repository, 'branch', worktree.branch)
  await expect(make(keeper, worktree, 'w1')).rejects.toThrow('git update-ref')
  expect(await keeper.removeIfClean(worktree, { worker: 'w1', hasRun: false })).toEqual({})
  expect(oursIn(repository).branches).toEqual(['relay/Ann'])
  mkdirSync(join(worktree.path, '..'), { recursive: true })
  git(repository, 'worktree', 'add', '-q', worktree.path, worktree.branch)
  const left = await keeper.removeIfClean(worktree, { worker: 'w1', hasRun: true })
  expect(left.kept).toBe('it was not made for this worker')
  expect(oursIn(repository).listed).toEqual([worktree.path])
})

test('a status that fails costs a plan its note, and nothing else', async () => {
  write(repository, 'new.txt', 'not committed')
  const script = `#!/bin/sh\ncase "$*" in *status*) exit 128;; esac\nPATH=\${PATH#*:} exec git "$@"\n`
  write(root, 'failing/git', script)
  chmodSync(join(root, 'failing/git'), 0o755)
  const plan = (keeper: Worktrees) => keeper.plan({ name: 'Ann', directory: repository })
  expect((await plan(newKeeper())).note).toContain('1 file not committed')
  expect((await plan(newKeeper(`${join(root, 'failing')}:${process.env.PATH}`))).note).toBeUndefined()
})

test('the lock of a git that was killed on our branch is waited for, and then taken away', async () => {
  const keeper = newKeeper()
  const worktree = await planned(keeper)
  const lock = join(repository, '.git/refs/heads', `${worktree.branch}.lock`)
  mkdirSync(join(lock, '..'))
  writeFileSync(lock, '')
  await make(keeper, worktree, 'w1')
  expect(existsSync(lock)).toBe(false)
  writeFileSync(lock, '')
  expect(await keeper.removeIfClean(worktree, { worker: 'w1', hasRun: true })).toEqual({})
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})
