// Recovers a workspace whose database lacks entries, if a person asks for it: keeps copies of its files, then accepts the entries that are left.
// known-workspaces.ts detects such databases. This runs in the command's process: no daemon opens the workspace while the end file shows that entries are
// missing.

import { constants, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DataDirectory } from '../machine/data-directory.ts'
import { syncFile, syncFolder } from '../machine/sync.ts'
import { journalEndPath } from '../store/journal-end.ts'

export type { JournalGap } from '../store/journal-end.ts'

/** Copies the workspace's files into a folder, which it returns, and deletes the end file. The database then opens as it is, with a new end file. */
export function recoverDatabase(directory: DataDirectory, name: string): string {
  const path = directory.databasePath(name)
  const folder = directory.makeDamagedPath(name)
  mkdirSync(folder, { mode: 0o700 })
  for (const file of [path, `${path}-wal`, journalEndPath(path)].filter((each) => existsSync(each))) {
    const copy = join(folder, basename(file))
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
    syncFile(copy)
  }
  for (const each of [folder, dirname(folder)]) syncFolder(each)
  // The search index may contain the lost messages, so it is deleted. The next opening fills a new one.
  for (const end of ['', '-wal', '-shm']) rmSync(join(dirname(path), `search.db${end}`), { force: true })
  rmSync(journalEndPath(path))
  return folder
}
