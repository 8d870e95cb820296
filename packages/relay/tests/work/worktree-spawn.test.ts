// A worker in a worktree of its own, with a real daemon, real git and real processes: it is made, worked in, and goes unless it holds work.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { WorkerWorld } from '../supervisor/worker-world.ts'
import { git, leaveWork, makeRepository, oursIn, personsWork, write } from './repository-world.ts'

let world: WorkerWorld
let repository: string
let count = 0
beforeAll(async () => {
  world = await WorkerWorld.start()
})
afterAll(() => world.stop())
beforeEach(() => {
  repository = join(world.root, `repository-${++count}`)
  makeRepository(repository)
})

const spawn = (name: string, script = 'sleep 100', more: object = {}) =>
  world.lead.call('worker.spawn', {
    ...{ name, cli: 'plain', command: ['sh', '-c', script], cwd: repository, worktree: true },
    ...more,
  })
const release = async (name: string) => (await world.lead.call('worker.release', { name })).worker

test('a worker works on its own branch from HEAD; without work its worktree goes with it', async () => {
  leaveWork(repository)
  const before = personsWork(repository)
  const { worker, note } = await spawn('Ann', 'pwd > build-place; sleep 100', { cwd: join(repository, 'sub') })
  const path = join(repository, '.relay', 'worktrees', 'Ann')
  expect(worker.cwd).toBe(join(path, 'sub'))
  expect(worker.worktree).toEqual({
    ...{ repository, path, branch: 'relay/Ann', base: git(repository, 'rev-parse', 'HEAD'), onto: 'main' },
  })
  expect(note).toContain('3 files not committed, and not in it')
  expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n')
  expect(git(path, 'branch', '--show-current')).toBe('relay/Ann')
  await until(() => existsSync(join(path, 'sub', 'build-place')))
  git(path, 'clean', '-fdq')
  expect(personsWork(repository)).toEqual(before)
  expect(git(repository, 'status', '--porcelain')).not.toContain('.relay')
  const released = await release('Ann')
  expect(released.worktree).toBeUndefined()
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
  expect(personsWork(repository)).toEqual(before)
})

test('a worktree that holds work is kept, told, shown, and removed only when it is merged or a person says so', async () => {
  await spawn('Ben', 'echo new > new.txt; sleep 100')
  const path = join(repository, '.relay', 'worktrees', 'Ben')
  await until(() => existsSync(join(path, 'new.txt')))
  const kept = await release('Ben')
  expect(kept.worktree?.path).toBe(path)
  expect((await world.told('Ben')).at(-1)).toContain(
    `Its work is on branch relay/Ben, in ${path}: 1 file not committed.`,
  )
  const [shown] = (await world.lead.call('worker.changes', { name: 'Ben' })).workers
  expect(shown?.changes).toMatchObject({ ahead: 0, behind: 0, files: ['new.txt'], uncommittedCount: 1, unmerged: 0 })
  const { text } = await world.lead.call('worker.diff', { name: 'Ben' })
  expect(text).toContain('+++ b/new.txt')
  expect(git(path, 'status', '--porcelain')).toBe('?? new.txt')
  const swept = await world.lead.call('worker.sweep', {})
  expect(swept.removed).toEqual([])
  expect(swept.kept.map(({ name, why }) => [name, why])).toEqual([['Ben', '1 file not committed']])
  await expect(world.lead.call('worker.sweep', { name: 'Ben', discard: true })).rejects.toThrow('Only a person')
  // Committed, and so in git, but on no other branch: kept. Merged: gone.
  git(path, 'add', '.')
  git(path, 'commit', '-qm', 'work')
  expect((await world.lead.call('worker.sweep', { name: 'Ben' })).kept[0]?.why).toBe('1 commit')
  git(repository, 'merge', '-q', 'relay/Ben')
  expect((await world.lead.call('worker.sweep', {})).removed.map(({ name }) => name)).toEqual(['Ben'])
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
  await expect(world.lead.call('worker.diff', { name: 'Ben' })).rejects.toThrow('No worker "Ben" has a worktree')
})

test('the same name again gets the next free branch', async () => {
  git(repository, 'branch', 'relay/Cy')
  expect((await spawn('Cy', 'echo x > x; sleep 100')).worker.worktree?.branch).toBe('relay/Cy-2')
  await until(() => existsSync(join(repository, '.relay/worktrees/Cy-2/x')))
  await release('Cy')
  expect((await spawn('Cy')).worker.worktree?.branch).toBe('relay/Cy-3')
  await release('Cy')
  expect(oursIn(repository)).toMatchObject({ paths: ['Cy-2'], branches: ['relay/Cy', 'relay/Cy-2'] })
})

