// The file that a path names: one identity for every spelling of it, none outside a checkout.

import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { answerPathQuestion, checkoutRoot, placeInCheckout } from '../../src/machine/checkout.ts'
import { git, makeRepository } from '../work/repository-world.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'relay-checkout-')))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0
let repository: string
beforeEach(() => {
  repository = join(base, `repository-${++count}`)
  makeRepository(repository)
})
const at = (file: string, cwd = repository) => placeInCheckout(cwd, file)

test('a file is the same from every directory and through every link', () => {
  const expected = { path: join(repository, 'sub/b.txt'), root: repository, file: 'sub/b.txt' }
  expect(at('sub/b.txt')).toEqual({ ...expected, repository: join(repository, '.git') })
  symlinkSync(join(repository, 'sub'), join(repository, 'also'))
  symlinkSync('sub/b.txt', join(repository, 'link.txt'))
  symlinkSync(repository, join(base, `way-${count}`))
  for (const [file, cwd] of [
    ['b.txt', join(repository, 'sub')],
    ['../sub/./b.txt', join(repository, 'sub')],
    ['also/b.txt', repository],
    ['link.txt', repository],
    ['sub/b.txt', join(base, `way-${count}`)],
    [join(repository, 'sub/b.txt'), '/'],
  ] as const)
    expect(at(file, cwd)).toMatchObject(expected)
})

test('a file that does not exist yet, also in directories that do not, and behind a link that leads nowhere', () => {
  symlinkSync('sub/new.txt', join(repository, 'dangling'))
  expect(at('sub/new.txt')?.file).toBe('sub/new.txt')
  expect(at('dangling')?.path).toBe(at('sub/new.txt')?.path)
  expect(at('x/y/z.txt')?.file).toBe('x/y/z.txt')
  // A directory that is removed or renamed does not change who a path is.
  const before = at('sub/b.txt')
  renameSync(join(repository, 'sub'), join(repository, 'other'))
  expect(at('sub/b.txt')).toEqual(before)
  expect(at('other/b.txt')?.file).toBe('other/b.txt')
})

test('a path of very many parts is found where it may be one, and names no file where it may not', () => {
  const deep = `${'a/'.repeat(200)}x.txt`
  expect(at(deep)?.file).toBe(deep)
  writeFileSync(join(repository, 'file'), '')
  expect(at(`file/${deep}`)?.file).toBe(`file/${deep}`)
  for (let i = 0; i < 100; i++) expect(at(`${'a/'.repeat(2_000)}${i}`)).toBeUndefined()
})

test('outside every checkout, inside .git, and links in a circle name no file', () => {
  symlinkSync('/etc', join(repository, 'outside'))
  symlinkSync('round', join(repository, 'round'))
  for (const file of ['/etc/hostname', '../none', 'outside/hostname', '.git/config', '.git', 'round'])
    expect(at(file)).toBeUndefined()
  expect(placeInCheckout('relative', 'a.txt')).toBeUndefined()
  // What only reads like it is a file like any other.
  expect(at('.github/x')?.file).toBe('.github/x')
})

test('a worktree is a checkout of its own of the same repository; a hostile .git file names only itself', () => {
  const tree = join(repository, '.relay/worktrees/W')
  git(repository, 'worktree', 'add', '-q', tree)
  expect(at('a.txt', tree)).toEqual({
    path: join(tree, 'a.txt'),
    ...{ root: tree, file: 'a.txt', repository: join(repository, '.git') },
  })
  expect(checkoutRoot(join(tree, 'sub'))).toBe(tree)
  expect(checkoutRoot('/')).toBeUndefined()
  const odd = join(base, `odd-${count}`)
  mkdirSync(odd)
  writeFileSync(join(odd, '.git'), `gitdir: ${'x'.repeat(20_000)}`)
  expect(at('a.txt', odd)).toMatchObject({ root: odd, file: 'a.txt', repository: join(odd, '.git') })
})

test('where the file system ignores case, so does the identity; the file is shown as it was spelled', () => {
  expect(at('A.txt')?.path).not.toBe(at('a.txt')?.path)
  // As on a file system that ignores case: .GIT is .git.
  symlinkSync('.git', join(repository, '.GIT'))
  expect(at('A.TXT')?.path).toBe(at('a.txt')?.path)
  expect(at('A.TXT')?.file).toBe('A.TXT')
  expect(at('caf\u00e9')?.path).toBe(at('cafe\u0301')?.path)
})

test('a directory is a tree, also outside of a checkout; a link to one and a file are not', () => {
  symlinkSync('sub', join(repository, 'also'))
  // In a checkout that ignores case they read otherwise.
  const isExact = (tree: string) => tree.includes(base)
  const trees = (...names: string[]) =>
    answerPathQuestion({ cwd: repository, files: [], trees: names }).trees.filter(isExact)
  expect(trees('sub', 'also', 'a.txt', 'none')).toEqual([join(repository, 'sub')])
  expect(trees('also/../sub/.', 'sub')).toEqual([join(repository, 'sub')])
  // What lies in another is asked for with it.
  expect(trees('sub', repository, base, base)).toEqual([base])
  expect(answerPathQuestion({ cwd: repository, files: [], trees: ['sub', '/'] }).trees).toEqual(['/'])
  expect(answerPathQuestion({ cwd: 'relative', files: ['a'], trees: ['sub'] })).toEqual({
    places: [null],
    trees: [],
    root: undefined,
  })
})
