// A repository that means harm: no program of its own runs when the relay makes, looks at or removes a worktree, and no link leads out.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { GitCommitReader } from '../../src/work/commits.ts'
import { Worktrees } from '../../src/work/worktrees.ts'
import { git, makeRepository, oursIn, write } from './repository-world.ts'

let root: string
let repository: string
let keeper: Worktrees
let traces: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-hostile-')))
  repository = join(root, 'repository')
  traces = join(root, 'traces')
  mkdirSync(traces)
  makeRepository(repository)
  const env = { PATH: `.:${process.env.PATH}`, HOME: root, GIT_DIR: '/nonexistent', GIT_TRACE: join(traces, 'trace') }
  keeper = new Worktrees({ env, dataDir: join(root, 'data') })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const ran = { worker: 'w1', hasRun: true }

async function make(name = 'Ann') {
  const planned = await keeper.plan({ name, directory: repository })
  const { signal } = new AbortController()
  const options = { worker: 'w1', cwd: planned.cwd, marker: {}, environment: {}, signal, onSetup: async () => {} }
  await keeper.make(planned.worktree, options)
  return planned.worktree
}

/** A program that leaves a trace. */
function trapFile(name: string): string {
  const path = join(root, `trap-${name}`)
  writeFileSync(path, `#!/bin/sh\ntouch ${shellQuote(join(traces, name))}\ncat\n`)
  chmodSync(path, 0o755)
  return path
}

/** The same as a command line: most of what git runs goes through a shell. */
function trap(name: string): string {
  return shellQuote(trapFile(name))
}

test('hooks, watchers, external diffs, text conversion, aliases, pagers and a git of its own do not run', async () => {
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-commit', 'post-merge']) {
    mkdirSync(join(repository, '.git', 'hooks'), { recursive: true })
    writeFileSync(join(repository, '.git', 'hooks', hook), `#!/bin/sh\ntouch ${shellQuote(join(traces, hook))}\n`)
    chmodSync(join(repository, '.git', 'hooks', hook), 0o755)
  }
  write(repository, 'git', `#!/bin/sh\ntouch ${shellQuote(join(traces, 'git'))}\n`)
  chmodSync(join(repository, 'git'), 0o755)
  write(repository, '.gitattributes', '* diff=trap\n')
  git(repository, 'add', '.')
  git(repository, '-c', 'core.hooksPath=/dev/null', 'commit', '-qm', 'traps')
  for (const key of [
    'core.fsmonitor',
    'diff.external',
    'diff.trap.command',
    'diff.trap.textconv',
    'core.pager',
    'core.editor',
  ])
    git(repository, 'config', key, trap(key))
  for (const alias of ['status', 'worktree', 'rev-parse'])
    git(repository, 'config', `alias.${alias}`, `!${trap(alias)}`)
  rmSync(traces, { recursive: true })
  mkdirSync(traces)
  const worktree = await make()
  writeFileSync(join(worktree.path, 'a.txt'), 'changed\n')
  expect((await keeper.changes(worktree))?.files).toEqual(['a.txt'])
  expect((await keeper.diff(worktree)).text).toContain('+changed')
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('1 file not committed')
  writeFileSync(join(worktree.path, 'a.txt'), 'one\n')
  expect(await keeper.removeIfClean(worktree, ran)).toEqual({})
  expect(readdirSync(traces)).toEqual([])
})

