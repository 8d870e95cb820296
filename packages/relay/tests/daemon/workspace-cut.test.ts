// A workspace whose database lacks stored entries, or belongs to another one: nobody is let in before a person has agreed, and everybody is told why.

import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type Link, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { databasesCheck } from '../../src/cli/commands/doctor/data-directory.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { Database } from '../../src/store/database.ts'
import { journalEndPath } from '../../src/store/journal-end.ts'

let dataDir: string
let daemon: Daemon | undefined
let troubles: Error[]
let calls = 0

const databaseOf = (name: string) => join(dataDir, 'projects', name, 'relay.db')

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'relay-cut-'))
  await start()
  for (const name of ['app', 'other']) await say(name, 'first')
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

/** Its files are copied: a connection of this process lives on until it is collected, and would write to them then. */
async function stop(): Promise<void> {
  await daemon?.stop()
  daemon = undefined
  for (const name of ['app', 'other']) {
    const path = databaseOf(name)
    const opened = new Database(path)
    opened.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    opened.close()
    copyFileSync(path, join(dataDir, 'copied.db'))
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    renameSync(join(dataDir, 'copied.db'), path)
  }
}

async function say(name: string, body: string): Promise<void> {
  await daemon?.open(name)
  const ada = await socketConnector(socketPathOf(dataDir, name))({ name: 'ada' })
  await ada.call('message.send', { to: '#general', body }, `c${calls++}`)
  await ada.close()
}

async function asked<T>(work: (control: Link) => Promise<T>): Promise<T> {
  const control = await socketConnector(controlSocketPath(dataDir))({})
  return await work(control).finally(() => control.close())
}

const doctor = async () =>
  (await databasesCheck({ env: { RELAY_DATA_DIR: dataDir }, cwd: dataDir, nodeVersion: '' }))[0]
const listed = async (name: string) =>
  (await asked((control) => control.call('workspace.list', {}, `c${calls++}`))).workspaces.find(
    (each) => each.name === name,
  )

/** Whoever asks is refused in these words, wherever they ask. */
async function everybodyIsTold(code: string, words: RegExp): Promise<void> {
  const message = expect.stringMatching(words)
  await expect(daemon?.open('app')).rejects.toMatchObject({ refusal: { code, message } })
  await expect(socketConnector(socketPathOf(dataDir, 'app'))({ name: 'ada' })).rejects.toMatchObject({ code, message })
  for (const op of ['workspace.open', 'workspace.rotate-key'] as const) {
    const call = asked((control) => control.call(op, { workspace: 'app' }, `c${calls++}`))
    await expect(call).rejects.toMatchObject({ code, message })
  }
  const to = join(dataDir, 'copy.db')
  const copy = asked((control) => control.call('workspace.copy', { workspace: 'app', to }, `c${calls++}`))
  await expect(copy).rejects.toMatchObject({ code, message })
  expect(await listed('app')).toMatchObject({ open: false, fault: message })
}

describe('an older copy of the database lies in its place', () => {
  const words = /its journal ends with entry \d+ of .*, but entry \d+ of .* was stored: \d+ entries are gone/
  beforeEach(async () => {
    await stop()
    const older = join(dataDir, 'older.db')
    copyFileSync(databaseOf('app'), older)
    await start()
    await say('app', 'second')
    await say('app', 'third')
    await stop()
    renameSync(older, databaseOf('app'))
  })

  test('it is not opened, and each start says so again; the others are open', async () => {
    expect(await doctor()).toMatchObject({ state: 'fault', text: expect.stringMatching(words) })
    for (let starts = 0; starts < 2; starts++) {
      await start()
      expect(troubles.map(({ message }) => message)).toEqual([expect.stringMatching(words)])
      await everybodyIsTold('workspace.damaged', words)
      await everybodyIsTold('workspace.damaged', /To go on with what is left: agent-relay workspace recover app\n/)
      expect(await doctor()).toMatchObject({ state: 'fault', fix: expect.stringContaining('workspace recover app') })
      await say('other', `start ${starts}`)
      await daemon?.stop()
    }
  })

  test('once it is put in order it is open for whoever comes to its socket', async () => {
    await start()
    await expect(socketConnector(socketPathOf(dataDir, 'app'))({})).rejects.toMatchObject({ code: 'workspace.damaged' })
    // As the fix does that goes on with a copy: what was there is moved away, the end file with it.
    rmSync(journalEndPath(databaseOf('app')))
    const ada = await socketConnector(socketPathOf(dataDir, 'app'))({ name: 'ada' })
    expect(await ada.call('message.list', { conversation: '#general' }, `c${calls++}`)).toMatchObject({
      messages: [{ body: 'first' }],
    })
    await ada.close()
    expect(await listed('app')).toMatchObject({ open: true })
    expect((await listed('app'))?.fault).toBeUndefined()
  })
})

describe('the database of another workspace lies in its place', () => {
  const words = /relay\.db is the database of workspace "other" \(w_\w+\), and its own is workspace "app" \(w_\w+\)/
  const swaps: Record<string, () => void> = {
    'the file alone': () => copyFileSync(databaseOf('other'), databaseOf('app')),
    'the file, and no end file': () => {
      copyFileSync(databaseOf('other'), databaseOf('app'))
      rmSync(journalEndPath(databaseOf('app')))
    },
    'the whole folder': () => {
      rmSync(join(dataDir, 'projects', 'app'), { recursive: true })
      renameSync(join(dataDir, 'projects', 'other'), join(dataDir, 'projects', 'app'))
    },
  }

  test.each(Object.keys(swaps))('%s', async (swap) => {
    await stop()
    swaps[swap]?.()
    expect(await doctor()).toMatchObject({ state: 'fault', text: expect.stringMatching(words) })
    await start()
    expect(troubles[0]?.message).toMatch(words)
    await everybodyIsTold('workspace.lost', words)
  })
})
