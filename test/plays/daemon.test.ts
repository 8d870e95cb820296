// The daemon's own socket: workspaces are opened, made and listed there, and the daemon is asked to stop.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { CallName, InputOf, OutputOf } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import type { DaemonHouse } from './houses.ts'
import { bodiesOf, eventually, playOnSocket, refused } from './play.ts'

async function owner(house: DaemonHouse) {
  const link = await house.control()({})
  let calls = 0
  const call = <O extends CallName>(op: O, input: InputOf<O>): Promise<OutputOf<O>> =>
    link.call(op, input, `o${calls++}`)
  return { call, close: () => link.close() }
}

playOnSocket('workspaces are opened and made, each with its key', async ({ house, key }) => {
  const { call, close } = await owner(house)
  const opened = await call('workspace.open', { workspace: 'shop', directory: '/somewhere' })
  expect(opened).toMatchObject({
    name: 'shop',
    open: true,
    created: true,
    path: join(house.dataDir, 'projects', 'shop'),
  })
  expect(await call('workspace.open', { workspace: 'shop' })).toMatchObject({ id: opened.id, created: false })
  const made = await call('workspace.create', { workspace: 'side' })
  expect(made.key).toMatch(/^rk_/)
  await refused(call('workspace.create', { workspace: 'side' }), 'workspace.exists', /"side" exists already/)
  await refused(call('workspace.open', { workspace: '../up' }), 'input.invalid', /workspace/)
  const { workspaces } = await call('workspace.list', {})
  expect(workspaces.map(({ name, open }) => [name, open])).toEqual([
    ['main', true],
    ['shop', true],
    ['side', true],
  ])
  const credentials = join(house.dataDir, 'credentials.json')
  expect(statSync(credentials).mode & 0o777).toBe(0o600)
  const kept = Object.values(
    JSON.parse(readFileSync(credentials, 'utf8')).workspaces as Record<string, { key: string }>,
  )
  expect(kept.map((each) => each.key)).toEqual(expect.arrayContaining([made.key, key()]))
  await close()
})

playOnSocket('the daemon tells of itself, and only its owner reaches its sockets', async ({ ada, house }) => {
  const { call, close } = await owner(house)
  expect(await call('daemon.status', {})).toMatchObject({ pid: process.pid, dataDir: house.dataDir, uptimeMs: 0 })
  await refused(call('message.send', { to: 'bob', body: 'x' }), 'operation.unknown', /message\.send/)
  await refused(call('agent.list', {}), 'operation.unknown', /agent\.list/)
  const { socketPath } = await ada.call('workspace.status', {})
  for (const path of [socketPath, join(house.dataDir, 'control.sock')]) {
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
  }
  await close()
})

playOnSocket('asked to stop, it answers first', async ({ house }) => {
  const { call } = await owner(house)
  expect(await call('daemon.stop', {})).toEqual({ stopping: true })
  await eventually(() => expect(house.stops).toEqual(['asked']))
})

playOnSocket('what was open is open again after a start, and nothing is lost', async ({ ada, bob, house }) => {
  await house.open('shop')
  await ada.send('bob', 'before')
  expect(bodiesOf(await bob.client.getInbox())).toEqual(['before'])
  await house.stop()
  expect(existsSync(join(house.dataDir, 'relay.lock'))).toBe(true)
  await house.start()
  const { call, close } = await owner(house)
  expect((await call('workspace.list', {})).workspaces.map(({ name, open }) => [name, open])).toEqual([
    ['main', true],
    ['shop', true],
  ])
  await ada.send('bob', 'after')
  // It may be handed out again, since its taker's session ended; the client does not show it twice.
  expect(bodiesOf(await bob.client.getInbox())).toEqual(['after'])
  await close()
})

playOnSocket(
  'a taker whose daemon was killed in between finds its messages again',
  async ({ ada, bob, house, enter }) => {
    await ada.send('bob', 'one')
    await bob.takes('one')
    await bob.leaves()
    await house.stop()
    await house.start()
    await (await enter({ name: 'bob' })).takes('one')
  },
)
