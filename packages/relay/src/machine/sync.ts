// Syncs files and folders: when these functions return, written data is on disk and outlives a power cut.

import { closeSync, fsyncSync, openSync } from 'node:fs'

export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Syncs the names in a folder. On Windows, where a folder cannot be opened, the system takes care of that. */
export function syncFolder(path: string): void {
  if (process.platform !== 'win32') syncFile(path)
}
