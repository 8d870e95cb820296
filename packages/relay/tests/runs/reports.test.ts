// The runner's access to a run: the entrance of its agent, once, and no more rights than its asker has.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { ProcessHouse } from '../../../../test/plays/houses.ts'
import type { Dispatch } from '../../src/broker/dispatch.ts'
import type { SessionOrigin } from '../../src/broker/sessions/standing.ts'
import type { RunRow } from '../../src/core/view.ts'

let house: ProcessHouse
let dispatch: Dispatch
beforeEach(async () => {
  house = new ProcessHouse(new PlayClock())
  await house.open('main')
  dispatch = house.dispatch('main')
})
afterEach(() => house.close())

async function start(door: SessionOrigin['door'], key?: string): Promise<RunRow> {
  const { session } = await dispatch.openSession({ door, kind: 'program', isStateless: true }, { name: 'Ada', key })
  const { output } = await dispatch.call(session, 'run.start', { contract: 'x' }, `c_${door}`)
  return dispatch.workspace.store.view.runs.byId((output as { id: string }).id) as RunRow
}

test('the token of a run is handed out once, and forgotten when the run ends', async () => {
  const { reports } = dispatch.workspace.runs
  const run = await start('owner')
  expect(reports.takeLogin(run.id)?.token).toMatch(/^at_/)
  expect(reports.takeLogin(run.id)).toBeUndefined()
  const other = await start('owner', house.key('main'))
  await reports.end(other.id, 'enough')
  expect(reports.takeLogin(other.id)).toBeUndefined()
})

test.each([
  ['open', 'nobody', false],
  ['owner', 'owner', true],
] as const)('who asked by the door %s: %s; may it start programs? %s', async (door, rank, mayStart) => {
  const { reports } = dispatch.workspace.runs
  const run = await start(door)
  expect(reports.mayStartPrograms(run.id)).toBe(mayStart)
  const code = mayStart ? 'worker.unavailable' : 'spawn.denied'
  await expect(reports.hireWorker(run, 'x', new AbortController().signal)).rejects.toMatchObject({ refusal: { code } })
  const { token, asker } = reports.takeLogin(run.id) as { token: string; asker: SessionOrigin['asker'] }
  const { session } = await dispatch.openSession({ door, kind: 'model', asker }, { token })
  expect(session).toMatchObject({ agent: run.agent, standing: { rank, kind: 'model' } })
})

test('who gives the contract of another again lends it no rights', async () => {
  const { reports } = dispatch.workspace.runs
  const first = await start('open')
  await reports.end(first.id, 'enough')
  const { session } = await dispatch.openSession(
    { door: 'owner', kind: 'program' },
    { name: 'Kim', key: house.key('main') },
  )
  const { output } = await dispatch.call(session, 'run.start', { again: first.id }, 'c_again')
  const { id, parent } = output as { id: string; parent: string }
  expect([parent, reports.mayStartPrograms(id)]).toEqual([first.parent, false])
  expect(reports.takeLogin(id)?.asker).toMatchObject({ door: 'network', rank: 'agent', hasKey: false })
})

test('the end of the output of a run is kept while it runs', async () => {
  const { runs, store } = dispatch.workspace
  const run = await start('owner')
  runs.reports.recordOutput(run.id, 'a'.repeat(100_000))
  runs.reports.recordOutput(run.id, 'the end')
  expect(runs.reports.outputOf(run.id)).toMatch(/^a+the end$/)
  expect(runs.reports.outputOf(run.id)?.length).toBeLessThan(100_000)
  runs.reports.recordScreen(run.id, 'a screen  \n')
  expect(runs.reports.outputOf(run.id)).toBe('a screen')
  await runs.reports.complete(run.id, 'done')
  expect(store.view.runs.byId(run.id)).toMatchObject({ status: 'completed', summary: 'done' })
  expect(runs.reports.outputOf(run.id)).toBeUndefined()
})
