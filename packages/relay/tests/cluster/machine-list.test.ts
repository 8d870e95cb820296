// The list of machines, as a person gets it on one of them: real daemons on a real PostgreSQL.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Actor, refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { LaptopAndBox, workspace } from './laptop-and-box.ts'

let place: LaptopAndBox
let kim: Actor

beforeAll(async () => {
  place = await LaptopAndBox.start()
  await place.hearOfEachOther()
  kim = await enterKim()
})
afterAll(() => place?.close())

function enterKim(): Promise<Actor> {
  return place.enterAs(new Actor(place.laptop.connector(workspace), { name: 'kim', key: place.key }))
}

const list = async () => (await kim.call('machine.list', {})).machines
const one = async (name: string) => (await list()).find((each) => each.name === name)

test('each machine is there with its agents, its version, and what it may ask here', async () => {
  const bob = await place.enter(place.box, 'bob')
  await place.enter(place.box, 'cy').then((cy) => cy.leaves())
  // Cy is away before its machine has reported that it came, and again after that.
  await expect.poll(list).toEqual([
    {
      ...{ name: 'box', state: 'reached', version: expect.any(String), owns: false, may: [] },
      ...{ joinedAt: expect.any(String), seenAt: expect.any(String) },
      agents: [
        { name: 'bob', status: 'active' },
        { name: 'cy', status: 'offline' },
      ],
    },
    {
      ...{ name: 'laptop', state: 'here', version: expect.any(String), owns: true },
      ...{ joinedAt: expect.any(String), seenAt: expect.any(String) },
      agents: [{ name: 'kim', status: 'active' }],
    },
  ])
  await place.allow(place.laptop, 'box', 'approve', 'release')
  expect((await one('box'))?.may).toEqual(['approve', 'release'])
  await refused(bob.call('machine.list', {}), 'auth.denied', /key/)
})

test('one that has no daemon yet is not missed, and one that was removed says so', async () => {
  await place.world.join('ci')
  expect(await one('ci')).toMatchObject({ state: 'closed', agents: [], may: [] })
  await place.world.asAdmin((client) => revokeMachine(client, 'ci'))
  const ci = await one('ci')
  expect(ci).toMatchObject({ state: 'removed', revokedAt: expect.any(String) })
  expect(ci).not.toHaveProperty('may')
})

test('one whose daemon has stopped is closed, and its agents are away', async () => {
  await place.box.stop()
  await until(async () => (await one('box'))?.state === 'closed')
  expect((await one('box'))?.agents.map(({ status }) => status)).toEqual(['offline', 'offline'])
})

test('without the database it comes from what this machine knows, and says why', async () => {
  place.server.kill()
  await until(async () => (await kim.call('machine.list', {})).cutOff)
  const answer = await kim.call('machine.list', {})
  expect(answer.machines.find(({ name }) => name === 'box')).toMatchObject({ may: ['approve', 'release'] })
  const { workspaces } = await place.laptop.control('workspace.list', {})
  expect(answer.cutOff).toEqual(workspaces.find(({ name }) => name === workspace)?.cutOff)
  expect(answer.trouble).toMatch(/^"team" cannot be reached at .* It answered last at /)
  await kim.leaves()
  await place.laptop.stop()
  await place.laptop.start()
  kim = await enterKim()
  expect(await list()).toEqual([
    {
      ...{ name: 'box', state: 'unreachable', owns: false },
      agents: [
        { name: 'bob', status: 'unreachable' },
        { name: 'cy', status: 'unreachable' },
      ],
    },
    { name: 'laptop', state: 'here', owns: true, agents: [{ name: 'kim', status: 'active' }] },
  ])
  await place.server.resume()
  await until(async () => (await one('box'))?.may?.length === 2)
  await until(async () => (await kim.call('machine.list', {})).trouble === undefined)
})

test('a workspace of this machine alone has none', async () => {
  const { key } = await place.laptop.open('own')
  const ada = await place.enterAs(new Actor(place.laptop.connector('own'), { name: 'ada', key }))
  expect(await ada.call('machine.list', {})).toEqual({ machines: [] })
})
