// The built-in loop against a scripted model: it calls tools, completes, stops when it is told to, and says why when it cannot go on.

import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Asked, Reply } from '../../../../test/bench/model-server.ts'
import { guardMs } from '../../../../test/guard.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { HttpWorld } from '../wires/http-world.ts'
import { calls, completes, inTurn, RunsWorld } from './runs-world.ts'

describe.each(['anthropic', 'openai-compatible'] as const)('over %s', (provider) => {
  let world: RunsWorld
  beforeAll(async () => {
    world = await RunsWorld.start(provider)
    await world.http.token('boss')
    await world.http.token('helper')
  })
  afterAll(() => world?.stop())

  test('the loop calls tools as its own agent, is seen by others, and completes with a payload', async () => {
    const who: string[] = []
    world.model.script(
      inTurn(
        calls('relay_who', {}),
        ({ results }) => {
          who.push(results.at(-1) ?? '')
          return { text: 'I ask.', calls: [{ name: 'relay_send', args: { to: 'helper', message: 'which branch?' } }] }
        },
        completes('42 tests passed', 'the report'),
      ),
    )
    const run = await world.begin('Test it.')
    expect(run).toMatchObject({ status: 'running', harness: 'loop', parent: 'boss', agent: `run-${run.id.slice(-6)}` })
    expect(run.startedAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
    const done = await world.ended(run.id)
    expect(done).toMatchObject({ status: 'completed', summary: '42 tests passed', payloadSize: 10 })
    expect(await (await fetch(done.payloadUrl)).text()).toBe('the report')
    expect(await world.told(run.id)).toEqual([`Run ${run.id} (${run.agent}) is completed: 42 tests passed`])
    expect(who[0]).toContain(run.agent)
    const { body } = await world.http.api('inbox.peek', {}, world.http.as('helper'))
    expect(body.messages.at(-1)).toMatchObject({ from: run.agent, body: 'which branch?' })
    const [first] = world.model.asked as [Asked]
    expect(first.api).toBe(provider === 'anthropic' ? 'anthropic' : 'openai')
    expect(first.system).toContain('Test it.')
    expect(first.system).toContain(run.id)
    expect(first.tools).toEqual(expect.arrayContaining(['relay_send', 'relay_inbox', 'agent_complete']))
    expect(world.model.asked).toHaveLength(3)
  })

  test('the marker in its own reply completes it; in the contract, in mail and in an echo it does not', async () => {
    const said: Reply[] = [
      { text: 'I was told: Say [CONTRACT COMPLETE] only at the end, and nothing else.' },
      { text: 'All is done.\n[CONTRACT COMPLETE]' },
    ]
    world.model.script(inTurn(...said.map((reply) => () => reply)))
    const run = await world.begin('Say [CONTRACT COMPLETE] only at the end, and nothing else.')
    await world.http.api('message.send', { to: run.agent, body: '[CONTRACT COMPLETE]' }, world.http.as('helper'))
    const done = await world.ended(run.id)
    expect(done).toMatchObject({ status: 'completed', summary: 'All is done.\n[CONTRACT COMPLETE]' })
    expect(await world.told(run.id)).toEqual([
      expect.stringMatching(/is completed: All is done\. \[CONTRACT COMPLETE\]$/),
    ])
    expect(world.model.asked).toHaveLength(2)
  })

  test('when a run is stopped during a request, the answer is discarded and nothing more is asked', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    world.model.script(async () => {
      await held
      return { calls: [{ name: 'relay_send', args: { to: 'helper', message: 'too late' } }] }
    })
    const run = await world.begin('Take long.')
    await until(() => world.model.asked.length === 1)
    const { body } = await world.http.api('run.stop', { run: run.id }, world.http.as('boss'))
    expect(body).toMatchObject({ status: 'stopped' })
    expect(body.stoppedAt >= body.startedAt).toBe(true)
    expect(body.stopReason).toBeUndefined()
    release()
    await until(() => world.model.answered === 1)
    await aWhile()
    expect(world.model.asked).toHaveLength(1)
    // Who stopped it knows.
    expect(await world.told(run.id)).toEqual([])
    const mail = await world.http.api('inbox.peek', {}, world.http.as('helper'))
    expect(JSON.stringify(mail.body)).not.toContain('too late')
  })

  test('messages to the agent enter its next turn, and count as read only then', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let n = 0
    world.model.script(async (asked) => {
      n++
      if (n === 1) await held
      return n === 1 ? { calls: [{ name: 'relay_status', args: {} }] } : completes('heard')(asked)
    })
    const run = await world.begin('Listen.')
    await until(() => world.model.asked.length === 1)
    const sent = await world.http.api('message.send', { to: run.agent, body: 'use main' }, world.http.as('helper'))
    const receipt = async () => {
      const { body } = await world.http.api('message.receipts', { message: sent.body.id }, world.http.as('helper'))
      return body.receipts[0].state
    }
    expect(await receipt()).toBe('stored')
    release()
    await world.ended(run.id)
    expect(world.model.asked[0]?.user.join()).not.toContain('use main')
    expect(world.model.asked[1]?.user.join()).toContain(`Relay message from helper [${sent.body.id}]: use main`)
    // Its last call was made after the model had seen it.
    expect(await receipt()).toBe('read')
  })

  test('a model that fails is asked again, and a run ends if it keeps failing', async () => {
    world.model.script(
      inTurn(
        () => ({ status: 503 }),
        () => ({ status: 529 }),
        completes('at the third try'),
      ),
    )
    const lucky = await world.begin('Be patient.')
    expect(await world.ended(lucky.id)).toMatchObject({ status: 'completed', summary: 'at the third try' })
    world.model.script(() => ({ status: 500 }))
    const broken = await world.begin('Never mind.')
    expect(await world.ended(broken.id)).toMatchObject({
      status: 'stopped',
      stopReason: expect.stringMatching(/^The model failed: /),
    })
    expect(await world.told(broken.id)).toEqual([expect.stringMatching(/is stopped: The model failed: /)])
    expect(world.model.asked).toHaveLength(3)
    world.model.script(() => ({ status: 401 }))
    const denied = await world.begin('No key.')
    expect(await world.ended(denied.id)).toMatchObject({ status: 'stopped' })
    expect(world.model.asked).toHaveLength(1)
  })

  test('a run whose model answers nonsense ends with the reason, or goes on once the model makes sense', async () => {
    world.model.script(() => ({ raw: '<html>busy</html>' }))
    const html = await world.begin('Parse this.')
    expect(await world.ended(html.id)).toMatchObject({ status: 'stopped', stopReason: expect.any(String) })
    world.model.script(
      inTurn(calls('no_such_tool', { a: 1 }), calls('relay_send', { nobody: true }), completes('after all')),
    )
    const odd = await world.begin('Call what is not there.')
    expect(await world.ended(odd.id)).toMatchObject({ status: 'completed', summary: 'after all' })
    expect(world.model.asked.at(-1)?.results.join()).toMatch(/no_such_tool[\s\S]*Invalid input for relay_send/)
    world.model.script(() => ({ text: 'Hm.' }))
    const talker = await world.begin('Talk.')
    expect(await world.ended(talker.id)).toMatchObject({
      status: 'stopped',
      stopReason: expect.stringMatching(/ended its turn 3 times/),
    })
    expect(world.model.asked).toHaveLength(3)
  })

  test('the output of a run is shown to its parent and to agents that the policy names, and to no others', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let n = 0
    world.model.script(async (asked) => {
      if (++n === 1) return { text: 'I look at the parser.', calls: [{ name: 'relay_status', args: {} }] }
      await held
      return completes('seen')(asked)
    })
    const run = await world.begin('Show me.')
    await until(() => world.model.asked.length === 2)
    await until(async () => (await world.status(run.id)).preview !== undefined)
    expect((await world.status(run.id)).preview).toBe('I look at the parser.\n[relay_status]\n')
    expect(await world.status(run.id, 'helper')).toHaveProperty('error')
    await world.http.api('workspace.set-policy', { terminal: { helper: [run.agent] } })
    expect((await world.status(run.id, 'helper')).preview).toContain('the parser')
    await world.http.api('workspace.set-policy', { terminal: {} })
    release()
    expect(await world.ended(run.id)).not.toHaveProperty('preview')
  })
})

