// Recovering: a person goes on with what is left of a workspace whose database lacks what was stored in it. Which one does: known-workspaces.ts. This
// runs in the process of whoever asked: while the end file is there no daemon opens the workspace.

import { constants, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DataDirectory } from '../machine/data-directory.ts'
import { syncFile, syncFolder } from '../machine/sync.ts'
import { endPathOf } from '../store/journal-end.ts'

export type { Gap } from '../store/journal-end.ts'

/** Keeps a copy of the files as they are, and answers its folder. Then the database counts as whole: whoever opens it next begins a new end file. */
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
  // It may know messages that are gone. Whoever opens the workspace makes it again.
  for (const end of ['', '-wal', '-shm']) rmSync(join(dirname(path), `search.db${end}`), { force: true })
  rmSync(endPathOf(path))
  return folder
}
