// A worker's worktree at the command line: the output of spawn, workers, diff, release, merge and sweep, with a real repository.

import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { git, makeRepository, oursIn } from '../work/repository-world.ts'
import { World } from './cli-world.ts'

let world: World
let repository: string
beforeAll(async () => {
  world = new World()
  await world.serve()
  repository = realpathSync(world.directory('repository'))
  makeRepository(repository)
})
afterAll(() => world.close())

const run = (...args: string[]) => world.run(args, { cwd: repository })
const spawn = (name: string) => run('spawn', name, '--worktree', '--command', 'cat')

test('from the spawn to the merge', async () => {
  expect((await spawn('Fixer')).stdout).toMatch(/^Fixer started \(plain, pid \d+, branch relay\/Fixer\)\. It reports/)
  const path = join(repository, '.relay', 'worktrees', 'Fixer')
  expect((await run('diff', 'Fixer')).stderr).toContain('Fixer has changed nothing on relay/Fixer.')
  writeFileSync(join(path, 'a.txt'), 'fixed\n')
  git(path, 'commit', '-qam', 'fix')
  writeFileSync(join(path, 'new.txt'), 'new\u001b[31m\n')
  expect((await run('workers')).stdout).toMatch(/^NAME .*BRANCH\nFixer .* relay\/Fixer \+1, 2 files\n/)
  const { stdout } = await run('diff', 'Fixer')
  expect(stdout).toContain('-one\n+fixed\n')
  expect(stdout).toContain('+++ b/new.txt')
  expect(stdout).not.toContain('\u001b')
  const released = await run('release', 'Fixer')
  expect(released.stdout).toBe(
    `Fixer released. Its work is kept on branch relay/Fixer, in ${path}. To see it: agent-relay diff Fixer\n`,
  )
  expect((await run('workers')).stdout).toMatch(/\nFixer .*exited/)
  expect((await run('sweep')).stdout).toBe(`Fixer  kept  relay/Fixer, ${path}: 1 commit, 1 file not committed\n`)
  const agent = await world.run(['merge', 'Fixer'], { cwd: repository, env: { RELAY_WORKER: 'w_1' } })
  expect(agent).toMatchObject({ code: 77, stderr: expect.stringContaining('merge is for people') })
  const merged = await run('merge', 'Fixer')
  expect(merged.stdout).toBe(`relay/Fixer is merged into ${repository}.\n`)
  expect(merged.stderr).toContain(`Not merged, since not committed: 1 file(s) in ${path}.`)
  expect(git(repository, 'show', 'HEAD:a.txt')).toBe('fixed')
  expect(await run('sweep', 'Fixer', '--discard')).toMatchObject({ code: 0, stdout: 'Fixer  removed  relay/Fixer\n' })
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})

test('conflicts are named with the commands to go on and back', async () => {
  await spawn('Rival')
  const path = join(repository, '.relay', 'worktrees', 'Rival')
  for (const [where, text] of [
    [path, 'theirs\n'],
    [repository, 'ours\n'],
  ] as const) {
    writeFileSync(join(where, 'c.txt'), text)
    git(where, 'commit', '-qam', 'c')
  }
  await run('release', 'Rival')
  const { code, stderr } = await run('merge', 'Rival')
  expect([code, stderr]).toEqual([1, expect.stringContaining('relay/Rival conflicts with this checkout in\n  c.txt\n')])
  expect(stderr).toContain('git merge --abort')
  git(repository, 'merge', '--abort')
  expect(existsSync(path)).toBe(true)
})
