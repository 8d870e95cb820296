// `merge`: a worker's branch into a person's checkout, with real git. It is refused where the person's work could be lost.

import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mergeBranch } from '../../src/work/merging.ts'
import { Worktrees } from '../../src/work/worktrees.ts'
import { git, makeRepository, personsWork, write } from './repository-world.ts'

let root: string
let repository: string
let worktree: Worktree
const env = { PATH: process.env.PATH, HOME: '/nonexistent' }
beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-merging-')))
  repository = join(root, 'repository')
  makeRepository(repository)
  const keeper = new Worktrees({ env, dataDir: join(root, 'data') })
  const planned = await keeper.plan({ name: 'Ann', directory: repository })
  worktree = planned.worktree
  const { signal } = new AbortController()
  await keeper.make(worktree, {
    worker: 'w1',
    cwd: planned.cwd,
    marker: {},
    environment: {},
    signal,
    onSetup: async () => {},
  })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function commit(directory: string, file: string, text: string): void {
  write(directory, file, text)
  git(directory, 'add', '-f', file)
  git(directory, 'commit', '-qm', `change ${file}`)
}

test('a fast-forward, then a merge commit, and untracked files stay', async () => {
  write(repository, 'notes.txt', 'mine')
  commit(worktree.path, 'a.txt', 'by Ann\n')
  const first = await mergeBranch(env, repository, worktree)
  expect(first).toMatchObject({ into: repository, conflicts: [], after: git(worktree.path, 'rev-parse', 'HEAD') })
  commit(repository, 'c.txt', 'by Kim\n')
  commit(worktree.path, 'a.txt', 'by Ann again\n')
  await mergeBranch(env, join(repository, 'sub'), worktree)
  expect(git(repository, 'log', '-1', '--format=%s %P').split(' ')).toHaveLength(5)
  expect(git(repository, 'log', '-1', '--format=%s')).toBe("Merge branch 'relay/Ann'")
  expect(readFileSync(join(repository, 'notes.txt'), 'utf8')).toBe('mine')
  const again = await mergeBranch(env, repository, worktree)
  expect(again.after).toBe(again.before)
})

test('conflicts are left to the person, who can go back', async () => {
  commit(worktree.path, 'a.txt', 'by Ann\n')
  commit(repository, 'a.txt', 'by Kim\n')
  const before = personsWork(repository)
  expect((await mergeBranch(env, repository, worktree)).conflicts).toEqual(['a.txt'])
  await expect(mergeBranch(env, repository, worktree)).rejects.toThrow('open MERGE_HEAD')
  git(repository, 'merge', '--abort')
  expect({ ...personsWork(repository), index: '' }).toEqual({ ...before, index: '' })
})

test('what is not committed, ignored, or hidden from git is never written over', async () => {
  commit(worktree.path, '.env', 'OF=Ann\n')
  commit(worktree.path, 'c.txt', 'by Ann\n')
  const refused = async (why: string) => {
    const before = personsWork(repository)
    await expect(mergeBranch(env, repository, worktree)).rejects.toThrow(why)
    expect(personsWork(repository)).toEqual(before)
  }
  write(repository, '.env', 'OF=Kim\n')
  await refused('git does not watch: .env')
  rmSync(join(repository, '.env'))
  writeFileSync(join(repository, 'c.txt'), 'in hand\n')
  await refused('not committed: c.txt')
  git(repository, 'update-index', '--assume-unchanged', 'c.txt')
  await refused('git does not watch: c.txt')
  git(repository, 'update-index', '--no-assume-unchanged', 'c.txt')
  git(repository, 'checkout', '-q', 'c.txt')
  // A directory of the branch where the person has an ignored file.
  commit(worktree.path, 'build/out', 'x')
  write(repository, 'build', 'a file of mine')
  await refused('git does not watch: build')
})

test('only a checkout of the same repository that is not the worktree itself gets it', async () => {
  const other = join(root, 'other')
  makeRepository(other)
  await expect(mergeBranch(env, other, worktree)).rejects.toThrow(`cd ${repository}`)
  await expect(mergeBranch(env, worktree.path, worktree)).rejects.toThrow(`cd ${repository}`)
})