test('filters of the repository, of its submodules and of files that its configuration includes do not run', async () => {
  const library = join(root, 'library')
  makeRepository(library)
  write(library, '.gitattributes', '* filter=in diff=in\n')
  git(library, 'add', '.')
  git(library, 'commit', '-qm', 'attributes')
  write(repository, '.gitattributes', 'a.txt filter=a=b\nc.txt filter=inc\nsub/* filter=mine\n')
  git(repository, 'submodule', 'add', '-q', library, 'lib')
  git(repository, 'add', '.')
  git(repository, 'commit', '-qm', 'attributes')
  // The user's own filter, which the repository tries to replace.
  writeFileSync(join(root, '.gitconfig'), `[filter "mine"]\n\tclean = ${trap('users')}\n`)
  git(repository, 'config', 'filter.mine.clean', trap('replaced'))
  const set = (to: string, name: string) => {
    for (const key of ['clean', 'smudge']) git(to, 'config', `filter.${name}.${key}`, trap(`${name}.${key}`))
    git(to, 'config', `filter.${name}.required`, 'true')
  }
  const setTraps = () => {
    set(repository, 'a=b')
    write(repository, '.git/more', `[filter "inc"]\n\tprocess = ${trap('process')}\n`)
    git(repository, 'config', 'include.path', 'more')
    git(repository, 'config', 'diff.submodule', 'diff')
    set(join(repository, 'lib'), 'in')
    git(join(repository, 'lib'), 'config', 'diff.in.textconv', trap('textconv'))
  }
  const planned = await keeper.plan({ name: 'Ann', directory: repository })
  setTraps()
  await expect(make()).rejects.toThrow('its .git/config names the filter a=b, which does not run for a worker')
  write(repository, '.relay/config.json', JSON.stringify({ worktree: { submodules: ['lib'] } }))
  trustConfig(projectConfig(repository, join(root, 'data')) as ProjectConfigFile, join(root, 'data'))
  const { worktree, cwd } = planned
  const { signal } = new AbortController()
  await keeper.make(worktree, { ...ran, cwd, marker: {}, environment: {}, signal, onSetup: async () => {} })
  for (const name of ['a.txt', 'c.txt', 'sub/b.txt', 'lib/a.txt', 'lib/new.txt']) write(worktree.path, name, 'new\n')
  expect((await keeper.changes(worktree))?.files).toEqual(['a.txt', 'c.txt', 'lib', 'sub/b.txt'])
  const lib = join(worktree.path, 'lib')
  const head = git(lib, 'rev-parse', 'HEAD')
  git(lib, 'update-ref', '--no-deref', 'HEAD', 'HEAD~1')
  expect((await keeper.diff(worktree)).text).toContain('+Subproject commit')
  git(lib, 'update-ref', '--no-deref', 'HEAD', head)
  expect((await keeper.diff(worktree)).text).toContain('+new')
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('4 files not committed')
  for (const name of ['a.txt', 'c.txt', 'sub/b.txt'])
    write(worktree.path, name, { 'a.txt': 'one\n', 'c.txt': 'three\n', 'sub/b.txt': 'two\n' }[name] as string)
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('1 file not committed')
  write(worktree.path, 'lib/a.txt', 'one\n')
  rmSync(join(worktree.path, 'lib/new.txt'))
  expect(await keeper.removeIfClean(worktree, ran)).toEqual({})
  expect(readdirSync(traces)).toEqual(['users'])
})

test('a program that would fetch what the repository lacks does not run', async () => {
  const worktree = await make()
  for (const [key, value] of [
    ['core.repositoryFormatVersion', '1'],
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', `ext::${trap('fetch')}`],
    ['protocol.ext.allow', 'always'],
  ])
    git(repository, 'config', key as string, value as string)
  const blob = git(repository, 'rev-parse', 'HEAD:a.txt')
  rmSync(join(repository, '.git/objects', blob.slice(0, 2), blob.slice(2)))
  writeFileSync(join(worktree.path, 'a.txt'), 'changed\n')
  await expect(keeper.diff(worktree)).rejects.toThrow('git diff')
  expect(readdirSync(traces)).toEqual([])
})

test('a submodule that is a link to the worktree itself, or around it, is not followed', async () => {
  const worktree = await make()
  const head = git(repository, 'rev-parse', 'HEAD')
  for (const way of ['lib', 'up/Ann'])
    git(worktree.path, 'update-index', '--add', '--cacheinfo', `160000,${head},${way}`)
  symlinkSync('.', join(worktree.path, 'lib'))
  symlinkSync('..', join(worktree.path, 'up'))
  expect((await keeper.changes(worktree))?.files).toEqual(['lib', 'up', 'up/Ann'])
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('3 files not committed')
})

test('a link in place of .relay or its worktrees is refused, and nothing is made where it leads', async () => {
  const elsewhere = join(root, 'elsewhere')
  mkdirSync(elsewhere)
  symlinkSync(elsewhere, join(repository, '.relay'))
  await expect(make()).rejects.toThrow('this is a link')
  rmSync(join(repository, '.relay'))
  mkdirSync(join(repository, '.relay'))
  symlinkSync(elsewhere, join(repository, '.relay', 'worktrees'))
  await expect(make()).rejects.toThrow('this is a link')
  expect(readdirSync(elsewhere)).toEqual([])
})

test('a checkout that its configuration puts elsewhere, and a directory that poses as a repository, are refused', async () => {
  git(repository, 'config', 'core.worktree', root)
  await expect(make()).rejects.toThrow('There can be no worktree')
  git(repository, 'config', '--unset', 'core.worktree')
  const bare = join(repository, 'sub', 'bare')
  git(repository, 'init', '-q', '--bare', bare)
  git(bare, 'config', 'core.worktree', root)
  await expect(keeper.plan({ name: 'Ann', directory: bare })).rejects.toThrow('There can be no worktree')
  expect(existsSync(join(root, '.relay'))).toBe(false)
})

