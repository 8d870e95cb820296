// A known workspace whose database is gone: refused with the findings and the fix, never replaced by itself.

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { databasesCheck } from '../../src/cli/commands/doctor/data-directory.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { Database } from '../../src/store/database.ts'

let dataDir: string
let database: string
let daemon: Daemon | undefined
let troubles: Error[]
let calls = 0

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'relay-lost-'))
  database = join(dataDir, 'projects', 'app', 'relay.db')
  await start()
  for (const name of ['app', 'other']) {
    await daemon?.open(name)
    const ada = await socketConnector(socketPathOf(dataDir, name))({ name: 'ada' })
    await ada.call('message.send', { to: '#general', body: `kept in ${name}` }, 'c0')
    await ada.close()
  }
})
afterEach(async () => {
  await daemon?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

async function start(): Promise<void> {
  troubles = []
  const onTrouble = (error: Error) => troubles.push(error)
  const credentialsPath = join(dataDir, 'credentials.json')
  daemon = await Daemon.start({ dataDir, credentialsPath, onTrouble, onStop: () => {} })
}

/** Stops the daemon and empties the logs of its databases, since tests copy the files: a connection lives on until it is collected, and would write then. */
async function stop(): Promise<void> {
  await daemon?.stop()
  daemon = undefined
  for (const name of ['app', 'other']) {
    const path = join(dataDir, 'projects', name, 'relay.db')
    if (!existsSync(path) || statSync(path).size === 0) continue
    const opened = new Database(path)
    opened.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    opened.close()
    copyFileSync(path, join(dataDir, 'copied.db'))
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    renameSync(join(dataDir, 'copied.db'), path)
  }
}

async function asked<T>(work: (control: Link) => Promise<T>): Promise<T> {
  const control = await socketConnector(controlSocketPath(dataDir))({})
  return await work(control).finally(() => control.close())
}

const doctor = async () =>
  (await databasesCheck({ env: { RELAY_DATA_DIR: dataDir }, cwd: dataDir, nodeVersion: '' }))[0]
const named = () =>
  Object.values(JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')).workspaces).map(
    (kept) => (kept as { name: string }).name,
  )

const losses: Record<string, [lose: () => void, code: string, found: RegExp]> = {
  'the database is missing': [() => rmSync(database), 'workspace.lost', /relay\.db is missing/],
  'its folder is missing': [
    () => rmSync(join(dataDir, 'projects', 'app'), { recursive: true }),
    'workspace.lost',
    /relay\.db is missing/,
  ],
  'the database has 0 bytes': [() => truncateSync(database), 'workspace.lost', /relay\.db has 0 bytes/],
  'the database has 0 bytes beside a log': [
    () => {
      writeFileSync(`${database}-wal`, readFileSync(database))
      truncateSync(database)
    },
    'workspace.lost',
    /has 0 bytes, although \d+ bytes of its log lie beside it/,
  ],
  'its version is 0': [
    () => {
      const opened = new Database(database)
      opened.exec('PRAGMA user_version = 0')
      opened.close()
    },
    'workspace.damaged',
    /its schema version is 0, and it has \d+ tables/,
  ],
}

describe.each(Object.entries(losses))('%s', (_, [lose, code, found]) => {
  test('the workspace is refused and left as it is, the others open, and the doctor reports it', async () => {
    expect(await doctor()).toMatchObject({ state: 'ok', text: '2 whole' })
    await stop()
    lose()
    const sizes = () => ['', '-wal'].map((end) => statSync(database + end, { throwIfNoEntry: false })?.size)
    const before = sizes()
    expect(await doctor()).toMatchObject({ state: 'fault', text: expect.stringMatching(found) })
    await start()
    expect(troubles.map(({ message }) => message)).toEqual([expect.stringMatching(found)])
    await expect(daemon?.open('app')).rejects.toMatchObject({ refusal: { code } })
    for (const op of ['workspace.open', 'workspace.create', 'workspace.rotate-key'] as const) {
      const call = asked((control) => control.call(op, { workspace: 'app' }, `c${calls++}`))
      await expect(call).rejects.toMatchObject({ code: op === 'workspace.create' ? expect.any(String) : code })
    }
    if (code === 'workspace.lost') expect(sizes()).toEqual(before)
    expect(await doctor()).toMatchObject({ state: 'fault', text: expect.stringMatching(found) })
    expect(await daemon?.open('other')).toMatchObject({ created: false })
  })

  test('once removed on purpose it can be made again, and its key leaves the credentials', async () => {
    await stop()
    lose()
    await start()
    await asked((control) => control.call('workspace.remove', { workspace: 'app' }, `c${calls++}`))
    expect(named()).toEqual(['other'])
    expect(await doctor()).toMatchObject({ state: 'ok', text: '1 whole' })
    expect(await daemon?.open('app')).toMatchObject({ created: true })
    expect(named().sort()).toEqual(['app', 'other'])
  })
})

test('a database that is put back from a copy, as the fix says, goes on', async () => {
  await stop()
  const copy = join(dataDir, 'copy.db')
  copyFileSync(database, copy)
  truncateSync(database)
  await start()
  const refused = await daemon?.open('app').catch((error) => error)
  await stop()
  // Everything of it but our own commands, which this test does itself.
  const { copy: fix } = refused.refusal.details as { copy: string }
  const own = fix.split('; ').filter((each) => !each.startsWith('agent-relay '))
  execFileSync('sh', ['-c', own.join('; ').replace('COPY', shellQuote(copy))])
  await start()
  expect(await daemon?.open('app')).toMatchObject({ created: false })
  const ada = await socketConnector(socketPathOf(dataDir, 'app'))({ name: 'ada' })
  const { messages } = await ada.call('message.list', { conversation: '#general' }, `c${calls++}`)
  expect(messages.map(({ body }) => body)).toEqual(['kept in app'])
  await ada.close()
})

test('a workspace of the same name in another data directory is another workspace', async () => {
  const moved = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  for (const kept of Object.values(moved.workspaces)) (kept as { dataDir: string }).dataDir = '/elsewhere'
  await stop()
  rmSync(join(dataDir, 'projects', 'app'), { recursive: true })
  renameSync(join(dataDir, 'open.json'), join(dataDir, 'open.before'))
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(moved))
  await start()
  expect(await daemon?.open('app')).toMatchObject({ created: true })
  expect(named().sort()).toEqual(['app', 'app', 'other'])
})

test('older keys, which do not name their data directory, get it when their workspace is opened', async () => {
  await stop()
  const path = join(dataDir, 'credentials.json')
  const content = JSON.parse(readFileSync(path, 'utf8'))
  for (const kept of Object.values(content.workspaces)) delete (kept as { dataDir?: string }).dataDir
  writeFileSync(path, JSON.stringify(content))
  await start()
  const after = JSON.parse(readFileSync(path, 'utf8'))
  for (const kept of Object.values(after.workspaces)) expect(kept).toMatchObject({ dataDir: expect.any(String) })
  expect(troubles).toEqual([])
})