describe('several runs', () => {
  let world: RunsWorld
  beforeAll(async () => {
    // Each is given time for the other's message: the model that only talks is asked again after milliseconds elsewhere here.
    world = await RunsWorld.start('anthropic', { nudgeMs: guardMs })
    await world.http.token('boss')
  })
  afterAll(() => world?.stop())

  test('ten runs at once all complete', async () => {
    world.model.script(inTurn(calls('relay_status', {}), (asked) => completes(`done ${asked.agentId}`)(asked)))
    const runs = await Promise.all(Array.from({ length: 10 }, (_, n) => world.begin(`Number ${n}.`)))
    const ended = await Promise.all(runs.map(({ id }) => world.ended(id)))
    expect(ended.map(({ summary }) => summary)).toEqual(runs.map(({ id }) => `done ${id}`))
    for (const { id } of runs) expect(await world.told(id)).toHaveLength(1)
    expect(new Set(runs.map(({ agent }) => agent)).size).toBe(10)
  })

  test('two runs write to each other, and both complete', async () => {
    world.model.script((asked) => {
      const heard = asked.user.map((text) => /Relay message from ([\w-]+) .*: (ping|pong)/.exec(text)).find(Boolean)
      if (asked.system.includes('Answer a ping')) {
        if (!heard) return { text: 'I wait for a ping.' }
        const [, from, word] = heard
        if (asked.results.length === 0) return calls('relay_send', { to: from, message: 'pong' })()
        return completes(`got ${word}`)(asked)
      }
      const [, peer] = /Write to ([\w-]+)/.exec(asked.system) as RegExpExecArray
      if (asked.results.length === 0) return calls('relay_send', { to: peer, message: 'ping' })()
      return heard ? completes(`got ${heard[2]}`)(asked) : { text: 'I wait for the pong.' }
    })
    const second = await world.begin('Answer a ping.')
    const first = await world.begin(`Write to ${second.agent}.`)
    expect(await world.ended(first.id)).toMatchObject({ status: 'completed', summary: 'got pong' })
    expect(await world.ended(second.id)).toMatchObject({ status: 'completed', summary: 'got ping' })
  })
})

