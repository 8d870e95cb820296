// The contract of a control, checked for every control: a scripted agent that is typed into, and one that speaks ACP. Misbehaving ACP agents are
// in acp.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { acpAgent, carrying, scriptedAgent, WorkerWorld } from './worker-world.ts'

interface Kind {
  control: 'pty' | 'acp'
  cli: string
  agent: string
  route: string
  /** What makes it ask a person, what the parent is told, and the answer. */
  asks: { text: string; told: string; answer: string }
  /** What it logs when its turn is interrupted while it asks. */
  takesBack: object
}

const kinds: Kind[] = [
  {
    ...{ control: 'pty', cli: 'scripted', agent: scriptedAgent, route: 'paste' },
    asks: { text: 'dialog', told: 'is blocked: a dialog is open.', answer: 'y' },
    takesBack: { event: 'dialog-key', char: '\x1b' },
  },
  {
    ...{ control: 'acp', cli: 'acp', agent: acpAgent, route: 'acp' },
    asks: { text: 'ask 1 touch', told: 'is blocked: it wants to run "touch" (ap-', answer: '1\r' },
    takesBack: { event: 'permission', outcome: 'cancelled' },
  },
]

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start()
})
afterAll(() => world.stop())

describe.each(kinds)('$control', ({ control, cli, agent, route, asks, takesBack }) => {
  const hire = async (name: string, task?: string) => {
    const command = [process.execPath, agent, '--log', world.logPath(name)]
    const spawned = await world.lead.call('worker.spawn', { name, cli, command, control, task, cwd: world.root })
    await until(() => world.isReady(name))
    return spawned.worker
  }
  const send = async (to: string, body: string) => (await world.lead.call('message.send', { to, body })).id
  const state = async (id: string) => (await world.lead.call('message.receipts', { message: id })).receipts[0]
  const isIdle = async (name: string) => (await world.status(name)) === 'idle'
  const queue = async (name: string) => {
    const { approvals } = await world.lead.call('approval.list', {})
    return approvals.filter((each) => each.agent === name)
  }
  const events = (name: string, event: string) => world.log(name).filter((each) => each.event === event)

  test('it is told which control it has, gets its task once, and calls our tools', async () => {
    const name = `Task-${control}`
    const worker = await hire(name, 'call relay_send {"to":"Lead","message":"did it"}')
    expect(worker).toMatchObject({ control, cli })
    await until(() => events(name, 'answered').length === 1)
    const { messages } = await world.lead.call('inbox.peek', { from: name })
    expect(messages.map(({ body }) => body)).toEqual(['did it'])
    expect(world.submitted(name)).toHaveLength(1)
    expect(world.submitted(name)[0]).toContain(`You are ${name}, a worker of Lead`)
    const released = await world.lead.call('worker.release', { name })
    expect(released.worker).toMatchObject({ status: 'exited', control })
    expect(carrying(`RELAY_WORKER=${worker.id}`)).toEqual([])
  })

  test('mail is given while it is idle, and waits for the end of a turn while it is busy', async () => {
    const name = `Mail-${control}`
    await hire(name)
    const first = await send(name, 'busy 700')
    await until(() => world.submitted(name).length === 1)
    await until(async () => (await world.status(name)) === 'busy')
    const second = await send(name, 'while busy')
    await until(() => world.submitted(name).length === 2)
    const [one, two] = events(name, 'submitted')
    expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThanOrEqual(700)
    expect(events(name, 'submitted-while-busy')).toEqual([])
    await until(async () => (await state(second))?.state === 'offered')
    expect([await state(first), await state(second)]).toMatchObject([{ route }, { route }])
    await world.lead.call('worker.release', { name })
  })

  test('what it asks of a person is reported once, holds its mail, and is answered at its terminal', async () => {
    const name = `Asks-${control}`
    await hire(name)
    await send(name, asks.text)
    await until(async () => (await world.status(name)) === 'blocked')
    const blocked = async () => {
      const { messages } = await world.lead.call('inbox.peek', { from: 'agent-relay', unreadOnly: false, limit: 500 })
      return messages.map(({ body }) => body).filter((body) => body.includes(name) && body.includes('is blocked'))
    }
    await until(async () => (await blocked()).length === 1)
    expect((await blocked())[0]).toContain(asks.told)
    const held = await send(name, 'held')
    expect((await state(held))?.state).toBe('stored')
    await until(async () => (await queue(name)).length === 1)
    await world.types(name, asks.answer)
    await until(async () => (await queue(name)).length === 0)
    await until(() => world.submitted(name).length === 2)
    expect(world.submitted(name)[1]).toContain('held')
    expect(await blocked()).toHaveLength(1)
    await world.lead.call('worker.release', { name })
  })

  test('its screen shows what it did; a paused one gets nothing', async () => {
    const name = `Held-${control}`
    await hire(name)
    await world.lead.call('worker.pause', { name })
    const id = await send(name, 'busy 50')
    expect((await world.lead.call('worker.resume', { name })).worker.control).toBe(control)
    await until(() => world.submitted(name).length === 1)
    const screen = async () => (await world.lead.call('worker.screen', { name })).text
    await until(async () => (await screen()).includes('working'))
    await until(() => isIdle(name))
    expect((await state(id))?.route).toBe(route)
    await world.lead.call('worker.release', { name })
  })

  test('its turn is interrupted: it stays, and is given what waited', async () => {
    const name = `Stops-${control}`
    await hire(name)
    const interrupt = () => world.lead.call('worker.interrupt', { name })
    await until(() => isIdle(name))
    await expect(interrupt()).rejects.toMatchObject({
      ...{
        code: 'worker.no-turn',
        message: expect.stringContaining(`Worker "${name}" is not in a turn: it waits for its next prompt.`),
      },
    })
    const first = await send(name, 'busy 60000')
    await until(async () => (await world.status(name)) === 'busy')
    const second = await send(name, 'waited')
    expect((await state(second))?.state).toBe('stored')
    const answer = await interrupt()
    expect([answer.worker.name, answer.note]).toEqual([name, undefined])
    await until(() => world.submitted(name).length === 2)
    expect(world.submitted(name)[1]).toContain('waited')
    expect(events(name, 'submitted-while-busy')).toEqual([])
    await until(async () => (await state(second))?.state === 'offered')
    expect([await state(first), await state(second)]).toMatchObject([
      { state: 'offered', route },
      { state: 'offered', route },
    ])
    await world.lead.call('worker.release', { name })
    const { events: told } = await world.lead.call('event.list', { types: ['worker.interrupted'] })
    const own = told.filter(({ fact }) => (fact as { worker?: string }).worker === name)
    expect(own).toMatchObject([{ by: 'Lead' }])
    await expect(interrupt()).rejects.toMatchObject({ code: 'worker.exited' })
  })

  test('interrupted while it asks, it takes the question back', async () => {
    const name = `Drops-${control}`
    await hire(name)
    await send(name, asks.text)
    await until(async () => (await queue(name)).length === 1)
    const { id } = (await queue(name))[0] as { id: string }
    expect((await world.lead.call('worker.interrupt', { name })).note).toBeUndefined()
    await until(() => world.log(name).some((each) => Object.entries(takesBack).every(([key, is]) => each[key] === is)))
    await until(async () => (await queue(name)).length === 0)
    await until(() => isIdle(name))
    const { events: closed } = await world.lead.call('event.list', { types: ['approval.closed'] })
    expect(closed.map(({ fact }) => fact)).toContainEqual(expect.objectContaining({ id, how: 'cancelled' }))
    await send(name, 'and now')
    await until(() => world.submitted(name).length === 2)
    await world.lead.call('worker.release', { name })
  })

  test('paused, it is not interrupted', async () => {
    const name = `Frozen-${control}`
    await hire(name)
    await send(name, 'busy 60000')
    await until(async () => (await world.status(name)) === 'busy')
    await world.lead.call('worker.pause', { name })
    const why = 'it is paused, and can be resumed or released'
    await expect(world.lead.call('worker.interrupt', { name })).rejects.toMatchObject({
      ...{ code: 'worker.no-turn', message: expect.stringContaining(why) },
    })
    await world.lead.call('worker.resume', { name })
    expect((await world.lead.call('worker.interrupt', { name })).note).toBeUndefined()
    await until(() => isIdle(name))
    await world.lead.call('worker.release', { name })
  })

  test('one that ends by itself is reported with its code', async () => {
    const name = `Ends-${control}`
    const worker = await hire(name)
    await send(name, 'exit 3')
    await until(async () => (await world.status(name)) === 'exited')
    await until(async () => (await world.told(name)).some((text) => text.includes('its program ended with code 3')))
    const { workers } = await world.lead.call('worker.list', { all: true })
    expect(workers.find(({ id }) => id === worker.id)).toMatchObject({ status: 'exited', code: 3, control })
    expect(carrying(`RELAY_WORKER=${worker.id}`)).toEqual([])
  })
})

test('nothing went wrong that nobody was told of', () => expect(world.troubles).toEqual([]))
