// Nothing is removed or written that is not ours: whatever worktree a row names, whatever links a worker puts in the way, whatever changes places
// meanwhile, and wherever a removal is cut off.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import type { Worktree } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { guardMs } from '../../../../test/guard.ts'
import { sized } from '../../../../test/size.ts'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { Worktrees } from '../../src/work/worktrees.ts'
import { git, leaveWork, makeRepository, oursIn, personsWork, write } from './repository-world.ts'

let root: string
let repository: string
let home: string
let elsewhere: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-removal-')))
  repository = join(root, 'around', 'repository')
  home = join(repository, '.relay', 'worktrees')
  elsewhere = join(root, 'elsewhere')
  makeRepository(repository)
  // A worktree's name in a folder that has nothing to do with us.
  write(elsewhere, 'Ann/mine.txt', 'mine\n')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const ran = { worker: 'w1', hasRun: true }
const never = { worker: 'w1', hasRun: false }

function newKeeper(path = process.env.PATH): Worktrees {
  return new Worktrees({ env: { PATH: path, HOME: root }, dataDir: join(root, 'data') })
}

async function make(keeper = newKeeper(), worker = 'w1'): Promise<Worktree> {
  const { worktree, cwd } = await keeper.plan({ name: 'Ann', directory: repository })
  const { signal } = new AbortController()
  const environment = { PATH: process.env.PATH ?? '' }
  await keeper.make(worktree, { worker, cwd, marker: {}, environment, signal, onSetup: async () => {} })
  return worktree
}

function configure(worktree: object): void {
  write(repository, '.relay/config.json', JSON.stringify({ worktree }))
  trustConfig(projectConfig(repository, join(root, 'data')) as ProjectConfigFile, join(root, 'data'))
}

/** Every way in which a worktree ends, and what each says. */
async function allEnds(worktree: Worktree): Promise<(string | undefined)[]> {
  const keeper = newKeeper()
  const said: (string | undefined)[] = []
  for (const by of [ran, never])
    for (const end of [keeper.removeIfClean(worktree, by), keeper.discard(worktree, by)]) said.push((await end).kept)
  return said
}

const contentOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .map((entry) => [
      entry.parentPath,
      entry.name,
      entry.isFile() && readFileSync(join(entry.parentPath, entry.name), 'utf8'),
    ])
    .sort()

describe('a row that names as its worktree', () => {
  const rows: [what: string, row: () => Partial<Worktree>, why: string][] = [
    ['the main checkout', () => ({ path: repository, branch: 'main' }), 'where worktrees of workers are'],
    ['the main checkout, as if on a branch of ours', () => ({ path: repository }), 'where worktrees of workers are'],
    ['what is around the repository', () => ({ path: join(root, 'around') }), 'where worktrees of workers are'],
    [
      'the folder of the worktrees',
      () => ({ path: home, branch: 'relay/worktrees' }),
      'where worktrees of workers are',
    ],
    [
      'a path with ..',
      () => ({ path: `${home}/../../../repository`, branch: 'relay/repository' }),
      'where worktrees of workers are',
    ],
    ['the folder above', () => ({ path: `${home}/..`, branch: 'relay/..' }), 'where worktrees of workers are'],
    ['a folder elsewhere', () => ({ path: join(elsewhere, 'Ann') }), 'where worktrees of workers are'],
    [
      "a person's worktree elsewhere",
      () => ({ path: join(root, 'own'), branch: 'relay/own' }),
      'where worktrees of workers are',
    ],
    [
      "a person's worktree among ours",
      () => ({ path: join(home, 'own'), branch: 'relay/own' }),
      'not made for this worker',
    ],
    [
      "a person's folder among ours",
      () => ({ path: join(home, 'notes'), branch: 'relay/notes' }),
      'git does not know it',
    ],
    ['another branch', () => ({ path: join(home, 'Ann'), branch: 'done' }), 'on a branch of its name'],
    [
      'a checkout as the repository that is not the main one',
      () => ({ repository: join(root, 'own') }),
      'not the main',
    ],
    [
      'something in no repository',
      () => ({ repository: elsewhere, path: join(elsewhere, '.relay/worktrees/Ann') }),
      'in no',
    ],
  ]
  test.each(rows)('%s removes nothing', async (what, row, why) => {
    leaveWork(repository)
    git(repository, 'branch', 'done')
    const own = what.endsWith('among ours') ? join(home, 'own') : join(root, 'own')
    git(repository, 'worktree', 'add', '-q', '-b', 'relay/own', own)
    write(own, 'draft.txt', 'not committed\n')
    write(home, 'notes/todo.txt', 'mine\n')
    const before = [personsWork(repository), contentOf(root), oursIn(repository)]
    const base = git(repository, 'rev-parse', 'HEAD')
    const worktree = { repository, path: join(root, 'own/.relay/worktrees/Ann'), branch: 'relay/Ann', base, ...row() }
    const said = await allEnds(worktree)
    expect(said).toEqual(Array(4).fill(expect.stringContaining(why)))
    expect([personsWork(repository), contentOf(root), oursIn(repository)]).toEqual(before)
  })

  test('that of another worker removes nothing of it', async () => {
    const worktree = await make(newKeeper(), 'w2')
    write(worktree.path, 'draft.txt', 'not committed\n')
    await allEnds(worktree)
    expect(readFileSync(join(worktree.path, 'draft.txt'), 'utf8')).toBe('not committed\n')
    expect(oursIn(repository).branches).toEqual(['relay/Ann'])
  })

  test('one that holds another checkout removes neither', async () => {
    const worktree = await make()
    git(worktree.path, 'worktree', 'add', '-q', '-b', 'inner', 'build/inner')
    expect(await allEnds(worktree)).toEqual(Array(4).fill(expect.stringContaining('build/inner, which is not its own')))
    expect(existsSync(join(worktree.path, 'build/inner/a.txt'))).toBe(true)
  })
})

