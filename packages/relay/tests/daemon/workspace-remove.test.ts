// Removing a workspace from a daemon that goes on: it is gone with its key, nobody is cut off unasked, and the others notice nothing.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectRelay } from '@agent-relay/sdk'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { CallName, InputOf } from '@agent-relay/sdk/protocol'
import { type Link, makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { Daemon } from '../../src/daemon/daemon.ts'
import { type Clock, systemClock } from '../../src/machine/clock.ts'

const id = makeIds()
let dataDir: string
let daemon: Daemon
let control: Link
const troubles: Error[] = []
const alarms = new Set<() => void>()
/** The system's, and a test may let every alarm come at once. */
const clock: Clock = {
  ...systemClock,
  after(ms, work) {
    const once = () => void (alarms.delete(once) && work())
    alarms.add(once)
    const alarm = systemClock.after(ms, once)
    return {
      cancel() {
        alarms.delete(once)
        alarm.cancel()
      },
    }
  },
}

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'remove-'))
  await start()
})
afterEach(async () => {
  await stop()
  rmSync(dataDir, { recursive: true, force: true })
  expect(troubles.splice(0)).toEqual([])
})

async function start(): Promise<void> {
  const onTrouble = (error: Error) => troubles.push(error)
  const options = { dataDir, credentialsPath: join(dataDir, 'credentials.json'), clock, onTrouble }
  daemon = (await Daemon.start({ ...options, onStop: () => {} })) as Daemon
  control = await socketConnector(controlSocketPath(dataDir))({})
}

async function stop(): Promise<void> {
  await control.close()
  await daemon.stop()
}

const ask = <O extends CallName>(op: O, input: InputOf<O>) => control.call(op, input, id('c'))
const enter = (workspace: string, name: string) => connectRelay({ socketPath: socketPathOf(dataDir, workspace), name })
const folder = (...parts: string[]) => join(dataDir, 'projects', ...parts)
const keys = () => JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')).workspaces as object
const names = async () => (await ask('workspace.list', {})).workspaces.map(({ name }) => name)

test('a removed workspace is gone with its files and its key, and its name is free', async () => {
  await ask('workspace.create', { workspace: 'other' })
  const { id: former, path } = await ask('workspace.create', { workspace: 'app' })
  const ada = await enter('app', 'ada')
  await ada.messages.send('#general', 'lost')
  await ada.close()
  await expect.poll(() => ask('workspace.remove', { workspace: 'app' })).toEqual({ workspace: 'app', path })
  expect([existsSync(path), existsSync(join(dataDir, 'removed')), await names()]).toEqual([false, false, ['other']])
  expect(Object.values(keys())).toMatchObject([{ name: 'other' }])
  expect(JSON.parse(readFileSync(join(dataDir, 'open.json'), 'utf8'))).toEqual(['other'])
  await expect(ask('workspace.remove', { workspace: 'app' })).rejects.toMatchObject({ code: 'workspace.unknown' })

  expect(await ask('workspace.open', { workspace: 'app' })).toMatchObject({ created: true })
  const again = await enter('app', 'ada')
  expect((await again.client.call('workspace.status', {})).workspaceId).not.toBe(former)
  expect((await again.events.list({ since: 0, types: ['message.created'] })).events).toEqual([])
  await again.close()
})

test('a workspace with connections is removed only by force; then they are told, and the daemon goes on', async () => {
  await ask('workspace.open', { workspace: 'app' })
  await ask('workspace.open', { workspace: 'other' })
  const [ada, bob] = [await enter('app', 'ada'), await enter('app', 'bob')]
  await expect(ask('workspace.remove', { workspace: 'app' })).rejects.toMatchObject({
    code: 'workspace.busy',
    message: expect.stringMatching(/in use by ada, bob\. .*agent-relay workspace remove app --force$/),
  })
  await bob.actions.register({
    name: 'slow',
    description: 'Never answers.',
    inputSchema: z.object({}),
    handler: () => new Promise(() => {}),
  })
  const waits = [
    ada.messages.ask('bob', 'Well?', { timeoutMs: 60_000 }),
    ada.actions.invoke('slow', {}, { timeoutMs: 60_000 }),
  ].map((waiting) =>
    waiting.then(
      () => 'answered',
      () => 'ended',
    ),
  )
  const told = new Promise((resolve) => ada.client.on('disconnect', ({ refusal }) => resolve(refusal?.code)))
  await expect.poll(async () => (await bob.client.call('inbox.count', {})).total).toBe(1)

  await ask('workspace.remove', { workspace: 'app', force: true })
  expect(await told).toBe('workspace.removed')
  expect(await Promise.all(waits)).toEqual(['ended', 'ended'])
  expect([existsSync(folder('app')), await names()]).toEqual([false, ['other']])
  const eve = await enter('other', 'eve')
  // What was to come later, the end of the action's time too, comes to a workspace that is no more.
  for (const alarm of [...alarms]) alarm()
  expect(await eve.messages.send('#general', 'still here')).toMatchObject({ id: expect.any(String) })
  await Promise.all([ada, bob, eve].map((each) => each.close()))
})

test('callers that ask for the name during the removal get one new workspace', async () => {
  const { id: former } = await ask('workspace.open', { workspace: 'app' })
  const ada = await enter('app', 'ada')
  const told = new Promise((resolve) => ada.client.on('disconnect', resolve))
  const removing = ask('workspace.remove', { workspace: 'app', force: true })
  await told
  const opened = await Promise.all(Array.from({ length: 5 }, () => ask('workspace.open', { workspace: 'app' })))
  await removing
  const ids = [...new Set(opened.map((entry) => entry.id))]
  expect(ids).not.toContain(former)
  expect((await ask('workspace.list', {})).workspaces.map((entry) => entry.id)).toEqual(ids)
  await ada.close()
})

test('a damaged workspace and one that is not open can be removed too', async () => {
  await ask('workspace.open', { workspace: 'shut' })
  await stop()
  mkdirSync(folder('broken'))
  writeFileSync(folder('broken', 'relay.db'), 'no database\n'.repeat(1_000))
  rmSync(join(dataDir, 'open.json'))
  await start()
  await ask('workspace.remove', { workspace: 'broken' })
  await ask('workspace.remove', { workspace: 'shut' })
  expect([readdirSync(folder()), await names(), keys()]).toEqual([[], [], {}])
})

test('what a removal that was cut off left behind is removed at the next start', async () => {
  await ask('workspace.open', { workspace: 'app' })
  await stop()
  // The state right after the one step that decides; before it the workspace is whole.
  mkdirSync(join(dataDir, 'removed', 'w-1'), { recursive: true })
  renameSync(folder('app'), join(dataDir, 'removed', 'w-1', 'app'))
  await start()
  expect([await names(), existsSync(join(dataDir, 'removed'))]).toEqual([[], false])
})

test('of two removals at once the second is told that it is gone, and a workspace made again stays', async () => {
  await daemon.open('app')
  const [first, second] = [daemon.remove('app', true), daemon.remove('app', true)]
  await expect(second).rejects.toMatchObject({ refusal: { code: 'workspace.unknown' } })
  await first
  await daemon.open('app')
  expect(existsSync(folder('app', 'relay.db'))).toBe(true)
})

test('a workspace that is being opened when the daemon stops is closed too', async () => {
  const opening = daemon.open('late')
  // It has begun.
  await Promise.resolve()
  await daemon.stop()
  await opening
  await expect(enter('late', 'ada')).rejects.toThrow()
})
