// A person on the second machine of a shared workspace, by the real command line: without the workspace's key they learn how to get it, and with
// it they learn their second name, in words for people.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { loginName } from '../../src/cli/connection.ts'
import { ClusterFile, type ClusterMembership } from '../../src/machine/cluster-file.ts'
import { World } from '../cli/cli-world.ts'
import { PostgresServer } from './postgres-server.ts'

const [laptop, box] = [new World(), new World()]
const me = loginName()
let server: PostgresServer
let key: string

beforeAll(async () => {
  server = await PostgresServer.start()
  const world = await server.cluster('relay')
  for (const [name, machine] of Object.entries({ laptop, box })) {
    machine.directory('data')
    new ClusterFile(machine.dataDir).write({ ...(await world.join(name)), machine: name } as ClusterMembership)
  }
  await Promise.all([laptop.serve(), box.serve()])
  await laptop.run(['workspace', 'create', 'team'])
  await laptop.run(['workspace', 'share', 'team'])
  await box.run(['workspace', 'open', 'team'])
  key = (await laptop.run(['workspace', 'key', 'team'])).stdout
  await laptop.run(['send', '#general', 'hello', '--project', 'team'])
})
afterAll(async () => {
  await Promise.all([laptop.close(), box.close()])
  server?.end()
})

test('without its key the workspace says where the key is, and how to keep it', async () => {
  const keep = 'agent-relay workspace key team --keep keeps it here'
  for (const args of [
    ['send', '#general', 'hi', '--project', 'team'],
    ['workspace', 'key', 'team'],
    ['workspace', 'export', '--project', 'team'],
  ]) {
    const { code, stderr } = await box.launch(args)
    expect([args[0], code === 0, stderr]).toEqual([args[0], false, expect.stringContaining(keep)])
    expect(stderr).not.toContain('--rotate')
  }
  // One of this machine alone is as it was.
  await box.run(['workspace', 'create', 'own'])
  expect((await box.run(['workspace', 'key', 'own'])).code).toBe(0)
})

test('with it, the first command says the second name, and no other one repeats it', async () => {
  expect((await box.launch(['workspace', 'key', 'team', '--keep'], { input: key })).code).toBe(0)
  const first = await box.launch(['send', '#general', 'from here', '--project', 'team'])
  expect([first.code, first.stderr]).toEqual([
    0,
    expect.stringContaining(`${me} is at home on laptop; on this machine you are ${me}-box.`),
  ])
  const again = await box.launch(['inbox', '--as', me, '--project', 'team'])
  expect(again.code).toBe(0)
  for (const { stderr } of [first, again]) expect(stderr).not.toMatch(/\(node:|Warning|strictName|onRenamed/)
  expect(again.stderr).not.toContain('at home on')
})