describe('a worker that puts a link', () => {
  const linked: [what: string, put: (worktree: Worktree) => void, why: string][] = [
    [
      'in the place of the folder of the worktrees',
      () => {
        renameSync(home, join(root, 'moved'))
        symlinkSync(elsewhere, home)
      },
      'is a link, or is reached by one',
    ],
    [
      'in the place of .relay',
      () => {
        renameSync(join(repository, '.relay'), join(root, 'moved'))
        mkdirSync(join(root, 'other'))
        renameSync(elsewhere, join(root, 'other/worktrees'))
        elsewhere = join(root, 'other/worktrees')
        symlinkSync(join(root, 'other'), join(repository, '.relay'))
      },
      'is a link, or is reached by one',
    ],
    [
      'in the place of its worktree',
      ({ path }) => {
        renameSync(path, join(root, 'moved'))
        symlinkSync(join(elsewhere, 'Ann'), path)
      },
      'a link is in its place',
    ],
    [
      'to its worktree, which it has moved elsewhere',
      ({ path }) => {
        renameSync(path, join(elsewhere, 'moved'))
        symlinkSync(join(elsewhere, 'moved'), path)
      },
      'a link is in its place',
    ],
    [
      'in the place of its .git',
      ({ path }) => {
        renameSync(join(path, '.git'), join(elsewhere, 'git'))
        symlinkSync(join(elsewhere, 'git'), join(path, '.git'))
      },
      'its file .git does not name',
    ],
  ]
  test.each(linked)('%s: nothing is removed or written where it leads', async (_, put, why) => {
    const worktree = await make()
    put(worktree)
    const before = contentOf(elsewhere)
    expect(await allEnds(worktree)).toEqual(Array(4).fill(expect.stringContaining(why)))
    expect(contentOf(elsewhere)).toEqual(before)
  })

  test('inside of it, also in the place of a submodule or of git’s folder about that: only the links go', async () => {
    const library = join(root, 'library')
    makeRepository(library)
    git(repository, 'submodule', 'add', '-q', library, 'deep/lib')
    git(repository, 'commit', '-qm', 'lib')
    write(repository, 'deep/lib/draft.txt', 'not committed\n')
    configure({ submodules: ['deep/lib'] })
    const worktree = await make()
    const records = join(repository, '.git/modules/deep/lib/worktrees')
    renameSync(join(records, 'lib'), join(elsewhere, 'record'))
    symlinkSync(join(elsewhere, 'record'), join(records, 'lib'))
    rmSync(join(worktree.path, 'deep'), { recursive: true })
    symlinkSync(join(repository, 'deep'), join(worktree.path, 'deep'))
    symlinkSync(elsewhere, join(worktree.path, 'build'))
    const before = contentOf(elsewhere)
    expect((await newKeeper().removeIfClean(worktree, ran)).kept).toContain('not committed')
    expect(await newKeeper().discard(worktree, ran)).toEqual({})
    expect(contentOf(elsewhere)).toEqual(before)
    expect(readFileSync(join(repository, 'deep/lib/draft.txt'), 'utf8')).toBe('not committed\n')
    expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
  })

  test('in the place of the folder that a file is copied into: nothing is written where it leads', async () => {
    write(repository, '.env', 'KEY=1\n')
    write(repository, 'conf/.env', 'KEY=1\n')
    write(repository, '.gitignore', 'conf\n.env\n')
    symlinkSync(elsewhere, join(repository, 'out'))
    git(repository, 'add', '.')
    git(repository, 'commit', '-qm', 'a link')
    rmSync(join(repository, 'out'))
    write(repository, 'out/.env', 'KEY=1\n')
    configure({ copy: ['.env', 'conf/.env', 'out/.env'] })
    const before = contentOf(elsewhere)
    await expect(make()).rejects.toThrow('is a link, or is reached by one')
    expect(contentOf(elsewhere)).toEqual(before)
  })
})

