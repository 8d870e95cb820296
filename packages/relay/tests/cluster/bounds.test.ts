// A machine that asks without end and claims that everybody is there: the others read a bounded part of it, and serve honest machines as before.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { putAnswer, putQuestion, reportPresence, unansweredQuestions } from '../../src/cluster/postgres/calls.ts'
import { type Client, withClient } from '../../src/cluster/postgres/connection.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { emptyWorkspace } from './empty-workspace.ts'
import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer
let daemons: PostgresCluster[]
let rogue: Parameters<typeof withClient>[0]

beforeAll(async () => {
  server = await PostgresServer.start()
  const world = await server.cluster('relay')
  daemons = [new PostgresCluster(await world.join('one')), new PostgresCluster(await world.join('two'))]
  for (const daemon of daemons) for (const id of ['w_1', 'w_2', 'w_3']) await emptyWorkspace(daemon, id)
  rogue = await world.join('rogue')
})
afterAll(async () => {
  for (const daemon of daemons ?? []) await daemon.close()
  server?.end()
})

const started = async (client: Client) => (await client.query("SELECT boot FROM relay.hello_1('x')")).rows[0].boot

test('of its questions a hundred are open at once, a few are shown, and those of others come through', async () => {
  const [one, two] = daemons as [PostgresCluster, PostgresCluster]
  const text =
    "SELECT count(*) FILTER (WHERE relay.ask_1($1, 'w_1', 'r' || $2 || '.' || n, 'one', repeat('x', 100000), 60000)) AS n FROM generate_series(1, 300) n"
  const count = async (client: Client, boot: number, name: string) =>
    Number((await client.query(text, [boot, name])).rows[0].n)
  await withClient(rogue, async (client) => {
    const boot = await started(client)
    const all = await Promise.all([count(client, boot, 'a'), withClient(rogue, (other) => count(other, boot, 'b'))])
    expect(all[0] + all[1]).toBe(100)
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    expect(await count(client, boot, 'c')).toBe(0)
    await client.query('ROLLBACK')
  })
  expect(await putQuestion(two, { id: 'q', workspace: 'w_1', machine: 'one', input: '{}' }, 5_000)).toBe(true)
  const shown = await unansweredQuestions(one)
  expect(shown.length).toBe(21)
  expect(shown.filter(({ machine }) => machine === 'two').map(({ id }) => id)).toEqual(['q'])
  // What was answered makes room for the next.
  for (const { id } of shown) await putAnswer(one, id, '{}')
  expect((await unansweredQuestions(one)).length).toBe(20)
})

test('of what it says about who is there, others read at most so much in one answer, and all that honest ones say', async () => {
  const [one, two] = daemons as [PostgresCluster, PostgresCluster]
  await withClient(rogue, async (client) => {
    const here = ['w_1', 'w_2', 'w_3'].map((workspace) => ({ workspace, agents: 'x'.repeat(3_900_000) }))
    await client.query('SELECT relay.present_2($1, 0, $2)', [await started(client), JSON.stringify(here)])
  })
  await reportPresence(two, 0, [{ workspace: 'w_1', agents: '[1]' }])
  const { reported } = await reportPresence(
    one,
    0,
    ['w_1', 'w_2', 'w_3'].map((workspace) => ({ workspace, agents: '' })),
  )
  expect(reported.reduce((sum, { agents }) => sum + agents.length, 0)).toBeLessThanOrEqual(4_000_000)
  expect(reported.find(({ machine }) => machine === 'two')?.agents).toBe('[1]')
  expect(reported.filter(({ machine }) => machine === 'rogue').length).toBe(3)
})
