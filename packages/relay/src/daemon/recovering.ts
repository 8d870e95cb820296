// Recovering: makes a workspace usable again, at a person's wish, whose database lacks entries that were stored. known-workspaces.ts detects such
// databases. This runs in the caller's process: while the end file exists no daemon opens the workspace.

import { constants, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DataDirectory } from '../machine/data-directory.ts'
import { syncFile, syncFolder } from '../machine/sync.ts'
import { endFilePath } from '../store/journal-end.ts'

export type { JournalGap } from '../store/journal-end.ts'

/** Copies the files as they are, and returns the folder of the copy. Then the database counts as whole: its next opening begins a new end file. */
export function recoverDatabase(directory: DataDirectory, name: string): string {
  const path = directory.databasePath(name)
  const folder = directory.makeDamagedPath(name)
  mkdirSync(folder, { mode: 0o700 })
  for (const file of [path, `${path}-wal`, endFilePath(path)].filter((each) => existsSync(each))) {
    const copy = join(folder, basename(file))
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
    syncFile(copy)
  }
  for (const each of [folder, dirname(folder)]) syncFolder(each)
  // The search index may hold lost messages. The next opening of the workspace builds the index again.
  for (const end of ['', '-wal', '-shm']) rmSync(join(dirname(path), `search.db${end}`), { force: true })
  rmSync(endFilePath(path))
  return folder
}