describe('what changes places while it is looked at', () => {
  /** A git that, as its call number `at`, first runs the script. */
  function keeperThatSwaps(at: number, script: string): Worktrees {
    const folder = join(root, `git-${at}`)
    const calls = shellQuote(join(folder, 'calls'))
    const swap = `[ $(wc -l < ${calls}) -ne ${at} ] || { ${script}; }`
    write(folder, 'git', `#!/bin/sh\necho >> ${calls}\n${swap}\nPATH=\${PATH#*:} exec git "$@"\n`)
    chmodSync(join(folder, 'git'), 0o755)
    return newKeeper(`${folder}:${process.env.PATH}`)
  }

  const calls = Array.from({ length: sized(3, 32) }, (_, n) => 1 + n * sized(12, 1))
  test.each([
    ['the folder of the worktrees', () => `mv ${home} ${root}/moved; ln -s ${elsewhere} ${home}`],
    ['the worktree', () => `mv ${home}/Ann ${root}/moved; ln -s ${elsewhere}/Ann ${home}/Ann`],
    [
      'the worktree, by a folder that is not one',
      () => `mv ${home}/Ann ${root}/moved; mv ${elsewhere}/Ann ${home}/Ann`,
    ],
  ])('%s: what stands there now stays', { timeout: sized(2, 10) * guardMs }, async (_, script) => {
    for (const at of calls) {
      const worktree = await make()
      await keeperThatSwaps(at, script()).discard(worktree, ran)
      const stands = [join(elsewhere, 'Ann'), join(home, 'Ann')].find((path) => existsSync(join(path, 'mine.txt')))
      expect(stands && readdirSync(stands), `at call ${at}`).toEqual(['mine.txt'])
      // Restores the folder for the next one.
      if (stands !== join(elsewhere, 'Ann')) renameSync(stands as string, join(elsewhere, 'Ann'))
      if (lstatSync(home).isSymbolicLink()) rmSync(home)
      for (const folder of [home, join(root, 'moved')]) rmSync(folder, { recursive: true, force: true })
      git(repository, 'worktree', 'prune')
      if (oursIn(repository).branches.length > 0) git(repository, 'branch', '-qD', 'relay/Ann')
    }
  })

  test('links and folders that another process swaps without a pause lead to no loss', async () => {
    const worktree = await make()
    const swapping = join(root, 'swapping')
    const loop = `while [ -e ${swapping} ]; do mv ${home} ${root}/moved && ln -s ${elsewhere} ${home}; rm ${home} && mv ${root}/moved ${home}; done`
    write(root, 'swapping', '')
    const child = spawn('sh', ['-c', loop], { stdio: 'ignore' })
    const before = contentOf(elsewhere)
    try {
      for (let n = 0; n < sized(3, 100); n++) await newKeeper().discard(worktree, ran)
      expect(contentOf(elsewhere)).toEqual(before)
    } finally {
      rmSync(swapping)
      await once(child, 'exit')
    }
  })
})

