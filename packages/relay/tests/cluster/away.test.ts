// A daemon that starts while its shared workspace's database is unreachable: what people see, and that it goes on by itself once the database is
// back. Real daemon, real PostgreSQL.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Actor, refused } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { SharedWorkspaceFile } from '../../src/machine/cluster-file.ts'
import { Machine } from './machine.ts'
import { PostgresServer } from './postgres-server.ts'

const troubles: string[] = []
let server: PostgresServer
let laptop: Machine

beforeAll(async () => {
  server = await PostgresServer.start()
  const onTrouble = ({ message }: Error) => void troubles.push(message)
  laptop = await Machine.start('laptop', await server.cluster('relay'), { onTrouble })
  await laptop.open('team')
  await laptop.control('workspace.share', { workspace: 'team' })
})
afterAll(async () => {
  await laptop?.close()
  server?.end()
})

async function enter(name: string, token?: string): Promise<Actor> {
  const actor = new Actor(laptop.connector('team'), { name, token })
  await actor.client.connect()
  return actor
}

const list = () => laptop.control('workspace.list', {})
const team = async () => (await list()).workspaces.find(({ name }) => name === 'team')

const isStored = (sending: Promise<unknown>) =>
  sending.then(
    () => true,
    () => false,
  )

test('who is known comes in and reads what there is, and all goes on when the database is back', async () => {
  const [ada, bob] = [await enter('ada'), await enter('bob')]
  await ada.send('bob', 'before')
  await ada.send('#general', 'for all')
  await bob.call('action.register', { name: 'thing.do', description: 'Does it.', inputSchema: { type: 'object' } })
  server.kill()
  // Its end cannot be written: the next daemon has to do it.
  for (const actor of [ada, bob]) await actor.leaves()
  await laptop.stop()
  await laptop.start()
  const again = await enter('ada', ada.token)
  expect((await again.call('message.list', { conversation: '#general' })).messages).toMatchObject([{ body: 'for all' }])
  expect(await team()).toMatchObject({ open: true, shared: true })
  expect((await list()).clusterFault).toContain('cannot be reached')
  await server.resume()
  await until(() => isStored(again.send('bob', 'back')))
  await until(async () => (await again.call('event.list', { types: ['action.withdrawn'] })).events.length === 1)
  const bobAgain = await enter('bob')
  await until(async () => (await bobAgain.call('inbox.peek', {})).messages.some(({ body }) => body === 'back'))
  await again.leaves()
  await bobAgain.leaves()
})

test('one that cannot be opened without the database is opened by itself when that is back', async () => {
  await laptop.stop()
  const file = new SharedWorkspaceFile(laptop.dataDir, 'team')
  const { id } = file.read() as { id: string }
  // As a crash leaves it while the workspace is taken back: only the cluster knows which of the two holds.
  file.write({ id, phase: 'leaving' })
  server.kill()
  await laptop.start()
  expect(troubles.at(-1)).toMatch(/"team" cannot be reached/)
  expect(await team()).toMatchObject({ open: false, shared: true })
  await refused(laptop.control('workspace.open', { workspace: 'team' }), 'cluster.unreachable', /Try again later/)
  await server.resume()
  await until(async () => (await team())?.open)
  const ada = await enter('ada')
  await until(() => isStored(ada.send('bob', 'and on')))
  await ada.leaves()
})
