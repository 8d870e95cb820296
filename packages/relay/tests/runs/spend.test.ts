// The spend of runs: noted answer by answer, counted once, and shown to readers who may know it.

import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { recordSpend } from '../../src/broker/workers/spend.ts'
import { bearer } from '../wires/http-world.ts'
import { calls, completes, inTurn, RunsWorld } from './runs-world.ts'

describe.each(['anthropic', 'openai-compatible'] as const)('over %s', (provider) => {
  let world: RunsWorld | undefined
  afterAll(() => world?.stop())

  test('each answer of the model is one fact, and the run, its agent and the lists have the sum', async () => {
    world = await RunsWorld.start(provider)
    const { http, model } = world
    const [boss, other] = [await http.token('boss'), await http.token('other')]
    model.script(inTurn(calls('relay_who', {}), completes('Done.')))
    const run = await world.begin('Do it.')
    const done = await world.ended(run.id)
    // The scripted model reads ten tokens and writes five, each time.
    const tokens = { input: 20, output: 10, cached: 0 }
    expect(done.spend).toEqual({ tokens })
    const { body: events } = await http.api('event.list', { types: ['spend.noted'] }, bearer(boss))
    const fact = { agent: run.agent, run: run.id, model: 'scripted' }
    const one = { ...fact, tokens: { input: 10, output: 5, cached: 0 } }
    expect(events.events.map((event: { fact: object }) => event.fact)).toEqual([one, one])
    const day = new Date().toISOString().slice(0, 10)
    const line = { tokens, turns: 2 }
    const listed = async (by: string, token = boss) => (await http.api('spend.list', { by }, bearer(token))).body
    expect(await listed('agent')).toEqual({ by: 'agent', spend: [{ agent: run.agent, ...line }], total: line })
    expect((await listed('run')).spend).toEqual([{ run: run.id, agent: run.agent, ...line }])
    expect((await listed('model')).spend).toEqual([{ model: 'scripted', ...line }])
    expect((await listed('day')).spend).toEqual([{ day, ...line }])
    const { body } = await http.api('agent.list', { includeOffline: true }, bearer(boss))
    const shown = (name: string) => body.agents.find((agent: { name: string }) => agent.name === name)
    expect(shown(run.agent).spend).toEqual({ tokens })
    expect(shown('boss')).not.toHaveProperty('spend')
    // A stranger learns nothing of it, in no way.
    const nothing = { tokens: { input: 0, output: 0, cached: 0 }, turns: 0 }
    expect(await listed('agent', other)).toEqual({ by: 'agent', spend: [], total: nothing })
    const seen = await http.api('event.list', { types: ['spend.noted'] }, bearer(other))
    expect(seen.body.events).toEqual([])
    const { body: agents } = await http.api('agent.list', { includeOffline: true }, bearer(other))
    expect(agents.agents.filter(({ spend }: { spend?: object }) => spend)).toEqual([])
    expect((await http.api('spend.list', { by: 'moon' }, bearer(boss))).status).toBe(400)
  })
})

describe('one that is under way', () => {
  let world: RunsWorld
  afterEach(() => world.stop())

  test('the answer that a stop came before is paid for, and counted', async () => {
    world = await RunsWorld.start()
    await world.http.token('boss')
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    world.model.script(async () => {
      await held
      return { text: 'too late' }
    })
    const run = await world.begin('Take long.')
    await until(() => world.model.asked.length === 1)
    await world.http.api('run.stop', { run: run.id }, world.http.as('boss'))
    release()
    await until(async () => (await world.status(run.id)).spend !== undefined)
    expect((await world.status(run.id)).spend.tokens).toEqual({ input: 10, output: 5, cached: 0 })
  })

  test('a turn that is told twice counts once, and an agent cannot hide one by taking its name', async () => {
    world = await RunsWorld.start()
    await world.http.token('boss')
    world.model.script(() => new Promise(() => {}))
    const run = await world.begin('Wait.')
    const { workspace } = await world.http.daemon.open('home')
    const { engine, ids } = workspace
    const tokens = { input: 100, output: 1, cached: 0 }
    const note = (n: number) => workspace.runs.reports.recordSpend(run.id, n, { tokens })
    await Promise.all([note(1), note(1)])
    await note(1)
    expect(workspace.store.spend.ofRun(run.id)?.tokens.input).toBe(100)
    const taken = { rule: 'channel.join', input: { channel: '#hidden', create: true }, by: run.agent } as const
    await engine.submit({ ...taken, cause: `${run.id}/spend/2` })
    await note(2)
    expect(workspace.store.spend.ofRun(run.id)?.tokens.input).toBe(200)
    // Nor is anything noted for one run by the agent of another.
    await recordSpend({ engine, ids }, 'boss', 'of-another', { run: run.id, tokens })
    expect(workspace.store.spend.ofRun(run.id)?.tokens.input).toBe(200)
    expect(workspace.store.spend.ofAgent('boss')).toBeUndefined()
  })
})