describe('a removal that was cut off', () => {
  /** Leaves the worktree in a process of its own, which is killed as it makes, moves or removes something for the `at`th time. True where it came to its end before. */
  function killedAt(at: number, worktree: Worktree, by = ran): boolean {
    const module = pathToFileURL(join(import.meta.dirname, '../../dist/work/worktrees.js')).href
    const script = `
      import fs from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      let count = 0
      for (const [from, names] of [[fs, ['mkdirSync', 'renameSync', 'rmdirSync', 'rmSync']], [fs.promises, ['unlink', 'rmdir']]])
        for (const name of names) {
          const real = from[name]
          from[name] = (...args) => (++count === ${at} ? process.kill(process.pid, 'SIGKILL') : real(...args))
        }
      syncBuiltinESMExports()
      const { Worktrees } = await import(${JSON.stringify(module)})
      const keeper = new Worktrees({ env: process.env, dataDir: ${JSON.stringify(join(root, 'data'))} })
      console.log(JSON.stringify(await keeper.removeIfClean(${JSON.stringify(worktree)}, ${JSON.stringify(by)})))`
    const env = { PATH: process.env.PATH, HOME: root }
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' })
    expect(child.stderr).toBe('')
    if (child.signal === null) expect(JSON.parse(child.stdout)).toEqual({})
    return child.signal === null
  }

  test('is ended by the next one, wherever that was', { timeout: sized(2, 10) * guardMs }, async () => {
    leaveWork(repository)
    const before = personsWork(repository)
    let isWhole = false
    for (let at = 1; !isWhole; at += sized(9, 1)) {
      const worktree = await make()
      isWhole = killedAt(at, worktree)
      expect(await newKeeper().removeIfClean(worktree, ran), `at step ${at}`).toEqual({})
      expect(oursIn(repository), `at step ${at}`).toEqual({ paths: [], branches: [], listed: [] })
      expect(readdirSync(join(repository, '.git/worktrees')), `at step ${at}`).toEqual([])
    }
    expect(personsWork(repository)).toEqual(before)
  })

  test('before what it moved was looked at: it comes back, with work that came meanwhile', async () => {
    const worktree = await make()
    const aside = join(home, `.looking-${lstatSync(worktree.path).ino}`)
    mkdirSync(aside, { mode: 0o700 })
    renameSync(worktree.path, join(aside, 'Ann'))
    write(join(aside, 'Ann'), 'new.txt', 'work\n')
    expect((await newKeeper().removeIfClean(worktree, ran)).kept).toBe('1 file not committed')
    expect(readFileSync(join(worktree.path, 'new.txt'), 'utf8')).toBe('work\n')
    expect(existsSync(aside)).toBe(false)
  })

  test('is not taken up where somebody else has made such a folder', async () => {
    for (const [n, name] of ['.removed-1', '.looking-1', '.removed-x'].entries()) {
      write(home, `${name}/Ann/mine.txt`, 'mine\n')
      chmodSync(join(home, name), n === 1 ? 0o755 : 0o700)
    }
    symlinkSync(elsewhere, join(home, `.removed-${lstatSync(join(elsewhere, 'Ann')).ino}`))
    const before = [contentOf(elsewhere), contentOf(home)]
    const worktree = await make()
    expect(await newKeeper().removeIfClean(worktree, ran)).toEqual({})
    expect([contentOf(elsewhere), contentOf(home).filter(([, name]) => name !== '.gitignore')]).toEqual(before)
  })
})

test('work that comes while it is moved away brings it back', async () => {
  const folder = join(root, 'late')
  // The second look is at the place to which it was moved.
  const late = `case "$*" in *.looking-*status*) echo late > "$2/late.txt";; esac`
  write(folder, 'git', `#!/bin/sh\n${late}\nPATH=\${PATH#*:} exec git "$@"\n`)
  chmodSync(join(folder, 'git'), 0o755)
  const worktree = await make()
  expect((await newKeeper(`${folder}:${process.env.PATH}`).removeIfClean(worktree, ran)).kept).toBe(
    'somebody has just changed it',
  )
  expect(readFileSync(join(worktree.path, 'late.txt'), 'utf8')).toBe('late\n')
})

test('names that are no text and folders that may not be written are removed all the same', async () => {
  const worktree = await make()
  mkdirSync(join(worktree.path, 'build/closed'), { recursive: true })
  writeFileSync(Buffer.concat([Buffer.from(`${worktree.path}/build/closed/`), Buffer.from([0xff, 0xfe])]), '')
  chmodSync(join(worktree.path, 'build/closed'), 0o555)
  expect(await newKeeper().removeIfClean(worktree, ran)).toEqual({})
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})

test('a directory of its own for worktrees counts while its configuration is trusted', async () => {
  configure({ directory: '../worktrees' })
  const worktree = await make()
  expect(worktree.path).toBe(join(root, 'around/worktrees/Ann'))
  write(repository, '.relay/config.json', JSON.stringify({ worktree: { directory: '../worktrees', copy: ['.env'] } }))
  expect((await newKeeper().removeIfClean(worktree, ran)).kept).toContain('where worktrees of workers are')
  expect(existsSync(worktree.path)).toBe(true)
  configure({ directory: '../worktrees' })
  expect(await newKeeper().removeIfClean(worktree, ran)).toEqual({})
  expect(existsSync(worktree.path)).toBe(false)
  // The configuration may not lead to the repository itself.
  configure({ directory: '..' })
  leaveWork(repository)
  const before = personsWork(repository)
  const { path: _, ...rest } = worktree
  for (const path of [repository, join(root, 'around')])
    expect(await allEnds({ ...rest, path, branch: 'relay/repository' })).not.toContain(undefined)
  expect(personsWork(repository)).toEqual(before)
})
