// The careful edit: puts one entry into a configuration file that belongs to somebody else, and takes it out again, so that every other byte
// stays. The caller decides which file and which entry.

import { existsSync, rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { changeBetween, diffText, turnedBack } from './change.ts'
import { type FileOptions, look, replace, type Snapshot } from './file.ts'
import {
  entryOf,
  type Format,
  isElsewhereEqual,
  isEqual,
  isPut,
  missing,
  nested,
  type Slot,
  Untouched,
} from './format.ts'
import { json } from './jsonc.ts'
import type { Plan } from './plan.ts'
import { hashOf, Records, type WayBack } from './records.ts'
import { toml } from './toml.ts'

export type { FileOptions } from './file.ts'
export type { Slot } from './format.ts'
export { Untouched } from './format.ts'
export { Plan } from './plan.ts'

export interface EditOptions extends FileOptions {
  /** The environment, which names the owner's data directory, where records of edits are kept. */
  env?: Env
  /** For a dry run: nothing is written, and the answer is the same as for a real edit. */
  plan?: Plan
}

export interface Edit {
  /** The file's path as the caller named it; a link is followed and stays. */
  file: string
  status: 'created' | 'changed' | 'unchanged' | 'removed'
  /** The change in the form of `diff -u`; empty when nothing changes. */
  diff: string
  /** The file as it was before the first edit. */
  backup?: string
}

/** Puts the entry with this value into the file; every other byte stays as it was. Throws `Untouched`, or the error of the system. */
export function putEntry(
  file: string,
  keyPath: readonly string[],
  name: Slot,
  value: unknown,
  options: EditOptions = {},
): Edit {
  const format = formatOf(file)
  const records = new Records(options.env ?? process.env)
  const rewrite = ({ path, text }: Snapshot): string => {
    if (text !== undefined && isEqual(entryOf(format.values(text), keyPath, name), value)) return text
    const after = format.put(withoutOurs(format, text ?? '', records.read(path, keyPath, name)), keyPath, name, value)
    if (!isPut(format.values(text ?? ''), readBack(format, after), keyPath, name, value))
      throw new Untouched('the entry cannot be added without changing something else', true)
    return after
  }
  return edit(file, options, rewrite, (found, after, madeDirectory) => {
    const former = records.read(found.path, keyPath, name)
    const base = withoutOurs(format, found.text ?? '', former)
    if (found.bytes && !former) records.backUp(found.path, found.bytes)
    records.write({
      ...changeBetween(base, after ?? ''),
      v: 1,
      file: found.path,
      path: keyPath,
      slot: name,
      hash: hashOf(after ?? ''),
      isNew: found.text === undefined || (former?.isNew === true && base === ''),
      madeDirectory: madeDirectory ?? former?.madeDirectory,
      madeKeys: missing(format.values(base), keyPath),
    })
  })
}

/** The values of the edited text; undefined if it became invalid: the file has no place for the entry, and the parser's line number would mean our own line. */
function readBack(format: Format, text: string): unknown {
  try {
    return format.values(text)
  } catch (error) {
    if (!(error instanceof Untouched)) throw error
    return undefined
  }
}

/** Takes the entry out. A file that nobody has touched since `putEntry` gets its former bytes; a file that was made for the entry is removed. */
export function removeEntry(file: string, keyPath: readonly string[], name: Slot, options: EditOptions = {}): Edit {
  const format = formatOf(file)
  const records = new Records(options.env ?? process.env)
  let record: WayBack | undefined
  const rewrite = ({ path, text }: Snapshot): string | undefined => {
    record = records.read(path, keyPath, name)
    if (text === undefined) return undefined
    if (record?.isNew && record.hash === hashOf(text)) return undefined
    return formerText(format, text, record) ?? takenOut(format, text, keyPath, name, record?.madeKeys ?? 0)
  }
  const result = edit(file, options, rewrite, () => {})
  if (record && !options.plan) {
    records.remove(record)
    if (record.madeDirectory !== undefined && result.status === 'removed')
      removeEmpty(dirname(record.file), record.madeDirectory)
  }
  return result
}

/** The entry's value; undefined if the entry or the file is missing. Throws as `putEntry` does where the file cannot be read. */
export function readEntry(file: string, keyPath: readonly string[], name: Slot, options: FileOptions = {}): unknown {
  const { text } = look(file, options)
  return text === undefined ? undefined : entryOf(formatOf(file).values(text), keyPath, name)
}

/** Whether the entry is the one that `putEntry` wrote, and not one that somebody else put in its place. */
export function isOwnEntry(file: string, keyPath: readonly string[], name: string, options: EditOptions): boolean {
  const { path, text } = look(file, options)
  const record = new Records(options.env ?? process.env).read(path, keyPath, name)
  if (record === undefined || text === undefined) return false
  return record.hash === hashOf(text) || (record.added.includes(name) && text.includes(record.added))
}

/** The text that a person pastes by hand where the file could not be edited. */
export function snippetOf(file: string, keyPath: readonly string[], name: Slot, value: unknown): string {
  if (formatOf(file) === toml) return toml.put('', keyPath, name, value).trimEnd()
  return JSON.stringify(nested(keyPath, name, value), null, 2)
}

function formatOf(file: string): Format {
  return file.endsWith('.toml') ? toml : json
}

/** Takes out an entry of an earlier edit first, so that the new record leads back to a file without any. */
function withoutOurs(format: Format, text: string, record: WayBack | undefined): string {
  if (!record || text === '') return text
  return formerText(format, text, record) ?? takenOut(format, text, record.path, record.slot, record.madeKeys)
}

/** The former text, if the added text still stands there word for word and nothing else depends on it. */
function formerText(format: Format, text: string, record: WayBack | undefined): string | undefined {
  const former = record && turnedBack(text, record, record.hash === hashOf(text))
  if (record === undefined || former === undefined) return undefined
  try {
    const isSafe = isElsewhereEqual(format.values(text), format.values(former), record.path, record.slot)
    return isSafe ? former : undefined
  } catch (error) {
    if (error instanceof Untouched) return undefined
    throw error
  }
}

function takenOut(format: Format, text: string, path: readonly string[], slot: Slot, madeKeys: number): string {
  let after = format.remove(text, path, slot)
  for (let depth = path.length; depth > path.length - madeKeys; depth--) {
    const container = entryOf(format.values(after), path.slice(0, depth - 1), path[depth - 1] as string)
    if (typeof container !== 'object' || container === null || Object.keys(container).length > 0) break
    after = format.remove(after, path.slice(0, depth - 1), path[depth - 1] as string)
  }
  if (!isElsewhereEqual(format.values(text), format.values(after), path, slot))
    throw new Untouched('the entry cannot be taken out without changing something else', true)
  return after
}

function edit(
  file: string,
  options: EditOptions,
  rewrite: (found: Snapshot) => string | undefined,
  before: (found: Snapshot, after: string | undefined, madeDirectory?: string) => void,
): Edit {
  const { plan } = options
  const onDisk = look(file, options)
  const found = plan?.seen(onDisk) ?? onDisk
  let [old, now] = [found.text, rewrite(found)]
  plan?.add(file, found, now)
  if (!plan && now !== old) {
    now = old
    replace(file, options, rewrite, (snapshot, after, { madeDirectory }) => {
      ;[old, now] = [snapshot.text, after]
      before(snapshot, after, madeDirectory)
    })
  }
  const backup = new Records(options.env ?? process.env).backupPath(found.path)
  return {
    file,
    status: now === old ? 'unchanged' : old === undefined ? 'created' : now === undefined ? 'removed' : 'changed',
    diff: now === old ? '' : diffText(file, old, now),
    backup: existsSync(backup) ? backup : undefined,
  }
}

/** The directories that were made for the file, from the innermost up, while nothing else is in them. */
function removeEmpty(directory: string, outermost: string): void {
  try {
    for (let path = directory; path.startsWith(outermost); path = dirname(path)) rmdirSync(path)
  } catch {
    // The directory has other files by now.
  }
}
