// A workspace that lives on several machines: each daemon ends what an earlier one of its own machine left, and touches nothing of another's.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { singleMachineSharing } from '../../../src/broker/one-machine.ts'
import { Workspace } from '../../../src/broker/workspace.ts'
import type { RuleInput, RuleName } from '../../../src/core/decide.ts'
import type { RunRow } from '../../../src/core/view.ts'
import { systemClock as clock } from '../../../src/machine/clock.ts'
import { plainRuntimes } from '../../plain-runtimes.ts'
import { loud } from '../loud.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-machines-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** The daemon of one machine begins with what the database says; then the next machine's does. One at a time: SQLite has one writer. */
async function openOn(machine: string | undefined): Promise<{ workspace: Workspace; close(): Promise<void> }> {
  const databasePath = join(directory, 'relay.db')
  const paths = { databasePath, searchPath: ':memory:' }
  const workspace = new Workspace({
    name: 'shared',
    ...paths,
    clock,
    ids: makeIds(),
    // The machine decides alone, which is enough for what each ends of its own.
    sharing: { ...singleMachineSharing, machine },
    runtimes: plainRuntimes(directory),
    ...loud,
  })
  await workspace.start(() => {})
  await workspace.workers.start()
  return {
    workspace,
    async close() {
      await workspace.workers.close()
      workspace.close()
    },
  }
}

/** A worker, a run and an action with a call under way, named after the machine. */
async function occupy({ engine, ids }: Workspace, place: string): Promise<void> {
  const by = `${place}-boss`
  const give = <R extends RuleName>(rule: R, input: RuleInput<R>) =>
    engine.submit({ rule, by, input, cause: ids('c'), session: `s_${place}` })
  const agent = { name: by, proven: false, mayRetake: true, isHolder: false, tokenHash: `hash of ${by}` }
  await give('agent.register', agent)
  await give('worker.spawn', { name: `${place}-worker`, cli: 'shell', cwd: '/', isInjected: false, task: 'wait' })
  await give('run.start', { contract: 'wait', harness: 'loop' })
  await give('action.register', { name: `${place}.do`, description: 'd', inputSchema: {}, timeoutMs: 60_000 })
}

const leftOf = ({ store: { view } }: Workspace) => [
  ...view.workers.running().map(({ name }) => name),
  ...view.runs.running().map(({ parent }) => `run of ${parent}`),
  ...[...view.actions.all()].map(({ name }) => name),
]
const all = (place: string) => [`${place}-worker`, `run of ${place}-boss`, `${place}.do`]

test.each([
  ['several machines', 'desk', 'laptop'],
  ['a machine, and the time before there were several', undefined, 'laptop'],
])('%s: a daemon ends only what its own machine left behind', async (_name, first, second) => {
  const one = await openOn(first)
  await occupy(one.workspace, 'first')
  one.workspace.close()
  const two = await openOn(second)
  expect(leftOf(two.workspace)).toEqual(all('first'))
  await occupy(two.workspace, 'second')
  expect(two.workspace.workers.reports.wishedWorkers().map(({ name }) => name)).toEqual(['second-worker'])
  two.workspace.close()
  const again = await openOn(first)
  expect(leftOf(again.workspace)).toEqual(all('second'))
  await again.close()
  const last = await openOn(second)
  expect(leftOf(last.workspace)).toEqual([])
  await last.close()
})

test('a call under way ends when the daemon of its provider ends, and with no other daemon', async () => {
  const desk = await openOn('desk')
  await occupy(desk.workspace, 'first')
  const { store, ids } = desk.workspace
  const at = clock.now()
  store.transact(() => {
    const call = { id: 'act_1', action: 'first.do', caller: 'first-boss', provider: 'first-boss', session: 's_first' }
    const facts = [{ type: 'action.invoked' as const, ...call, inputBytes: 1, until: at + 60_000, machine: 'desk' }]
    store.append({ at, by: 'first-boss', cause: ids('c'), facts, rule: 'action.invoke', outcome: {}, body: '1' })
  })
  desk.workspace.close()
  const laptop = await openOn('laptop')
  expect(laptop.workspace.store.view.actions.invocation('act_1')?.isDone).toBe(false)
  await laptop.close()
  const again = await openOn('desk')
  expect(again.workspace.store.view.actions.invocation('act_1')?.isDone).toBe(true)
  await again.close()
})

test('a runner is told only of the runs of its own machine', async () => {
  const { workspace, close } = await openOn('laptop')
  const heard: RunRow[] = []
  workspace.runs.reports.listen({ onStart: (run) => heard.push(run) })
  await occupy(workspace, 'here')
  expect(heard.map(({ machine }) => machine)).toEqual(['laptop'])
  const { store, hub } = workspace
  const started = { id: 'run_elsewhere', agent: 'x', parent: 'here-boss', harness: 'loop' as const, machine: 'desk' }
  const entry = store.transact(() =>
    store.append({
      at: 1,
      by: 'here-boss',
      cause: 'elsewhere',
      facts: [{ type: 'run.started', ...started }],
      rule: 'run.start',
      outcome: {},
      body: 'wait',
    }),
  )
  hub.tell([entry as NonNullable<typeof entry>])
  expect(heard).toHaveLength(1)
  await close()
})

test('a session knows the machine it lives on', async () => {
  const { workspace, close } = await openOn('laptop')
  expect(workspace.sessions.openForDaemon('ada').standing.machine).toBe('laptop')
  await close()
})
