// A daemon that died under runs: the next one tells who asked for them, each end once, whatever carried them out. No program is started.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Workspace } from '../src/broker/workspace.ts'
import type { RuleInput, RuleName } from '../src/core/decide.ts'
import { Supervisor } from '../src/supervisor/supervisor.ts'
import { loud } from './loud.ts'

let directory: string
let workspace: Workspace
const ids = makeIds()
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'relay-restart-'))
  await open()
})
afterEach(() => {
  workspace.close()
  rmSync(directory, { recursive: true, force: true })
})

/** As the daemon opens one: runs first, then what is left of its workers. */
async function open(): Promise<void> {
  workspace = new Workspace({
    ...{ name: 'home', databasePath: join(directory, 'relay.db'), searchPath: ':memory:', ids },
    clock: { now: Date.now, after: () => ({ cancel: () => {} }) },
    ...loud,
  })
  await workspace.begin(() => {})
  await Supervisor.start({
    ...{ workspace, directory: join(directory, 'workers'), dataDir: directory, env: {} },
    socketPath: join(directory, 'home.sock'),
    onTrouble: loud.onTrouble,
  })
}

async function give<R extends RuleName>(rule: R, by: string, input: RuleInput<R>): Promise<Record<string, unknown>> {
  const reply = await workspace.engine.submit({ rule, input, by, cause: ids('c') })
  if ('refusal' in reply) throw new Error(reply.refusal.message)
  return reply.outcome
}

const told = () =>
  workspace.store.queries
    .unshown('ada', { bytesMax: 100_000 })
    .map(({ body }) => body.split('\n')[0]?.replace(/run_\w+ \(run-\w+\)/, 'R') as string)

test('a loop, a worker that ran, one whose exit was the last thing written, and an agent elsewhere', async () => {
  for (const name of ['ada', 'bob'])
    await give('agent.register', name, { name, proven: false, mayRetake: true, tokenHash: `hash of ${name}` })
  const start = async (harness: 'loop' | 'claude' | 'external') => {
    const input = { contract: 'x', harness, tokenHash: harness === 'loop' ? 'hash' : undefined, agent: 'bob' }
    return (await give('run.start', 'ada', input)).run as string
  }
  const hired = async (run: string) => {
    const name = workspace.runs.row(run)?.agent as string
    const input = { name, cli: 'claude', cwd: directory, isInjected: false }
    return (await give('worker.spawn', 'ada', input)).id as string
  }
  await start('loop')
  await hired(await start('claude'))
  const external = await start('external')
  await workspace.workers.report({ id: await hired(await start('claude')), status: 'exited', code: 3 })
  expect(told()).toEqual([])
  const end = 'Run R is stopped: The daemon ended while this ran.'
  for (const _ of ['the next', 'and the one after']) {
    workspace.close()
    await open()
    expect(workspace.workers.rows()).toEqual([])
    expect(told()).toEqual([end, end, end])
  }
  expect(workspace.runs.isRunning(external)).toBe(true)
})
