// Questions to git about claimed files: one look at a checkout at a time, shared by everybody who asks, and none that hangs for long.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import type { ClaimRow } from '../../src/core/view.ts'
import { GitCommitReader } from '../../src/work/commits.ts'
import { git, makeRepository, write } from './repository-world.ts'

let root: string
let repository: string
let log: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-commits-')))
  repository = join(root, 'repository')
  log = join(root, 'log')
  makeRepository(repository)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A git that writes down who it is, and does this before it goes on as the real one. */
function commitsWith(script: string, options?: { lookMs: number }): GitCommitReader {
  const folder = join(root, 'bin')
  mkdirSync(folder)
  writeFileSync(join(folder, 'git'), `#!/bin/sh\necho $$ >> '${log}'\n${script}\nPATH=\${PATH#*:} exec git "$@"\n`)
  chmodSync(join(folder, 'git'), 0o755)
  return new GitCommitReader({ PATH: `${folder}:${process.env.PATH}`, HOME: root }, options)
}

const started = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : [])
const claim = (file: string, top = repository): ClaimRow => {
  const [editedAt, until] = [Date.now() - 60_000, Date.now() + 60_000]
  const place = { path: join(top, file), root: top, file, repository: join(top, '.git') }
  return { ...place, agent: 'Ann', how: 'edit', since: editedAt, editedAt, until }
}
const asked = (commits: GitCommitReader, claims: ClaimRow[], ms = 60_000) =>
  commits.findCommitted(claims, { at: Date.now(), ms })
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a git that hangs is killed, and meanwhile no second one is started for its checkout', async () => {
  const commits = commitsWith('exec sleep 600', { lookMs: 1_000 })
  const claims = [claim('a.txt')]
  for (let n = 0; n < 20; n++) expect(await asked(commits, claims, 1)).toEqual([])
  // Other files wait for the one that is there; everybody who waits longer than it lives has an answer.
  expect(await Promise.all([asked(commits, claims), asked(commits, claims)])).toEqual([[], []])
  expect(started()).toHaveLength(1)
  const [pid] = started()
  await until(() => !isThere(pid as number))
})

test('what was found is shared for a moment, also with those who ask about less', async () => {
  const commits = commitsWith('')
  const claims = [claim('a.txt'), claim('none.txt')]
  write(repository, 'a.txt', 'changed\n')
  git(repository, 'commit', '-qam', 'mine')
  const [first, second] = await Promise.all([asked(commits, claims), asked(commits, claims)])
  expect(first.map(({ file }) => file)).toEqual(['a.txt'])
  expect(second).toEqual(first)
  const count = started().length
  const [a, none] = claims as [ClaimRow, ClaimRow]
  const later = await asked(commits, [none])
  // A busy machine may have taken longer than the moment.
  if (started().length === count) expect(later).toEqual([])
  // An edit since is another question; and in the end it is forgotten.
  const edited = { ...a, editedAt: Date.now() + 5_000 }
  expect(await asked(commits, [edited])).toEqual([])
  const before = started().length
  await until(async () => {
    await asked(commits, [edited])
    return started().length > before
  })
})

test('while it looks at many checkouts it looks at no more', async () => {
  const commits = commitsWith('exec sleep 600', { lookMs: 1_000 })
  const many = Array.from({ length: 40 }, (_, n) => claim('a.txt', join(root, `r${n}`)))
  for (const each of many) mkdirSync(each.root)
  expect(await asked(commits, many, 100)).toEqual([])
  // Four at once.
  expect(started().length).toBeLessThanOrEqual(4)
  expect(await asked(commits, many)).toEqual([])
  await until(() => started().every((pid) => !isThere(pid)))
})