test('a file to copy that is a link, or leads out of the repository, is not copied', async () => {
  write(root, 'secret', 'private key')
  symlinkSync(join(root, 'secret'), join(repository, '.env'))
  const set = (copy: string[]) => {
    write(repository, '.relay/config.json', JSON.stringify({ worktree: { copy } }))
    trustConfig(projectConfig(repository, join(root, 'data')) as ProjectConfigFile, join(root, 'data'))
  }
  set(['.env'])
  await expect(make('Bob')).rejects.toThrow('.env')
  set(['../secret'])
  await expect(make('Cy')).rejects.toThrow('outside the repository')
  for (const path of oursIn(repository).listed) {
    const branch = git(path, 'branch', '--show-current')
    const base = git(repository, 'rev-parse', 'HEAD')
    expect(existsSync(join(path, '.env'))).toBe(false)
    expect(await keeper.removeIfClean({ repository, path, branch, base }, { worker: 'w1', hasRun: false })).toEqual({})
  }
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})

test("a copied file's folder that became a link: the file that it leads to is not taken away", async () => {
  write(repository, '.gitignore', 'conf\n')
  git(repository, 'add', '.gitignore')
  git(repository, 'commit', '-qm', 'ignored')
  write(repository, 'conf/.env', 'KEY=1\n')
  write(repository, '.relay/config.json', JSON.stringify({ worktree: { copy: ['conf/.env'] } }))
  trustConfig(projectConfig(repository, join(root, 'data')) as ProjectConfigFile, join(root, 'data'))
  const worktree = await make()
  rmSync(join(worktree.path, 'conf'), { recursive: true })
  symlinkSync(join(repository, 'conf'), join(worktree.path, 'conf'))
  expect((await keeper.removeIfClean(worktree, ran)).kept).toBe('1 file not committed')
  expect(readFileSync(join(repository, 'conf/.env'), 'utf8')).toBe('KEY=1\n')
  rmSync(join(worktree.path, 'conf'))
  expect(await keeper.removeIfClean(worktree, ran)).toEqual({})
})

test('a mark that a worker has written names no file outside its worktree', async () => {
  const worktree = await make()
  write(root, 'mine', 'private\n')
  const digest = createHash('sha256').update('private\n').digest('hex')
  const mark = join(git(worktree.path, 'rev-parse', '--absolute-git-dir'), 'agent-relay.json')
  const copied = { '../../../../mine': digest, 'a.txt': 7 }
  writeFileSync(mark, JSON.stringify({ ...JSON.parse(readFileSync(mark, 'utf8')), copied }))
  expect(await keeper.removeIfClean(worktree, ran)).toEqual({})
  expect(readFileSync(join(root, 'mine'), 'utf8')).toBe('private\n')
})

test('an index that nobody writes to holds up nothing', async () => {
  const worktree = await make()
  const index = join(git(worktree.path, 'rev-parse', '--absolute-git-dir'), 'index')
  rmSync(index)
  execFileSync('mkfifo', [index])
  await expect(keeper.diff(worktree)).rejects.toThrow('this is a FIFO, not a file')
  rmSync(index)
  const head = join(index, '../HEAD')
  rmSync(head)
  execFileSync('mkfifo', [head])
  expect((await keeper.removeIfClean(worktree, ran)).kept).toContain(`${head}: this is a FIFO, not a file`)
})

test.each([
  ...['HEAD', 'index', 'config', 'packed-refs', 'commondir', 'gitdir', 'shallow', 'config.worktree'],
  ...['info/exclude', 'info/attributes', 'info/sparse-checkout', 'objects/info/alternates', 'refs/heads/main'],
])('.git/%s as a FIFO, or as a link to a device, is refused by name before git waits for it', async (name) => {
  const path = join(repository, '.git', name)
  for (const make of [() => execFileSync('mkfifo', [path]), () => symlinkSync('/dev/zero', path)]) {
    rmSync(path, { force: true })
    mkdirSync(join(path, '..'), { recursive: true })
    make()
    await expect(keeper.plan({ name: 'Ann', directory: join(repository, 'sub') })).rejects.toMatchObject({
      refusal: {
        code: 'worktree.none',
        details: { why: expect.stringMatching(/ this is a (FIFO|device), not a file\. Remove it/) },
      },
      message: expect.stringContaining(path),
    })
  }
})

