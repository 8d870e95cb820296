// An answer that never ends, which a machine can make another ask for: the daemon gives it up, says so, and goes on.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer
let daemon: PostgresCluster

beforeAll(async () => {
  server = await PostgresServer.start()
  daemon = new PostgresCluster(await (await server.cluster('relay')).join('one'))
})
afterAll(async () => {
  await daemon?.close()
  server?.end()
})

const answer = (mebibytes: number) =>
  daemon.asReader(async (client) => {
    const text = "SELECT repeat('x', 1048576) AS x FROM generate_series(1, $1)"
    return (await client.query(text, [mebibytes])).rows.length
  })

test('the memory of a daemon holds no more of an answer than its limit', async () => {
  expect(await answer(40)).toBe(40)
  await expect(answer(100_000)).rejects.toThrow('an answer of the server is longer than 64 MiB')
  expect(await answer(1)).toBe(1)
  // Each question counts for itself.
  for (let i = 0; i < 3; i++) expect(await answer(30)).toBe(30)
})

test('one row that is too long is given up as well', async () => {
  const one = daemon.asReader((client) => client.query("SELECT repeat('x', 100000000)"))
  await expect(one).rejects.toThrow('longer than 64 MiB')
  expect(await answer(1)).toBe(1)
})
