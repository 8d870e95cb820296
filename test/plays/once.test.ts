// Once is once: several routes lead a message to the same model, and two of them may look at the same moment. The first one shows it; the
// other finds it taken. A route that fails gives it back.

import { randomUUID } from 'node:crypto'
import type { Route } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import type { HeldMail } from '../../packages/relay/src/broker/waking/user-session-runtime.ts'
import type { WorkerRow } from '../../packages/relay/src/core/view.ts'
import { inProcessConnector } from '../../packages/relay/tests/in-process-connector.ts'
import type { ProcessHouse } from './houses.ts'
import { eventually, playInProcess, type Stage } from './play.ts'

/** The messages that one delivery path has found: it shows them, or fails to. */
interface Found {
  bodies: string[]
  shows(): Promise<unknown>
  fails(): unknown
}

type Looks = () => Promise<Found>

type Own = Stage & { house: ProcessHouse }

/** A worker that is there, and every way to its model. */
async function hired({ house }: Own, name: string) {
  const dispatch = house.dispatch('main')
  const { workspace } = dispatch
  const { engine, workers, userSessions: ownSessions, sessions } = workspace
  const input = { name, cli: 'claude', cwd: '/', isInjected: true }
  const reply = await engine.submit({ rule: 'worker.spawn', input, by: 'ada', cause: randomUUID() })
  if ('refusal' in reply) throw new Error(reply.refusal.message)
  const row = workspace.store.view.workers.byId(reply.outcome.id as string) as WorkerRow
  const token = await workers.reports.issueToken(row.id)
  await workers.reports.report({ id: row.id, status: 'ready' })
  const model = await inProcessConnector(dispatch, { door: 'owner', kind: 'model' })({ token })
  const call = () => model.turn(randomUUID())

  /** A process that a CLI starts: what it holds is free again when it is gone. */
  const hook =
    (route: Extract<Route, 'hook' | 'rewake' | 'http'>, again = {}): Looks =>
    async () => {
      const link = await inProcessConnector(dispatch)({ token })
      const { messages } = await link.call('inbox.take', { route: 'hook', ...again }, randomUUID())
      const ids = messages.map(({ id }) => id)
      return {
        bodies: messages.map(({ body }) => body),
        shows: async () => ids.length > 0 && (await link.call('inbox.offer', { messages: ids, route }, randomUUID())),
        fails: () => link.close(),
      }
    }
  const held =
    (look: () => Promise<HeldMail | 'young' | undefined>, route: Route): Looks =>
    async () => {
      const mail = await look()
      if (mail === undefined || mail === 'young') return { bodies: [], shows: async () => {}, fails: () => {} }
      return {
        bodies: mail.messages.map(({ body }) => body),
        shows: () => mail.markOffered(route),
        fails: () => mail.release(),
      }
    }
  const tool: Looks = async () => {
    const turn = call()
    const { messages } = await turn.call('inbox.take', {})
    return { bodies: messages.map(({ body }) => body), shows: async () => turn.answered(), fails: () => turn.lost() }
  }
  const own = {
    id: [...sessions.ofAgent(name)].find(({ standing }) => standing.kind === 'model')?.id as string,
    agent: name,
  }
  const ways: Record<string, Looks> = {
    hook: hook('hook'),
    rewake: hook('rewake'),
    plugin: hook('http'),
    resume: hook('hook', { again: true, begun: 0 }),
    paste: held(() => workers.reports.holdMail(row, {}), 'paste'),
    'CLI server': held(() => ownSessions.holdMail(own), 'app-server'),
    tool,
  }
  const leaves = () => workers.reports.report({ id: row.id, status: 'exited' })
  return { ways, call, leaves }
}

const names = ['hook', 'rewake', 'plugin', 'resume', 'paste', 'CLI server', 'tool'] as const
const pairs = names.flatMap((one) => names.map((two) => [one, two] as const))

/** The orders in which two ways look and show what they have found. */
const orders: Record<string, (one: Looks, two: Looks) => Promise<Found[]>> = {
  'at the same moment': async (one, two) => {
    const found = await Promise.all([one(), two()])
    await Promise.all(found.map((each) => each.shows()))
    return found
  },
  'one looks, the other looks and shows': async (one, two) => {
    const first = await one()
    const second = await two()
    await second.shows()
    await first.shows()
    return [first, second]
  },
  'one shows, then the other looks': async (one, two) => {
    const first = await one()
    await first.shows()
    const second = await two()
    await second.shows()
    return [first, second]
  },
}

for (const [order, meet] of Object.entries(orders)) {
  playInProcess(`of two ways one shows a message: ${order}`, async (stage) => {
    for (const [i, [one, two]] of pairs.entries()) {
      const name = `w${i}`
      const { ways, leaves } = await hired(stage, name)
      await stage.ada.send(name, 'first')
      await stage.ada.send(name, 'second')
      const found = await meet(ways[one] as Looks, ways[two] as Looks)
      const shown = found.flatMap(({ bodies }) => bodies)
      expect([one, two, ...shown]).toEqual([one, two, 'first', 'second'])
      await leaves()
    }
  })
}

playInProcess('what one way fails to show, another one shows', async (stage) => {
  for (const [i, [one, two]] of pairs.entries()) {
    const name = `w${i}`
    const { ways, leaves } = await hired(stage, name)
    await stage.ada.send(name, 'hello')
    const first = await ways[one]?.()
    expect(first?.bodies).toEqual(['hello'])
    await first?.fails()
    const second = await ways[two]?.()
    expect([one, two, ...(second?.bodies ?? [])]).toEqual([one, two, 'hello'])
    await leaves()
  }
})

playInProcess('the answer that a call waits for is shown by that call alone', async (stage) => {
  const { ada } = stage
  for (const [i, way] of (['hook', 'rewake', 'resume', 'tool'] as const).entries()) {
    for (const isFirst of [true, false]) {
      const name = `w${i}${isFirst}`
      const { ways, call } = await hired(stage, name)
      const look = ways[way] as Looks
      const asked = call().call('message.send', { to: 'ada', body: 'when?', wait: {} })
      await eventually(async () => void (await ada.peeksAt({ from: name }, 'when?')))
      const answer = () => ada.send(name, 'now')
      const [found] = isFirst
        ? await Promise.all([look(), answer()])
        : (await Promise.all([answer(), look()])).reverse()
      expect([way, (await asked).reply?.body, (found as Found).bodies]).toEqual([way, 'now', []])
    }
  }
})

playInProcess('what a tool has answered is not shown again, however long its model works on it', async (stage) => {
  const { ways } = await hired(stage, 'slow')
  await stage.ada.send('slow', 'a long task')
  const taken = await ways.tool?.()
  await taken?.shows()
  await stage.clock.passes(3_600_000)
  for (const way of ['hook', 'rewake', 'paste', 'CLI server'] as const)
    expect((await ways[way]?.())?.bodies).toEqual([])
})

playInProcess('what waits behind a dialog stays with who holds it, however long that takes', async (stage) => {
  const { ways } = await hired(stage, 'patient')
  await stage.ada.send('patient', 'typed, and not entered yet')
  const typed = await ways.paste?.()
  for (let minutes = 0; minutes < 60; minutes += 4) {
    await stage.clock.passes(240_000)
    expect((await ways.rewake?.())?.bodies).toEqual([])
  }
  await typed?.shows()
  expect((await ways.rewake?.())?.bodies).toEqual([])
})
