// A workspace whose making was cut off counts as never made: nobody loses anything, and making it again works.

import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databasesCheck } from '../../src/cli/commands/doctor/data-directory.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { DataDirectory } from '../../src/machine/data-directory.ts'
import { Database } from '../../src/store/database.ts'

let dataDir: string
let credentialsPath: string
let daemon: Daemon | undefined
let control: Link
let troubles: Error[]
let calls = 0

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'relay-beginning-'))
  credentialsPath = join(dataDir, 'credentials.json')
})
afterEach(async () => {
  await stop()
  rmSync(dataDir, { recursive: true, force: true })
})

async function start(): Promise<void> {
  troubles = []
  const onTrouble = (error: Error) => troubles.push(error)
  daemon = await Daemon.start({ dataDir, credentialsPath, onTrouble, onStop: () => {} })
  control = await socketConnector(controlSocketPath(dataDir))({})
}

async function stop(): Promise<void> {
  await control?.close()
  await daemon?.stop()
  daemon = undefined
}

const create = () => control.call('workspace.create', { workspace: 'new' }, `c${calls++}`)
const doctor = async () =>
  (await databasesCheck({ env: { RELAY_DATA_DIR: dataDir }, cwd: dataDir, nodeVersion: '' }))[0]
const kept = () =>
  Object.values(JSON.parse(readFileSync(credentialsPath, 'utf8')).workspaces as Record<string, { key: string }>)

/** As the end of the process leaves it: begun, its key kept, and its database as far as `how` says. */
function leave(how: (database: string) => void): void {
  const directory = new DataDirectory(dataDir)
  directory.markUnfinished('new')
  const stale = { name: 'new', key: 'rk_never_told', dataDir: directory.realPath }
  writeFileSync(credentialsPath, JSON.stringify({ workspaces: { w_stale: stale } }))
  how(directory.databasePath('new'))
}

test.each<[string, (database: string) => void]>([
  ['before its database', () => {}],
  ['with a database of 0 bytes', (path) => writeFileSync(path, '')],
  [
    'with a database that has no table yet',
    (path) => {
      const database = new Database(path)
      database.exec('PRAGMA journal_mode = WAL')
      database.close()
    },
  ],
])('cut off %s: nothing is lost, and making it again works', async (_, how) => {
  leave(how)
  expect(await doctor()).toMatchObject({ state: 'ok' })
  await start()
  expect(troubles).toEqual([])
  expect(await control.call('workspace.list', {}, `c${calls++}`)).toEqual({ workspaces: [] })
  const { key } = await create()
  expect(kept().map((each) => each.key)).toEqual([key])
  await expect(create()).rejects.toMatchObject({ code: 'workspace.exists' })
  await stop()
  expect(await doctor()).toMatchObject({ state: 'ok', text: '1 whole' })
  // From here on it was here.
  truncateSync(join(dataDir, 'projects', 'new', 'relay.db'))
  expect(await doctor()).toMatchObject({ state: 'fault', text: expect.stringContaining('lost') })
})

test('a workspace whose making was cut off after its first commit gets a new key, since nobody was told the first', async () => {
  await start()
  const first = await create()
  await stop()
  // As it was before it was served.
  new DataDirectory(dataDir).markUnfinished('new')
  rmSync(join(dataDir, 'open.json'))
  await start()
  const second = await create()
  expect(second.id).toBe(first.id)
  expect(second.key).not.toBe(first.key)
  expect(kept().map(({ key }) => key)).toEqual([second.key])
  const found = await control.call('workspace.find', { key: second.key }, `c${calls++}`)
  expect(found).toMatchObject({ name: 'new' })
})

test('a workspace that could not be made leaves nothing, and making it again works', async () => {
  await start()
  writeFileSync(credentialsPath, 'not JSON')
  await expect(create()).rejects.toMatchObject({ code: 'config.invalid' })
  rmSync(credentialsPath)
  expect(await create()).toMatchObject({ key: expect.stringMatching(/^rk_/) })
  expect(existsSync(join(dataDir, 'projects', 'new', 'beginning'))).toBe(false)
})