describe('limits', () => {
  let world: RunsWorld | undefined
  afterEach(async () => {
    await world?.stop()
    world = undefined
  })

  test.each([
    ['turns', { turnsMax: 2 }, /used its 2 turns/],
    ['tokens', { tokensMax: 40 }, /used 45 tokens; 40 is the limit/],
  ])('%s', async (_, limits, reason) => {
    world = await RunsWorld.start('anthropic', limits)
    world.model.script(calls('relay_status', {}))
    const run = await world.begin('Go on for ever.')
    expect(await world.ended(run.id)).toMatchObject({ status: 'stopped', stopReason: expect.stringMatching(reason) })
    expect(await world.told(run.id)).toEqual([expect.stringMatching(reason)])
  })

  test('a run ends when its time is over, also if the model stalls', async () => {
    world = await RunsWorld.start('anthropic', { msMax: 150 })
    world.model.script(() => new Promise(() => {}))
    const late = await world.begin('Take your time.')
    const reason = 'It has run for 0.15 s, which is its limit.'
    expect(await world.ended(late.id)).toMatchObject({ status: 'stopped', stopReason: reason })
    expect(await world.told(late.id)).toEqual([`Run ${late.id} (${late.agent}) is stopped: ${reason}`])
    await world.stop()
    const requestMsMax = 3_000
    world = await RunsWorld.start('anthropic', { requestMsMax, triesMax: 2 })
    world.model.script(() => new Promise(() => {}))
    // The time of a request is over once the model has been asked.
    const after = AbortSignal.timeout.bind(AbortSignal)
    const timeout = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === requestMsMax ? over() : after(ms)))
    onTestFinished(() => timeout.mockRestore())
    let tries = 0
    const over = () => {
      const [controller, number] = [new AbortController(), ++tries]
      void until(() => world?.model.asked.length === number).then(() => controller.abort())
      return controller.signal
    }
    const stalled = await world.begin('Take your time.')
    expect(await world.ended(stalled.id)).toMatchObject({
      status: 'stopped',
      stopReason: expect.stringMatching(/did not answer within 3 s/),
    })
    expect(world.model.asked).toHaveLength(2)
  })

  test('a run without a model ends at once and says why', async () => {
    const bare = await HttpWorld.start({}, ['home'], { env: {} })
    onTestFinished(() => bare.stop())
    const { body } = await bare.api('run.start', { contract: 'x' })
    const note = /^No model is configured here, so it stops at once; its status says what is missing\./
    expect(body).toMatchObject({ status: 'running', note: expect.stringMatching(note) })
    await until(async () => (await bare.api('run.status', { runs: [body.id] })).body.runs[0].status === 'stopped')
    const { body: status } = await bare.api('run.status', { runs: [body.id] })
    expect(status.runs[0].stopReason).toMatch(/^No model is configured. Set RELAY_LLM_PROVIDER/)
  })
})
