// A daemon that died under runs: the next one reports each end to its asker once, for every harness. No program is started.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Workspace } from '../../src/broker/workspace.ts'
import type { RuleInput, RuleName } from '../../src/core/decide.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import { loud } from '../broker/loud.ts'
import { plainRuntimes } from '../plain-runtimes.ts'

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
    clock: { now: Date.now, steady: () => performance.now(), after: () => ({ cancel: () => {} }) },
    runtimes: plainRuntimes(directory),
    ...loud,
  })
  await workspace.start(() => {})
  await workspace.workers.start()
}

async function give<R extends RuleName>(rule: R, by: string, input: RuleInput<R>): Promise<Record<string, unknown>> {
  const reply = await workspace.engine.submit({ rule, input, by, cause: ids('c') })
  if ('refusal' in reply) throw new Error(reply.refusal.message)
  return reply.outcome
}

const told = () =>
  runAllSteps(workspace.store.queries.peek('ada', {})).messages.map(
    ({ body }) => body.split('\n')[0]?.replace(/run_\w+ \(run-\w+\)/, 'R') as string,
  )

test('each run ends once: of a loop, of a worker that ran, of one whose exit was stored last; a run by an agent elsewhere goes on', async () => {
  for (const name of ['ada', 'bob'])
    await give('agent.register', name, {
      name,
      proven: false,
      mayRetake: true,
      isHolder: false,
      tokenHash: `hash of ${name}`,
    })
  const start = async (harness: 'loop' | 'claude' | 'external') => {
    const input = { contract: 'x', harness, tokenHash: harness === 'loop' ? 'hash' : undefined, agent: 'bob' }
    return (await give('run.start', 'ada', input)).run as string
  }
  const hired = async (run: string) => {
    const name = workspace.store.view.runs.byId(run)?.agent as string
    const input = { name, cli: 'claude', cwd: directory, isInjected: false }
    return (await give('worker.spawn', 'ada', input)).id as string
  }
  await start('loop')
  await hired(await start('claude'))
  const external = await start('external')
  await workspace.workers.reports.report({ id: await hired(await start('claude')), status: 'exited', code: 3 })
  expect(told()).toEqual([])
  const end = 'Run R is stopped: The daemon ended while this ran.'
  for (const _ of ['the next', 'and the one after']) {
    workspace.close()
    await open()
    expect(workspace.workers.reports.wishedWorkers()).toEqual([])
    expect(told()).toEqual([end, end, end])
  }
  expect(workspace.runs.reports.isRunning(external)).toBe(true)
})
