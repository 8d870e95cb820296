// Another local user's program in the place of PostgreSQL: it gets no password and no data, and no stranger's socket is taken for the server.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { postgresPortsIn } from '../../src/cli/commands/cluster/own-server.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'

/** Answers of a server, after their length: it asks for the password itself, for its MD5, or lets anybody in. */
const asksForPassword = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 3])
const asksForDigest = Buffer.from([82, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4])
const letsIn = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73])

function stranger(answer: Buffer, heard: Buffer[], at: number | string = 0): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard.push(bytes)
      if (heard.length === 1) socket.write(answer)
    })
  })
  onTestFinished(() => void server.close())
  return new Promise((resolve) => void server.listen(at, () => resolve(server)))
}

test.each([
  ['for the password', asksForPassword],
  ['for its digest', asksForDigest],
  ['for nothing', letsIn],
])('a program that asks %s is no server of ours', async (_, answer) => {
  const heard: Buffer[] = []
  const { port } = (await stranger(answer, heard)).address() as { port: number }
  const login = { user: 'relay_laptop_0123abcd', password: 'a secret of this machine' }
  const asked = withClient({ host: '127.0.0.1', port, database: 'relay', ...login }, (client) =>
    client.query('SELECT 1'),
  )
  await expect(asked).rejects.toThrow(/did not prove that it knows this role/)
  // The name of the role, and nothing after that.
  expect(heard).toHaveLength(1)
  expect(Buffer.concat(heard).toString()).not.toContain(login.password)
})

test('a socket counts only if this person, the system or the account of the server has made it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-sockets-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await stranger(letsIn, [], join(folder, '.s.PGSQL.5433'))
  const own = process.getuid?.() as number
  expect(postgresPortsIn(folder, [own])).toEqual([5433])
  expect(postgresPortsIn(folder, [own + 1])).toEqual([])
  expect(postgresPortsIn(join(folder, 'none'))).toEqual([])
})
