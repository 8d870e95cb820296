// The owner of a shared workspace, with real daemons on a real PostgreSQL: only that machine takes it back or hands it over, whatever another says.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import { giveWorkspace } from '../../src/cluster/postgres/machines.ts'
import { Machine } from './machine.ts'
import { PostgresServer, type PostgresWorld } from './postgres-server.ts'

const workspace = 'team'
let server: PostgresServer
let world: PostgresWorld
let laptop: Machine
let box: Machine

beforeAll(async () => {
  server = await PostgresServer.start()
  world = await server.cluster('relay')
  laptop = await Machine.start('laptop', world, { onTrouble: () => {} })
  box = await Machine.start('box', world, { onTrouble: () => {} })
  await laptop.open(workspace)
  await laptop.control('workspace.share', { workspace })
  await box.control('workspace.open', { workspace, mustExist: true })
})
afterAll(async () => {
  await laptop?.close()
  await box?.close()
  server?.end()
})

const ownerOn = async (machine: Machine) => (await machine.open(workspace)).workspace.store.view.owner()
const known = (name: string) =>
  Promise.all([laptop, box].map((machine) => until(async () => (await ownerOn(machine)) === name)))
const owner = async () => {
  const text = 'SELECT m.name FROM relay.workspaces w JOIN relay.machines m ON m.id = w.owner WHERE w.name = $1'
  return (await world.asAdmin((client) => client.query(text, [workspace]))).rows[0]?.name
}

test('the machine that shared a workspace owns it, and no other takes it back', async () => {
  expect(await owner()).toBe('laptop')
  await known('laptop')
  await refused(
    box.control('workspace.unshare', { workspace, force: true }),
    'cluster.owned',
    /belongs to the machine laptop.*hand-over team/,
  )
  await refused(box.control('workspace.hand-over', { workspace, machine: 'box' }), 'cluster.owned', /only its owner/)
  expect(await owner()).toBe('laptop')
  // Nothing of it was taken away.
  await box.control('workspace.open', { workspace, mustExist: true })
})

test('by hand in SQL no other machine takes it back, hands it over or ends the copying of another', async () => {
  const rogue = await world.join('rogue')
  const { id } = (await laptop.open(workspace)).workspace
  await withClient(rogue, async (client) => {
    const asked = async (text: string, values: unknown[]) =>
      (await client.query(`SELECT ${text} AS answer`, values)).rows[0].answer
    const { boot } = (await client.query("SELECT boot FROM relay.hello_1('x')")).rows[0]
    const { rows } = await client.query('SELECT head FROM relay.list_1()')
    const { mark } = (await client.query('SELECT * FROM relay.follow_1($1, $2, 0, $3, 1000)', [id, boot, ''])).rows.at(
      -1,
    )
    expect(await asked('relay.take_back_1($1, $2, $3, $4)', [id, boot, rows[0].head, mark])).toBe('owner')
    expect(await asked('relay.hand_over_1($1, $2, $3)', [id, boot, 'rogue'])).toBe('owner')
    const honest = await world.join('honest')
    await withClient(honest, async (mover) => {
      const other = (await mover.query("SELECT boot FROM relay.hello_1('x')")).rows[0].boot
      await mover.query("SELECT relay.move_in_1('w_new', 'new', $1)", [other])
      const draft = JSON.stringify([{ at: 1, by: 'agent-relay', cause: 'c' }])
      await mover.query("SELECT relay.copy_1('w_new', $1, 0, 's', '[]', '[]', $2, '[\"{}\"]', '[null]')", [
        other,
        draft,
      ])
      expect(await asked("relay.move_end_2('w_new', $1, 1, 2)", [boot])).toBe(false)
      expect(await asked("relay.move_end_1('w_new', $1, 1)", [boot])).toBe(false)
      expect((await mover.query("SELECT relay.move_end_2('w_new', $1, 1, 2) AS is", [other])).rows[0].is).toBe(true)
    })
    expect(await asked("relay.hand_over_1('w_new', $1, 'rogue')", [boot])).toBe('owner')
  })
})

test('its owner hands it over, and what the new one may do is its own from then on', async () => {
  await refused(
    laptop.control('workspace.hand-over', { workspace, machine: 'nobody' }),
    'input.invalid',
    /no machine nobody/,
  )
  expect(await laptop.control('workspace.hand-over', { workspace, machine: 'box' })).toEqual({
    workspace,
    machine: 'box',
  })
  expect(await owner()).toBe('box')
  await known('box')
  await refused(laptop.control('workspace.hand-over', { workspace, machine: 'laptop' }), 'cluster.owned', /team/)
  await refused(laptop.control('workspace.unshare', { workspace, force: true }), 'cluster.owned', /the machine box/)
})

test('whoever administers the database gives it to another one', async () => {
  await world.asAdmin((client) => giveWorkspace(client, workspace, 'laptop'))
  await known('laptop')
  await refused(box.control('workspace.unshare', { workspace, force: true }), 'cluster.owned', /the machine laptop/)
  expect(await laptop.control('workspace.unshare', { workspace, force: true })).toMatchObject({ name: workspace })
})
