// A daemon that died under a worker in a worktree: the next one tells the parent at once, and looks at the worktree afterwards.

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
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { until } from '../../../../test/until.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import type { RuleInput, RuleName } from '../../src/core/decide.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import { Worktrees } from '../../src/work/worktrees.ts'
import { loud } from '../broker/loud.ts'
import { plainRuntimes } from '../plain-runtimes.ts'
import { makeRepository, oursIn } from './repository-world.ts'

let root: string
let workspace: Workspace
const ids = makeIds()
beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-restart-')))
  workspace = new Workspace({
    ...{ name: 'home', databasePath: join(root, 'relay.db'), searchPath: ':memory:', ids },
    clock: { now: Date.now, steady: () => performance.now(), after: () => ({ cancel: () => {} }) },
    runtimes: plainRuntimes(root, keeperWith(slowGit(join(root, 'go')))),
    ...loud,
  })
  await workspace.start(() => {})
})
afterEach(() => {
  workspace.close()
  rmSync(root, { recursive: true, force: true })
})

async function give<R extends RuleName>(rule: R, by: string, input: RuleInput<R>): Promise<Record<string, unknown>> {
  const reply = await workspace.engine.submit({ rule, input, by, cause: ids('c') })
  if ('refusal' in reply) throw new Error(reply.refusal.message)
  return reply.outcome
}

function keeperWith(path: string): Worktrees {
  return new Worktrees({ env: { PATH: path, HOME: root }, dataDir: root })
}

/** A git that waits until the file is there, and says which process does. */
function slowGit(file: string): string {
  const folder = join(root, 'slow')
  mkdirSync(folder)
  const rest = `PATH=\${PATH#*:} exec git "$@"`
  writeFileSync(
    join(folder, 'git'),
    `#!/bin/sh\necho $$ >> '${file}.waits'\nwhile [ ! -e '${file}' ]; do sleep 0.05; done\n${rest}\n`,
  )
  chmodSync(join(folder, 'git'), 0o755)
  return `${folder}:${process.env.PATH}`
}

test('a git that hangs does not keep a workspace closed', async () => {
  const repository = join(root, 'repository')
  makeRepository(repository)
  const earlier = keeperWith(process.env.PATH ?? '')
  const { worktree, cwd } = await earlier.plan({ name: 'Ann', directory: repository })
  const proof = { proven: false, mayRetake: true, isHolder: false, tokenHash: 'hash' }
  await give('agent.register', 'ada', { name: 'ada', ...proof })
  const id = (await give('worker.spawn', 'ada', { name: 'Ann', cli: 'plain', cwd, isInjected: false, worktree }))
    .id as string
  const { signal } = new AbortController()
  await earlier.make(worktree, { worker: id, cwd, marker: {}, environment: {}, signal, onSetup: async () => {} })
  const go = join(root, 'go')
  const { store } = workspace
  await workspace.workers.start()
  onTestFinished(() => workspace.workers.close())
  // The first one still waits: a git for which somebody waits is given up and ended first.
  const waits = () => (existsSync(`${go}.waits`) ? readFileSync(`${go}.waits`, 'utf8') : '')
  await until(() => waits().includes('\n'))
  expect(isAlive(Number.parseInt(waits(), 10))).toBe(true)
  expect(store.view.workers.byId(id)).toMatchObject({ status: 'exited', worktree })
  expect(runAllSteps(store.queries.peek('ada', {})).messages.map(({ body }) => body)).toEqual([
    `Worker "Ann" exited: the daemon was restarted. Its work is on branch relay/Ann, in ${worktree.path}: it stays if it holds any.`,
  ])
  expect(existsSync(worktree.path)).toBe(true)
  writeFileSync(go, '')
  await until(() => store.view.workers.byId(id)?.worktree === undefined)
  expect(oursIn(repository)).toEqual({ paths: [], branches: [], listed: [] })
})
