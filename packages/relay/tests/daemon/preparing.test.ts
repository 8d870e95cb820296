// A file that an older version has made and that is mostly unused is rewritten before its workspace is opened, and no other workspace waits for it.

import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Daemon } from '../../src/daemon/daemon.ts'
import { slowestLast } from '../../src/daemon/preparing.ts'
import { DataDirectory } from '../../src/machine/data-directory.ts'
import { Database, freeClosedFiles } from '../../src/store/database.ts'
import { readFileHeader } from '../../src/store/file-header.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'relay-preparing-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const pathOf = (name: string) => new DataDirectory(dataDir).databasePath(name)
const troubles: string[] = []
const start = async (initialWorkspaces: string[]) =>
  (await Daemon.start({
    ...{ dataDir, credentialsPath: join(dataDir, 'credentials.json'), initialWorkspaces },
    onTrouble: ({ message }) => troubles.push(message),
    onStop() {},
  })) as Daemon

/** Makes the file of a workspace as older versions left it after a pruning. */
function makeOlder(name: string): void {
  const database = new Database(pathOf(name))
  database.exec('PRAGMA auto_vacuum = NONE; VACUUM')
  database.transact(() => {
    const add = database.prepare('INSERT INTO meta VALUES (?, ?)')
    for (let n = 0; n < 900; n++) add.run(`row ${n}`, 'x'.repeat(1_500))
  })
  database.transact(() => database.exec("DELETE FROM meta WHERE name LIKE 'row %'"))
  database.close()
}

/** Makes workspaces by a daemon that ends again. Returns their ids. */
async function made(...names: string[]): Promise<string[]> {
  const daemon = await start(names)
  const ids: string[] = []
  for (const name of names) ids.push((await daemon.open(name)).workspace.id)
  await daemon.stop()
  return ids
}

/** The last connection puts the log into the file; it ends when its statements were collected. */
async function untilClosed(name: string): Promise<void> {
  const isLogThere = async () => {
    await freeClosedFiles()
    return existsSync(`${pathOf(name)}-wal`)
  }
  await expect.poll(isLogThere).toBe(false)
}

test('the start of a daemon rewrites the file, and opens the other workspaces before', async () => {
  const [id] = await made('old', 'young')
  await untilClosed('old')
  makeOlder('old')
  await untilClosed('old')
  const before = statSync(pathOf('old')).size
  expect(readFileHeader(pathOf('old'))?.canShrink).toBe(false)
  expect(slowestLast(['old', 'young', 'missing'], pathOf)).toEqual(['young', 'missing', 'old'])

  const daemon = await start(['old', 'young'])
  expect((await daemon.open('old')).workspace.id).toBe(id)
  expect(readFileHeader(pathOf('old'))?.canShrink).toBe(true)
  expect(statSync(pathOf('old')).size).toBeLessThan(before / 2)
  expect(slowestLast(['old', 'young'], pathOf)).toEqual(['old', 'young'])
  expect(troubles).toEqual([])
  await daemon.stop()
})
