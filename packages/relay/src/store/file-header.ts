// What the first bytes of an SQLite file say: its size, its unused pages and the version of its schema. They are read without opening the database. If a
// write-ahead log lies beside the file, they may be older than the database.

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { tryOrUndefined } from '../machine/try-or-undefined.ts'

const headerBytes = 100
/** Offsets of numbers in the header, as SQLite's file format documents them. */
const offsets = { pageBytes: 16, pages: 28, unused: 36, vacuumRoot: 52, version: 60, isIncremental: 64 }

export interface FileHeader {
  /** The schema's version (`user_version`). */
  version: number
  fileBytes: number
  /** The size of all unused pages. */
  bytes: number
  /** Whether the file can give unused pages back (`auto_vacuum = INCREMENTAL`). */
  canShrink: boolean
}

/** Reads the header of a file; undefined if it cannot be read, which opening the file will explain, or is too short to be a database. */
export function readFileHeader(path: string): FileHeader | undefined {
  const bytes = tryOrUndefined(() => firstBytes(path))
  if (!bytes || bytes.length < headerBytes) return undefined
  const number = (name: keyof typeof offsets) => bytes.readUInt32BE(offsets[name])
  const short = bytes.readUInt16BE(offsets.pageBytes)
  // The largest page size does not fit into two bytes: SQLite writes 1 for it.
  const pageBytes = short === 1 ? 65_536 : short
  return {
    version: number('version'),
    fileBytes: number('pages') * pageBytes,
    bytes: number('unused') * pageBytes,
    canShrink: number('vacuumRoot') > 0 && number('isIncremental') > 0,
  }
}

function firstBytes(path: string): Buffer | undefined {
  // A pipe in the file's place would be waited for.
  if (!statSync(path).isFile()) return undefined
  const bytes = Buffer.alloc(headerBytes)
  const file = openSync(path, 'r')
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, headerBytes, 0))
  } finally {
    closeSync(file)
  }
}
