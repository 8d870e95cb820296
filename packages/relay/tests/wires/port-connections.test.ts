// The port's records of its connections go with them.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { PortConnections } from '../../src/wires/port-connections.ts'

test('a connection that closes before its answer has ended is forgotten', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connect(port, '127.0.0.1').on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const connections = new PortConnections()
  connections.add(socket)
  const [first, second] = [connections.beginRequest(socket), connections.beginRequest(socket)]
  connections.markAuthenticated(socket)
  expect([connections.known, connections.busy]).toEqual([1, 1])
  first()
  expect(connections.busy).toBe(1)
  client.destroy()
  socket.destroy()
  await once(socket, 'close')
  // A stream's answer ends because its connection has closed.
  second()
  expect([connections.strangers, connections.known, connections.busy]).toEqual([0, 0, 0])
  server.close()
})
