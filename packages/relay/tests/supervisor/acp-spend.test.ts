// The spend of turns that ACP agents report: in every shape that they write it, and as far as it can be believed. The agents are scripted, and run
// in processes of their own.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { acpHarness } from '../../src/supervisor/harness/acp.ts'
import { copilotHarness } from '../../src/supervisor/harness/copilot.ts'
import type { AcpHarness, Harness } from '../../src/supervisor/harness/harness.ts'
import { acpAgent, WorkerWorld } from './worker-world.ts'

/** It tells the sum of its conversation with each turn, as Copilot does. */
const summing: Harness = {
  ...acpHarness,
  name: 'summing',
  acp: { ...(acpHarness.acp as AcpHarness), countsConversation: copilotHarness.acp?.countsConversation },
}

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start({ harnesses: [acpHarness, summing] })
})
afterAll(() => world.stop())

const command = (name: string) => [process.execPath, acpAgent, '--log', world.logPath(name)]
const hire = async (name: string, cli = 'acp') => {
  await world.lead.call('worker.spawn', { name, cli, command: command(name), cwd: world.root, control: 'acp' })
  await until(() => world.isReady(name))
}
const facts = async (agent: string) => {
  const { events } = await world.lead.call('event.list', { types: ['spend.noted'], limit: 1000 })
  return events.map(({ fact }) => fact).filter((fact) => (fact as { agent: string }).agent === agent)
}
/** One turn after the other; each is over when the agent is idle again. */
const turn = async (name: string, end: object) => {
  const before = world.submitted(name).length
  await world.lead.call('message.send', { to: name, body: `spends ${JSON.stringify(end)}` })
  await until(() => world.submitted(name).length > before)
  await until(async () => (await world.status(name)) === 'idle')
}

test('each turn is noted once, with what was kept by the vendor, and what the conversation has cost since the last', async () => {
  await hire('Adds')
  // Beside the input, as the sum shows; within it; and as Gemini says it.
  await turn('Adds', {
    usage: { inputTokens: 10, outputTokens: 5, cachedReadTokens: 80, cachedWriteTokens: 5, totalTokens: 100 },
    cost: { amount: 0.25, currency: 'USD' },
  })
  await turn('Adds', {
    usage: { inputTokens: 50, outputTokens: 5, cachedReadTokens: 30, totalTokens: 55 },
    cost: { amount: 0.75, currency: 'USD' },
  })
  await turn('Adds', {
    _meta: { quota: { token_count: { input_tokens: 7, output_tokens: 2 }, model_usage: [{ model: 'pro' }] } },
  })
  const worker = (await world.lead.call('worker.list', {})).workers.find(({ name }) => name === 'Adds')
  await until(async () => (await facts('Adds')).length === 3)
  const noted = { agent: 'Adds', worker: worker?.id }
  expect(await facts('Adds')).toEqual([
    { ...noted, tokens: { input: 95, output: 5, cached: 80 }, usd: 0.25 },
    { ...noted, tokens: { input: 50, output: 5, cached: 30 }, usd: 0.5 },
    { ...noted, model: 'pro', tokens: { input: 7, output: 2, cached: 0 } },
  ])
  const total = { tokens: { input: 152, output: 12, cached: 110 }, usd: 0.75 }
  const { workers } = await world.lead.call('worker.list', {})
  expect(workers.find(({ name }) => name === 'Adds')?.spend).toEqual(total)
  const { agents } = await world.lead.call('agent.list', {})
  expect(agents.find(({ name }) => name === 'Adds')?.spend).toEqual(total)
  await world.lead.call('worker.release', { name: 'Adds' })
})

test('one that tells the sum of its conversation is noted by what came to it', async () => {
  await hire('Sums', 'summing')
  for (const [inputTokens, outputTokens] of [
    [100, 10],
    [250, 30],
    // It began again at zero.
    [40, 4],
  ])
    await turn('Sums', { usage: { inputTokens, outputTokens } })
  await until(async () => (await facts('Sums')).length === 3)
  expect((await facts('Sums')).map((fact) => (fact as { tokens: object }).tokens)).toEqual([
    { input: 100, output: 10, cached: 0 },
    { input: 150, output: 20, cached: 0 },
    { input: 40, output: 4, cached: 0 },
  ])
  await world.lead.call('worker.release', { name: 'Sums' })
})

test('numbers that no turn can have are not noted, and the agent goes on', async () => {
  await hire('Lies')
  for (const usage of [
    { inputTokens: -5, outputTokens: 1 },
    { inputTokens: 'many', outputTokens: 1 },
    { inputTokens: 1e300, outputTokens: 1 },
    { inputTokens: null, outputTokens: null },
    [],
    'none',
  ])
    await turn('Lies', { usage, cost: { amount: -1, currency: 'USD' } })
  await turn('Lies', { usage: { inputTokens: 3, outputTokens: 1 }, cost: { amount: 9, currency: 'EUR' } })
  await until(async () => (await facts('Lies')).length === 1)
  expect(await facts('Lies')).toMatchObject([{ tokens: { input: 3, output: 1, cached: 0 } }])
  expect((await facts('Lies'))[0]).not.toHaveProperty('usd')
  await world.lead.call('worker.release', { name: 'Lies' })
})
