// What was written is on the disk when these return: it outlives a power cut.

import { closeSync, fsyncSync, openSync } from 'node:fs'

export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The names in it. Where a folder cannot be opened, as on Windows, the system sees to it by itself. */
export function syncFolder(path: string): void {
  if (process.platform !== 'win32') syncFile(path)
}