test('the same for the files of a worktree, whose .git is a file', async () => {
  const tree = join(root, 'tree')
  git(repository, 'worktree', 'add', '-q', tree)
  expect((await keeper.plan({ name: 'Ann', directory: tree })).worktree.repository).toBe(repository)
  const head = join(repository, '.git/worktrees/tree/HEAD')
  rmSync(head)
  execFileSync('mkfifo', [head])
  await expect(keeper.plan({ name: 'Ann', directory: tree })).rejects.toThrow(`${head}: this is a FIFO, not a file`)
})

test('at any other file git waits for ten seconds at most, and the refusal says what to look for', async () => {
  const id = git(repository, 'rev-parse', 'HEAD')
  const object = join(repository, '.git/objects', id.slice(0, 2), id.slice(2))
  rmSync(object)
  execFileSync('mkfifo', [object])
  await expect(keeper.plan({ name: 'Ann', directory: repository })).rejects.toMatchObject({
    refusal: { code: 'worktree.none', details: { why: expect.stringContaining('find .git -type p') } },
  })
})

test('work that git was told to overlook, a commit without a branch and an open rebase are work', async () => {
  const worktree = await make()
  const kept = async () => (await keeper.removeIfClean(worktree, ran)).kept
  git(worktree.path, 'update-index', '--assume-unchanged', 'a.txt')
  writeFileSync(join(worktree.path, 'a.txt'), 'hidden\n')
  expect(await kept()).toBe('1 file not committed')
  git(worktree.path, 'update-index', '--no-assume-unchanged', 'a.txt')
  git(worktree.path, 'checkout', '-q', 'a.txt')
  git(worktree.path, 'checkout', '-q', '--detach')
  git(worktree.path, 'commit', '-q', '--allow-empty', '-m', 'nowhere')
  expect(await kept()).toBe('1 commit')
  git(worktree.path, 'switch', '-q', '-c', 'mine')
  expect(await kept()).toBe('1 commit')
  git(worktree.path, 'reset', '-q', '--hard', worktree.base)
  expect(await kept()).toBeUndefined()
})

test('names that git would not take become branches that it takes', async () => {
  for (const [name, branch] of [
    ['a..b', 'relay/a-.b'],
    ['end.', 'relay/end-'],
    ['x.lock', 'relay/x-lock'],
  ])
    expect((await make(name)).branch).toBe(branch)
})

test('asking which claimed files were committed checks no signature, runs no merge driver and reads no order', async () => {
  const gpg = trapFile('gpg')
  git(repository, 'checkout', '-qb', 'side', 'HEAD~1')
  write(repository, 'c.txt', 'other\n')
  git(repository, 'add', '.')
  git(repository, 'commit', '-qm', 'side')
  git(repository, 'checkout', '-q', 'main')
  git(repository, 'merge', '-q', '-s', 'ours', '-m', 'both', 'side')
  // git writes a signed commit like this; the signer does not matter.
  const signed = git(repository, 'cat-file', 'commit', 'HEAD').replace(
    '\n\n',
    '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n',
  )
  write(root, 'commit', `${signed}\n`)
  const commit = git(repository, 'hash-object', '-t', 'commit', '-w', join(root, 'commit'))
  git(repository, 'update-ref', 'refs/heads/main', commit)
  write(repository, '.gitattributes', '* merge=trap\n')
  for (const [key, value] of [
    ['log.showSignature', 'true'],
    ['gpg.program', gpg],
    ['log.diffMerges', 'remerge'],
    ['merge.default', 'trap'],
    ['merge.trap.driver', trap('driver')],
    ['diff.orderFile', join(root, 'nothing')],
  ] as const)
    git(repository, 'config', key, value)
  const at = Date.now() + 10_000
  const claim = { root: repository, repository: join(repository, '.git'), agent: 'Ann', how: 'edit' as const, since: 0 }
  const claims = ['a.txt', 'none.txt'].map((file) => {
    return { ...claim, file, path: join(repository, file), editedAt: Date.now() - 60_000, until: at }
  })
  const found = await new GitCommitReader({ PATH: process.env.PATH, HOME: root }).findCommitted(claims, {
    at,
    ms: 60_000,
  })
  expect(found.map(({ file }) => file)).toEqual(['a.txt'])
  expect(readdirSync(traces)).toEqual([])
  // The trap does snap where nothing keeps it from it.
  git(repository, 'config', '--unset', 'diff.orderFile')
  git(repository, 'log', '-1', '--format=%ct')
  expect(readdirSync(traces)).toContain('gpg')
})
