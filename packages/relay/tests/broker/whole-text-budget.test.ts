// Whole contracts and tasks in a list: as many as one answer carries, so that nobody can make a list that no client takes.

import { limits } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { ProcessHouse } from '../../../../test/plays/houses.ts'

let house: ProcessHouse
beforeEach(async () => {
  house = new ProcessHouse(new PlayClock())
  await house.open('main')
})
afterEach(() => house.close())

test('a list of long contracts has the first of them whole, and stays within a line', async () => {
  const dispatch = house.dispatch('main')
  const { session } = await dispatch.openSession({ door: 'owner', kind: 'program' }, { name: 'Ada' })
  let calls = 0
  const call = async <T>(op: 'run.start' | 'run.list' | 'run.status', input: object) =>
    (await dispatch.call(session, op, input, `c_${calls++}`)).output as T
  // Each of these takes six bytes as JSON.
  const contract = `Count.\n${'\u0001'.repeat(limits.contractBytesMax - 100)}`
  const ids: string[] = []
  for (let i = 0; i < 12; i++) ids.push((await call<{ id: string }>('run.start', { contract, harness: 'loop' })).id)
  for (const [op, input] of [
    ['run.list', { whole: true }],
    ['run.status', { runs: Array.from({ length: 50 }, () => ids[0] as string), whole: true }],
  ] as const) {
    const answer = await call<{ runs: { contract?: string }[] }>(op, input)
    expect(answer.runs[0]?.contract).toBe(contract)
    expect(answer.runs.at(-1)).not.toHaveProperty('contract')
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(limits.answerBytesMax)
  }
  const one = await call<{ runs: object[] }>('run.status', { runs: ids.slice(-1), whole: true })
  expect(one.runs).toMatchObject([{ contract }])
})
