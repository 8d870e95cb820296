// Recovering: makes a workspace usable again, at a person's wish, whose database lacks entries that were stored. known-workspaces.ts detects such
// databases. This runs in the caller's process: while the end file exists no daemon opens the workspace.

import { constants, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DataDirectory } from '../machine/data-directory.ts'
import { syncFile, syncFolder } from '../machine/sync.ts'
import { endPathOf } from '../store/journal-end.ts'

export type { Gap } from '../store/journal-end.ts'

/** Copies the files as they are, and returns the folder of the copy. Then the database counts as whole: whoever opens it next begins a new end file. */
export function recover(directory: DataDirectory, name: string): string {
  const path = directory.database(name)
  const folder = directory.damagedPlace(name)
  mkdirSync(folder, { mode: 0o700 })
  for (const file of [path, `${path}-wal`, endPathOf(path)].filter((each) => existsSync(each))) {
    const copy = join(folder, basename(file))
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
    syncFile(copy)
  }
  for (const each of [folder, dirname(folder)]) syncFolder(each)
  // The search index may hold messages that are gone. It is built again when the workspace is opened.
  for (const end of ['', '-wal', '-shm']) rmSync(join(dirname(path), `search.db${end}`), { force: true })
  rmSync(endPathOf(path))
  return folder
}
