// Prunings in a running daemon: by the policy once a day, ended by who asked, beside a dry run; and an older file that is rewritten at rest.

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../../test/until.ts'
import { Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts'
import { systemClock } from '../../src/machine/clock.ts'
import { Database } from '../../src/store/database.ts'

const dayMs = 86_400_000

let dir: string
let daemon: Daemon
let aheadMs = 0
const troubles: Error[] = []
const links: (Link | RelayClient)[] = []
const clock = { ...systemClock, now: () => Date.now() + aheadMs }

async function start(more: Partial<DaemonOptions> = {}): Promise<void> {
  daemon = (await Daemon.start({
    ...{ dataDir: dir, credentialsPath: join(dir, 'credentials.json'), clock, pruneCheckMs: 20 },
    onTrouble: (error) => void troubles.push(error),
    onStop: () => {},
    ...more,
  })) as Daemon
}

beforeEach(() => {
  aheadMs = 0
  dir = mkdtempSync(join(tmpdir(), 'relay-prunings-'))
})
afterEach(async () => {
  for (const link of links.splice(0)) await ('disconnect' in link ? link.disconnect() : link.close())
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
  expect(troubles.splice(0)).toEqual([])
})

async function clientOf(name: string, agentName: string): Promise<RelayClient> {
  const { entry, key } = await daemon.open(name)
  const client = new RelayClient({
    connect: socketConnector(entry.socketPath),
    agentName,
    autoConnect: false,
    ...(key === undefined ? {} : { apiKey: key }),
  })
  links.push(client)
  await client.connect()
  return client
}

async function control(): Promise<Link> {
  const link = await socketConnector(controlSocketPath(dir))({})
  links.push(link)
  return link
}

/** Messages that both have read, and one more, which stays because it is the last. */
async function talk(messages: number): Promise<void> {
  const [ada, bob] = [await clientOf('app', 'ada'), await clientOf('app', 'bob')]
  for (let n = 0; n < messages; n += 100)
    await Promise.all(Array.from({ length: 100 }, (_, at) => ada.send('bob', `${n + at} ${'words '.repeat(20)}`)))
  for (let left = true; left; ) {
    const { messages: found } = await bob.call('inbox.take', { limit: 100, route: 'take' })
    await bob.call('inbox.read', { messages: found.map(({ id }) => id) })
    left = found.length > 0
  }
  await Promise.all([ada.disconnect(), bob.disconnect()])
}

const archives = () => {
  const folder = join(dir, 'projects', 'app', 'archive')
  return existsSync(folder) ? readdirSync(folder) : []
}
const count = async () => {
  const client = await clientOf('app', 'counter')
  const { messages } = await client.call('workspace.status', {})
  await client.disconnect()
  return messages
}

it('a policy prunes each day what is over and older, also after a restart, until it keeps all', async () => {
  await start()
  await talk(100)
  const { workspace } = await daemon.open('app')
  const setPolicy = (keepMs: number | 'forever') =>
    workspace.engine.submit({ rule: 'workspace.set-policy', input: { keepMs }, by: 'ada', cause: `to ${keepMs}` })
  await setPolicy(2 * dayMs)
  expect(workspace.store.view.policy().keepMs).toBe(2 * dayMs)
  await daemon.stop()
  expect(archives()).toEqual([])
  aheadMs = 3 * dayMs
  await start()
  await until(() => archives().length === 1)
  await until(async () => (await count()) === 1)
  // The same day nothing more is looked for, in this daemon or in the next.
  const again = await daemon.open('app')
  expect(again.workspace.store.pruning.pruneRecords()).toHaveLength(1)
  await again.workspace.engine.submit({
    ...{ rule: 'workspace.set-policy', input: { keepMs: 'forever' }, by: 'ada', cause: 'for ever' },
  })
  expect(again.workspace.store.view.policy()).not.toHaveProperty('keepMs')
})

it('a policy also prunes a workspace that was closed because nobody used it', async () => {
  await start({ restLimits: { idleMs: 40, unusedMax: 0 } })
  await talk(100)
  const { workspace } = await daemon.open('app')
  await workspace.engine.submit({
    ...{ rule: 'workspace.set-policy', input: { keepMs: 2 * dayMs }, by: 'ada', cause: 'two days' },
  })
  const link = await control()
  const isAtRest = async () => {
    const { workspaces } = await link.call('workspace.overview', {}, `overview ${Math.random()}`)
    return workspaces.some(({ name, atRest }) => name === 'app' && atRest)
  }
  await until(isAtRest)
  expect(archives()).toEqual([])
  aheadMs = 3 * dayMs
  await until(() => archives().length === 1)
})

it('what has ended its call ends the pruning, what went stays gone, and the next one goes on', async () => {
  await start()
  await talk(1_000)
  const link = await control()
  const pruned = link.call('workspace.prune', { workspace: 'app', olderMs: 0 }, 'prune 1')
  const entry = async () =>
    (await link.call('daemon.status', {}, `status ${Math.random()}`)).workspaces.find(({ name }) => name === 'app')
  await until(async () => ((await entry())?.pruning?.messages ?? 0) > 0)
  // A second one is refused, and a dry run is not.
  await expect(link.call('workspace.prune', { workspace: 'app', olderMs: 0 }, 'prune 2')).rejects.toThrow('already')
  link.unwatch('prune 1')
  const found = await pruned
  expect(found).toMatchObject({ ended: true })
  expect(found.messages).toBeGreaterThan(0)
  expect(found.messages).toBeLessThan(999)
  expect(await count()).toBe(1_000 - found.messages)
  const rest = await link.call('workspace.prune', { workspace: 'app', olderMs: 0 }, 'prune 3')
  expect(rest).not.toHaveProperty('ended')
  expect(rest.messages).toBe(999 - found.messages)
  expect([await count(), archives().length]).toEqual([1, 2])
})

it('a closed connection ends the pruning too, and a dry run is in nobody’s way', async () => {
  await start()
  await talk(1_000)
  const [asker, other] = [await control(), await control()]
  const dry = asker.call('workspace.prune', { workspace: 'app', olderMs: 0, dryRun: true }, 'dry')
  const lost = asker.call('workspace.prune', { workspace: 'app', olderMs: 0 }, 'lost')
  lost.catch(() => {})
  expect((await dry).messages).toBeGreaterThan(0)
  await asker.close()
  // This one waits until the other has ended.
  const whole: OutputOf<'workspace.prune'> = await other.call(
    'workspace.prune',
    { workspace: 'app', olderMs: 0 },
    'whole',
  )
  expect(whole).not.toHaveProperty('ended')
  expect(await count()).toBe(1)
})

it('gives space back: the file is not longer than 1.2 times a copy', async () => {
  await start()
  await talk(1_000)
  const link = await control()
  const { before, after } = await link.call('workspace.prune', { workspace: 'app', olderMs: 0 }, 'prune')
  const copy = join(dir, 'copy.db')
  await link.call('workspace.copy', { workspace: 'app', to: copy }, 'copy')
  // What was written last may be in the log alone.
  const all = ({ database = 0, log = 0 } = {}) => database + log
  expect(all(after)).toBeLessThan(all(before) / 2)
  expect(after?.database).toBeLessThanOrEqual(1.2 * statSync(copy).size)
})

it('an older file keeps its length, says so, and is rewritten when nobody uses its workspace', async () => {
  await start()
  await talk(1_000)
  await daemon.stop()
  const path = join(dir, 'projects', 'app', 'relay.db')
  makeOlder(path)
  await start({ restLimits: { idleMs: 40, closedMax: 1 } })
  const link = await control()
  const { stuck = 0 } = await link.call('workspace.prune', { workspace: 'app', olderMs: 0, delete: true }, 'prune')
  expect(stuck).toBeGreaterThan(1024 * 1024)
  const before = statSync(path)
  await until(() => statSync(path).ino !== before.ino)
  expect(statSync(path).size).toBeLessThan(before.size - stuck / 2)
  expect(await count()).toBe(1)
  expect(readdirSync(join(path, '..')).filter((name) => name.includes('repacked'))).toEqual([])
})

/** Makes the file one of a version whose files could not shrink, with much that is unused. */
function makeOlder(path: string): void {
  const database = new Database(path)
  database.exec('PRAGMA auto_vacuum = NONE; VACUUM; CREATE TABLE much (text TEXT)')
  database.exec('INSERT INTO much SELECT hex(randomblob(1000)) FROM (SELECT 1 FROM journal LIMIT 1000)')
  database.exec('DROP TABLE much')
  database.close()
}