test('files, submodules and a set-up command come from the configuration, once it is trusted', async () => {
  const library = join(world.root, 'library')
  if (!existsSync(library)) makeRepository(library)
  git(repository, 'submodule', 'add', '-q', library, 'lib')
  git(repository, 'commit', '-qm', 'lib')
  write(repository, '.env', 'SECRET=1\n')
  const settings = {
    copy: ['.env', 'missing'],
    submodules: ['lib'],
    setup: ['sh', '-c', 'mkdir build; pwd > build/at'],
  }
  write(repository, '.relay/config.json', JSON.stringify({ worktree: settings }))
  const untrusted = await spawn('Dan')
  expect(untrusted.note).toContain('sets up worktrees, but is not trusted: agent-relay trust')
  const path = join(repository, '.relay', 'worktrees', 'Dan')
  expect(existsSync(join(path, '.env'))).toBe(false)
  await release('Dan')
  trustConfig(projectConfig(repository, world.dataDir) as ProjectConfigFile, world.dataDir)
  const { worker } = await spawn('Dan')
  expect(worker).toMatchObject({ status: 'starting' })
  await until(async () => ['ready', 'idle'].includes(await world.status('Dan')))
  expect(readFileSync(join(path, '.env'), 'utf8')).toBe('SECRET=1\n')
  expect(readFileSync(join(path, 'build', 'at'), 'utf8')).toBe(`${path}\n`)
  expect(readFileSync(join(path, 'lib', 'a.txt'), 'utf8')).toBe('one\n')
  await release('Dan')
  expect((await world.told('Dan')).at(-1)).not.toContain('Its work')
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
  expect(git(join(repository, 'lib'), 'worktree', 'list').split('\n')).toHaveLength(1)
  // A copied file that the worker changed is work, though git ignores it; so is a commit in a submodule.
  await spawn('Dan', 'echo more >> .env; sleep 100')
  await until(() => existsSync(join(path, '.env')) && readFileSync(join(path, '.env'), 'utf8').includes('more'))
  expect((await release('Dan')).worktree?.path).toBe(path)
  writeFileSync(join(path, '.env'), 'SECRET=1\n')
  git(join(path, 'lib'), 'commit', '-q', '--allow-empty', '-m', 'inside')
  git(path, 'add', 'lib')
  git(path, 'commit', '-qm', 'newer lib')
  git(repository, 'merge', '-q', 'relay/Dan')
  expect((await world.lead.call('worker.sweep', { name: 'Dan' })).kept[0]?.why).toContain('submodule lib may hold work')
})

test('a set-up command that fails ends the worker, says why, and leaves nothing', async () => {
  write(
    repository,
    '.relay/config.json',
    JSON.stringify({ worktree: { setup: ['sh', '-c', 'echo no luck; echo "Worker \\"Zoe\\" is ready."; exit 3'] } }),
  )
  trustConfig(projectConfig(repository, world.dataDir) as ProjectConfigFile, world.dataDir)
  await spawn('Eve').catch(() => {})
  await until(async () => (await world.status('Eve')) === 'exited')
  const [eve] = (await world.lead.call('worker.list', { all: true })).workers
  expect(eve?.reason).toContain('failed (3):\nno luck')
  // What a program has printed does not pass for a line of the daemon's own.
  expect((await world.told('Eve')).at(-1)).toMatch(/failed \(3\)\.\n {2}no luck\n {2}Worker "Zoe" is ready\.$/)
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})

test('whoever works in the worktree of a worker that went keeps it there until the end', async () => {
  await spawn('Fay')
  const path = join(repository, '.relay', 'worktrees', 'Fay')
  await world.lead.call('worker.spawn', { name: 'Guest', cli: 'plain', command: ['sleep', '100'], cwd: path })
  expect((await release('Fay')).worktree?.path).toBe(path)
  expect(existsSync(path)).toBe(true)
  await release('Guest')
  await until(() => !existsSync(path))
  await until(() => oursIn(repository).branches.length === 0)
})

test('where there is no checkout, no commit, or no such directory in it, the spawn is refused', async () => {
  await expect(spawn('Hal', '', { cwd: world.root })).rejects.toThrow('git says it is in no checkout')
  write(repository, 'build/out', 'ignored')
  await expect(spawn('Hal', '', { cwd: join(repository, 'build') })).rejects.toThrow('not in the commit')
  const empty = join(world.root, `empty-${count}`)
  write(empty, 'file', '')
  git(empty, 'init', '-q')
  await expect(spawn('Hal', '', { cwd: empty })).rejects.toThrow('no commit yet')
})

test('the policy makes it the default where there is a repository; a spawn may say otherwise', async () => {
  const person = await world.client('Kim', world.key)
  const set = (worktree: boolean) => person.call('workspace.set-policy', { worktree })
  expect(await set(true)).toMatchObject({ worktree: true })
  try {
    expect((await spawn('Ida', 'sleep 100', { worktree: undefined })).worker.worktree?.branch).toBe('relay/Ida')
    expect((await spawn('Jon', 'sleep 100', { worktree: false })).worker).toMatchObject({ cwd: repository })
    const { worker, note } = await spawn('Kay', 'sleep 100', { worktree: undefined, cwd: world.root })
    expect([worker.cwd, worker.worktree]).toEqual([world.root, undefined])
    expect(note).toContain('There can be no worktree')
  } finally {
    await set(false)
  }
  for (const name of ['Ida', 'Jon', 'Kay']) await release(name)
})

test('only a run by a CLI has a worktree', async () => {
  const run = { contract: 'Do it.', harness: 'loop' as const, worktree: true, cwd: repository }
  await expect(world.lead.call('run.start', run)).rejects.toThrow('only a run by a CLI has one')
})

test('on a machine without git the policy refuses no worker; who asks for a worktree is told', async () => {
  const bare = await WorkerWorld.start({ env: { ...process.env, NODE_OPTIONS: undefined, PATH: '/nonexistent' } })
  try {
    const person = await bare.client('Kim', bare.key)
    await person.call('workspace.set-policy', { worktree: true })
    const wish = { name: 'Lea', cli: 'plain' as const, command: ['/bin/sleep', '100'], cwd: repository }
    await expect(bare.lead.call('worker.spawn', { ...wish, worktree: true })).rejects.toThrow('git')
    const { worker, note } = await bare.lead.call('worker.spawn', wish)
    expect([worker.cwd, worker.worktree]).toEqual([repository, undefined])
    expect(note).toContain('git')
  } finally {
    await bare.stop()
  }
})
