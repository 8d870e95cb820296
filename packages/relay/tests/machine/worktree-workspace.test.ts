// The workspace of a linked git worktree: that of its repository, if the repository's own record leads back to the worktree. Real repositories, and planted files.

import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProjectConfig, repositoryDirectory } from '@agent-relay/sdk/internal/discover'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { chooseProject } from '../../src/machine/config.ts'
import { projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { git, makeRepository, write } from '../work/repository-world.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'relay-worktree-')))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0
let place: string
let shop: string
let tree: string
beforeEach(() => {
  place = join(base, String(++count))
  shop = join(place, 'code', 'shop')
  tree = join(place, 'elsewhere', 'fix')
  makeRepository(shop)
  git(shop, 'worktree', 'add', '-q', tree)
  configure(shop, { project: 'shop' })
})

function configure(directory: string, config: object): void {
  write(directory, '.relay/config.json', JSON.stringify(config))
}

const recordOf = (name: string) => join(shop, '.git', 'worktrees', name)
const workspaceOf = (directory: string) => findProjectConfig(directory)?.project

test('a worktree belongs to the workspace of its repository, in every directory of it and by every way to it', () => {
  expect(repositoryDirectory(tree)).toBe(shop)
  expect(workspaceOf(tree)).toBe('shop')
  expect(workspaceOf(join(tree, 'sub'))).toBe('shop')
  symlinkSync(tree, join(place, 'way'))
  expect(workspaceOf(join(place, 'way'))).toBe('shop')
  expect(repositoryDirectory(shop)).toBeUndefined()
  expect(repositoryDirectory(join(tree, 'sub'))).toBeUndefined()
})

test('the nearer file counts: that of the worktree itself, then that of its repository, then those above the worktree', () => {
  configure(join(place, 'elsewhere'), { project: 'outer' })
  expect(workspaceOf(tree)).toBe('shop')
  configure(tree, { project: 'own' })
  expect(workspaceOf(tree)).toBe('own')
  rmSync(join(tree, '.relay'), { recursive: true })
  rmSync(join(shop, '.relay'), { recursive: true })
  expect(workspaceOf(tree)).toBe('outer')
  configure(join(place, 'code'), { project: 'all-code' })
  expect(workspaceOf(tree)).toBe('all-code')
})

test('a file that cannot be understood is refused for the worktree as for the repository', () => {
  write(shop, '.relay/config.json', '{ broken')
  expect(() => workspaceOf(tree)).toThrow(join(shop, '.relay', 'config.json'))
})

test("the settings of the repository count in its worktrees, and trust is given to the repository's file once", () => {
  const data = join(place, 'data')
  configure(shop, { project: 'shop', worktree: { setup: ['make'] } })
  const file = projectConfig(tree, data)
  expect(file).toMatchObject({ path: join(shop, '.relay', 'config.json'), directory: shop, isTrusted: false })
  trustConfig(file as { path: string; sha256: string }, data)
  expect(projectConfig(tree, data)?.isTrusted).toBe(true)
  expect(projectConfig(shop, data)?.isTrusted).toBe(true)
})

test('a new workspace that is made in a worktree is the one of its repository', () => {
  rmSync(join(shop, '.relay'), { recursive: true })
  const env = { HOME: join(place, 'home'), RELAY_DATA_DIR: join(place, 'data') }
  expect(chooseProject(tree, env)).toEqual({ project: 'shop', directory: shop })
  expect(chooseProject(shop, env)).toEqual({ project: 'shop', directory: shop })
  // A repository whose files are the home directory itself, as some keep their settings, gets no workspace of its own.
  expect(chooseProject(tree, { ...env, HOME: shop })).toEqual({ project: 'home' })
})

test('paths that git wrote relative lead to the repository too', () => {
  writeFileSync(join(tree, '.git'), 'gitdir: ../../code/shop/.git/worktrees/fix\n')
  writeFileSync(join(recordOf('fix'), 'gitdir'), '../../../../../elsewhere/fix/.git\n')
  expect(workspaceOf(tree)).toBe('shop')
  symlinkSync(tree, join(place, 'way'))
  expect(workspaceOf(join(place, 'way'))).toBe('shop')
  writeFileSync(join(recordOf('fix'), 'gitdir'), '../../../../elsewhere/fix/.git\n')
  expect(workspaceOf(tree)).toBeUndefined()
})

test('a worktree that was moved or copied belongs to nobody until git repairs it', () => {
  const moved = join(place, 'moved')
  renameSync(tree, moved)
  expect(workspaceOf(moved)).toBeUndefined()
  git(shop, 'worktree', 'repair', moved)
  expect(workspaceOf(moved)).toBe('shop')
})

test.each([
  ['the record of another worktree', () => `gitdir: ${recordOf('other')}`],
  ['a record that does not exist', () => `gitdir: ${recordOf('none')}`],
  ['the .git directory of a repository', () => `gitdir: ${join(shop, '.git')}`],
  ['the folder of all records', () => `gitdir: ${join(shop, '.git', 'worktrees')}`],
  ['a record below a record', () => `gitdir: ${join(recordOf('other'), 'worktrees', 'x')}`],
  ['a file', () => `gitdir: ${join(shop, 'a.txt')}`],
  ['itself', () => 'gitdir: .git'],
  ['the root directory', () => 'gitdir: /'],
  ['nothing', () => 'gitdir: '],
  ['two records', () => `gitdir: ${recordOf('other')}\ngitdir: ${recordOf('other')}`],
  ['a path with a NUL', () => `gitdir: ${recordOf('other')}\0`],
  ['a text of another kind', () => recordOf('other')],
  ['a text that is far too long', () => `gitdir: ${'/x'.repeat(20_000)}`],
])('a planted .git file that names %s leads nowhere', (_, text) => {
  git(shop, 'worktree', 'add', '-q', join(place, 'elsewhere', 'other'))
  const planted = join(place, 'planted')
  write(planted, '.git', text())
  expect(repositoryDirectory(planted)).toBeUndefined()
  expect(workspaceOf(planted)).toBeUndefined()
})

test.each(['', '\n', '/\n', 'fix/.git\n', '/etc/passwd\n', '../../..\n'])(
  'a record that says %j instead of the way back does not count',
  (text) => {
    writeFileSync(join(recordOf('fix'), 'gitdir'), text)
    expect(workspaceOf(tree)).toBeUndefined()
  },
)

test('a record without the way back, and one whose way back is a directory, do not count', () => {
  rmSync(join(recordOf('fix'), 'gitdir'))
  expect(workspaceOf(tree)).toBeUndefined()
  mkdirSync(join(recordOf('fix'), 'gitdir'))
  expect(workspaceOf(tree)).toBeUndefined()
})

test('links in place of any of the files are not followed', () => {
  const swap = (path: string) => {
    const real = join(place, 'real')
    renameSync(path, real)
    symlinkSync(real, path)
    expect(workspaceOf(tree)).toBeUndefined()
    rmSync(path)
    renameSync(real, path)
    expect(workspaceOf(tree)).toBe('shop')
  }
  swap(join(tree, '.git'))
  swap(join(recordOf('fix'), 'gitdir'))
  swap(recordOf('fix'))
  swap(join(shop, '.git', 'worktrees'))
  swap(join(shop, '.git'))
})

test.runIf(process.getuid?.() === 0)('files of another user do not count', () => {
  for (const file of [join(tree, '.git'), join(recordOf('fix'), 'gitdir')]) {
    chownSync(file, 65_534, 65_534)
    expect(workspaceOf(tree)).toBeUndefined()
    chownSync(file, 0, 0)
    expect(workspaceOf(tree)).toBe('shop')
  }
})

test('a submodule is no worktree of the repository around it, and a worktree of a bare repository has none', () => {
  const outer = join(place, 'outer')
  makeRepository(outer)
  git(outer, 'submodule', '--quiet', 'add', shop, 'part')
  expect(readFileSync(join(outer, 'part', '.git'), 'utf8')).toMatch(/^gitdir: /)
  expect(repositoryDirectory(join(outer, 'part'))).toBeUndefined()
  const ofPart = join(place, 'of-part')
  git(join(outer, 'part'), 'worktree', 'add', '-q', ofPart)
  expect(repositoryDirectory(ofPart)).toBeUndefined()
  const bare = join(place, 'bare.git')
  git(place, 'clone', '-q', '--bare', shop, bare)
  const ofBare = join(place, 'of-bare')
  git(bare, 'worktree', 'add', '-q', ofBare)
  expect(repositoryDirectory(ofBare)).toBeUndefined()
})

test('worktrees of two repositories that lie inside each other are looked through once', () => {
  rmSync(join(shop, '.relay'), { recursive: true })
  const other = join(tree, 'other')
  makeRepository(other)
  const inShop = join(shop, 'in-shop')
  git(other, 'worktree', 'add', '-q', inShop)
  expect(workspaceOf(inShop)).toBeUndefined()
  configure(shop, { project: 'shop' })
  expect(workspaceOf(inShop)).toBe('shop')
})
