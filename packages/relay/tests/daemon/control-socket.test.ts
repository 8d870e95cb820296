// The daemon's own socket: opening, making and listing workspaces, and its state.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { type Link, makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Daemon } from '../../src/daemon/daemon.ts'
import { isDaemonRunning } from '../../src/daemon/inspect.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'control-'))
const id = makeIds()
const ends: string[] = []
let daemon: Daemon
let link: Link

beforeAll(async () => {
  const options = { dataDir, credentialsPath: join(dataDir, 'credentials.json'), onTrouble: () => {} }
  daemon = (await Daemon.start({ ...options, onStop: (reason) => ends.push(reason) })) as Daemon
  link = await socketConnector(controlSocketPath(dataDir))({})
})
afterAll(async () => {
  await link.close()
  await daemon.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

it('opens a workspace once, and makes a new one only if there is none', async () => {
  const made = await link.call('workspace.open', { workspace: 'app', directory: '/somewhere/app' }, id('c'))
  expect(made).toMatchObject({ name: 'app', open: true, created: true })
  expect(await link.call('workspace.open', { workspace: 'app' }, id('c'))).toEqual({ ...made, created: false })
  const { key } = await link.call('workspace.create', { workspace: 'other' }, id('c'))
  expect(key).toMatch(/^rk_/)
  await expect(link.call('workspace.create', { workspace: 'app' }, id('c'))).rejects.toMatchObject({
    code: 'workspace.exists',
  })
  await expect(link.call('workspace.open', { workspace: '../x' }, id('c'))).rejects.toMatchObject({
    code: 'input.invalid',
  })
})

it('lists the workspaces and the state of the daemon, but no content of a workspace', async () => {
  const { workspaces } = await link.call('workspace.list', {}, id('c'))
  expect(workspaces.map(({ name, open }) => [name, open])).toEqual([
    ['app', true],
    ['other', true],
  ])
  expect(await link.call('daemon.status', {}, id('c'))).toMatchObject({ pid: process.pid, dataDir, workspaces })
  await expect(link.call('agent.list', {}, id('c'))).rejects.toMatchObject({ code: 'operation.unknown' })
})

it('there is one daemon for a data directory, and it stops when asked', async () => {
  expect(isDaemonRunning(dataDir)).toBe(true)
  expect(await link.call('daemon.stop', {}, id('c'))).toEqual({ stopping: true })
  await expect.poll(() => ends).toEqual(['asked'])
})
