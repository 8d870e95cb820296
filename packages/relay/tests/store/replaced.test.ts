// The files of a workspace are taken away, replaced or cut under a running daemon: nothing is acknowledged after that, and the reason is told.

import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { lockPathOf } from '../../src/daemon/inspect.ts'
import { Database } from '../../src/store/database.ts'

let root: string
let dataDir: string
let database: string
let daemon: Daemon
let stops: string[]
const links: Link[] = []
let calls = 0

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'relay-replaced-'))
  dataDir = join(root, 'data')
  database = join(dataDir, 'projects', 'home', 'relay.db')
  await start()
})
afterEach(async () => {
  for (const link of links.splice(0)) await link.close()
  await daemon.stop()
  rmSync(root, { recursive: true, force: true })
})

async function start(): Promise<void> {
  stops = []
  daemon = (await Daemon.start({
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    onTrouble: (error) => {
      throw error
    },
    onStop: (reason, error) => stops.push(`${reason}: ${error?.message}`),
  })) as Daemon
}

async function enter(name: string, workspace = 'home'): Promise<Link> {
  await daemon.open(workspace)
  const link = await socketConnector(socketPathOf(dataDir, workspace))({ name })
  links.push(link)
  return link
}

const send = (link: Link, body: string) => link.call('message.send', { to: 'bob', body }, `c${calls++}`)

const blows: Record<string, [blow: () => void, reason: RegExp]> = {
  'database removed': [() => rmSync(database), /relay\.db was removed or moved away/],
  'log removed': [() => rmSync(`${database}-wal`), /relay\.db-wal was removed/],
  'log cut': [() => truncateSync(`${database}-wal`, 0), /relay\.db-wal was cut from \d+ to 0 bytes/],
  'log cut in its middle': [
    () => truncateSync(`${database}-wal`, 9_000),
    /relay\.db-wal was cut from \d+ to 9000 bytes/,
  ],
  'database cut': [() => truncateSync(database, 0), /relay\.db was cut from \d+ to 0 bytes/],
  'log cut, and as long as it was again': [
    () => cutAndFill(`${database}-wal`, 9_000),
    /relay\.db-wal was cut, and what was written after that leaves a hole/,
  ],
  'database replaced by a copy': [
    () => {
      copyFileSync(database, `${database}.copy`)
      renameSync(`${database}.copy`, database)
    },
    /relay\.db has another file in its place/,
  ],
  'database overwritten by an older copy': [() => writeFileSync(database, 'SQLite format 3\0'), /relay\.db was cut/],
  'folder moved': [
    () => renameSync(join(dataDir, 'projects', 'home'), join(root, 'elsewhere')),
    /relay\.db was removed/,
  ],
  'data directory moved': [() => renameSync(dataDir, join(root, 'moved')), /relay\.db was removed/],
  'lock of the daemon removed': [() => rmSync(lockPathOf(dataDir)), /relay\.lock was removed/],
}

/** As SQLite leaves a file that it went on writing after the cut. */
function cutAndFill(path: string, to: number): void {
  const { size } = statSync(path)
  truncateSync(path, to)
  truncateSync(path, size)
}

describe.each(Object.entries(blows))('%s', (_, [blow, reason]) => {
  test('nothing is acknowledged any more, and the daemon is told to stop, with the reason and the fix', async () => {
    const ada = await enter('ada')
    await enter('bob')
    for (let n = 0; n < 20; n++) await send(ada, `before ${n}`)
    blow()
    const sent = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => send(ada, `after ${n}`)))
    for (const each of sent) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'store.replaced', retry: false } })
    }
    await expect(send(ada, 'and later')).rejects.toMatchObject({ code: 'store.replaced' })
    expect(stops).toHaveLength(1)
    expect(stops[0]).toMatch(reason)
    expect(stops[0]).toContain('agent-relay daemon start --project home')
  })
})

test('a database that was cut, and is as long as it was again, is found out by its hole', async () => {
  const ada = await enter('ada')
  await enter('bob')
  for (let n = 0; n < 20; n++) await send(ada, `before ${n}`)
  // From here on what is cut off is in the database alone.
  const other = new Database(database)
  other.exec('PRAGMA wal_checkpoint(RESTART)')
  other.close()
  cutAndFill(database, 5_000)
  await expect(send(ada, 'after')).rejects.toMatchObject({ code: 'store.replaced' })
  expect(stops[0]).toMatch(/relay\.db was cut, and what was written after that leaves a hole/)
})

test('a daemon whose lock was removed stays the only one', async () => {
  await enter('ada')
  rmSync(lockPathOf(dataDir))
  const second = await Daemon.start({ dataDir, credentialsPath: '', onTrouble: () => {}, onStop: () => {} })
  expect(second).toBeUndefined()
})

test('sockets that are removed are made again, and nobody who is connected is cut off', async () => {
  const ada = await enter('ada')
  await enter('bob')
  const paths = [socketPathOf(dataDir, 'home'), controlSocketPath(dataDir)]
  for (const path of paths) rmSync(path)
  await until(() => paths.every((path) => existsSync(path)))
  await send(ada, 'from before')
  await send(await enter('cy'), 'from after')
  expect(statSync(paths[0] as string).mode & 0o777).toBe(0o600)
  expect(stops).toEqual([])
})

test('removing the search index affects nothing else', async () => {
  const ada = await enter('ada')
  await enter('bob')
  await send(ada, 'needle one')
  const find = async () => (await ada.call('message.search', { text: 'needle' }, `c${calls++}`)).messages.length
  expect(await find()).toBe(1)
  for (const end of ['', '-wal', '-shm']) rmSync(join(dataDir, 'projects', 'home', `search.db${end}`), { force: true })
  await send(ada, 'needle two')
  expect(await find()).toBe(2)
  expect(stops).toEqual([])
})
