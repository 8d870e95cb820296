// The careful edit: puts one entry into a configuration file that belongs to somebody else, and takes it out again, so that every other byte
// stays. The caller decides which file and which entry.

import { existsSync, rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { changeBetween, diffText, revertChange } from './change.ts'
import { type FileOptions, type FileSnapshot, readSnapshot, replaceFile } from './file.ts'
import {
  type ConfigFormat,
  countMissingKeys,
  type EntrySlot,
  FileUntouchedError,
  findEntry,
  isEqual,
  isEqualApartFromEntry,
  isOnlyEntryChanged,
  nestEntry,
} from './format.ts'
import { jsonFormat } from './jsonc.ts'
import type { DryRunPlan } from './plan.ts'
import { type EditRecord, EditRecords, hashOf } from './records.ts'
import { tomlFormat } from './toml.ts'

export type { FileOptions } from './file.ts'
export type { EntrySlot } from './format.ts'
export { FileUntouchedError } from './format.ts'
export { DryRunPlan } from './plan.ts'

export interface EditOptions extends FileOptions {
  /** Environment variables, which determine the data directory, where records of edits are kept. */
  env?: Env
  /** Collects the edits of a dry run: no file is written, and the outcome is the same as for a real edit. */
  plan?: DryRunPlan
}

export interface EditOutcome {
  /** The path as the caller gave it. If it is a symbolic link, the link stays and its target is edited. */
  file: string
  status: 'created' | 'changed' | 'unchanged' | 'removed'
  /** The change in the form of `diff -u`; empty when nothing changes. */
  diff: string
  /** The path of a copy of the file from before the first edit. */
  backup?: string
}

/** Puts the entry with this value into the file; every other byte stays as it was. Throws `FileUntouchedError`, or the error of the system. */
export function putEntry(
  file: string,
  keyPath: readonly string[],
  name: EntrySlot,
  value: unknown,
  options: EditOptions = {},
): EditOutcome {
  const format = formatOf(file)
  const records = new EditRecords(options.env ?? process.env)
  const rewrite = ({ path, text }: FileSnapshot): string => {
    if (text !== undefined && isEqual(findEntry(format.parse(text), keyPath, name), value)) return text
    const after = format.put(
      withoutEarlierEntry(format, text ?? '', records.read(path, keyPath, name)),
      keyPath,
      name,
      value,
    )
    if (!isOnlyEntryChanged(format.parse(text ?? ''), parseEdited(format, after), keyPath, name, value))
      throw new FileUntouchedError('the entry cannot be added without changing something else', true)
    return after
  }
  return makeEdit(file, options, rewrite, (found, after, madeDirectory) => {
    const former = records.read(found.path, keyPath, name)
    const base = withoutEarlierEntry(format, found.text ?? '', former)
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
      madeKeys: countMissingKeys(format.parse(base), keyPath),
    })
  })
}

/**
 * Parses the edited text. Undefined if the edit made it invalid: the parser's error is dropped, since its line number would point at a line that we
 * added.
 */
function parseEdited(format: ConfigFormat, text: string): unknown {
  try {
    return format.parse(text)
  } catch (error) {
    if (!(error instanceof FileUntouchedError)) throw error
    return undefined
  }
}

/** Removes the entry. A file that nobody has changed since `putEntry` gets its former bytes; a file that was created for the entry is deleted. */
export function removeEntry(
  file: string,
  keyPath: readonly string[],
  name: EntrySlot,
  options: EditOptions = {},
): EditOutcome {
  const format = formatOf(file)
  const records = new EditRecords(options.env ?? process.env)
  let record: EditRecord | undefined
  const rewrite = ({ path, text }: FileSnapshot): string | undefined => {
    record = records.read(path, keyPath, name)
    if (text === undefined) return undefined
    if (record?.isNew && record.hash === hashOf(text)) return undefined
    return formerText(format, text, record) ?? removeFromText(format, text, keyPath, name, record?.madeKeys ?? 0)
  }
  const result = makeEdit(file, options, rewrite, () => {})
  if (record && !options.plan) {
    records.remove(record)
    if (record.madeDirectory !== undefined && result.status === 'removed')
      removeEmptyDirectories(dirname(record.file), record.madeDirectory)
  }
  return result
}

/** The entry's value; undefined if the entry or the file is missing. Throws as `putEntry` does where the file cannot be read. */
export function readEntry(
  file: string,
  keyPath: readonly string[],
  name: EntrySlot,
  options: FileOptions = {},
): unknown {
  const { text } = readSnapshot(file, options)
  return text === undefined ? undefined : findEntry(formatOf(file).parse(text), keyPath, name)
}

/** Whether the entry is the one that `putEntry` wrote, and not one that somebody else put in its place. */
export function isOwnEntry(file: string, keyPath: readonly string[], name: string, options: EditOptions): boolean {
  const { path, text } = readSnapshot(file, options)
  const record = new EditRecords(options.env ?? process.env).read(path, keyPath, name)
  if (record === undefined || text === undefined) return false
  return record.hash === hashOf(text) || (record.added.includes(name) && text.includes(record.added))
}

/** The text that a person pastes by hand where the file could not be edited. */
export function entrySnippet(file: string, keyPath: readonly string[], name: EntrySlot, value: unknown): string {
  if (formatOf(file) === tomlFormat) return tomlFormat.put('', keyPath, name, value).trimEnd()
  return JSON.stringify(nestEntry(keyPath, name, value), null, 2)
}

function formatOf(file: string): ConfigFormat {
  return file.endsWith('.toml') ? tomlFormat : jsonFormat
}

/** Removes the entry that an earlier edit added, so that undoing the new edit leads to a file without any entry of ours. */
function withoutEarlierEntry(format: ConfigFormat, text: string, record: EditRecord | undefined): string {
  if (!record || text === '') return text
  return formerText(format, text, record) ?? removeFromText(format, text, record.path, record.slot, record.madeKeys)
}

/** Undoes the recorded edit. Undefined if the added text was changed since, or if undoing it would change more than the entry. */
function formerText(format: ConfigFormat, text: string, record: EditRecord | undefined): string | undefined {
  const former = record && revertChange(text, record, record.hash === hashOf(text))
  if (record === undefined || former === undefined) return undefined
  try {
    const isSafe = isEqualApartFromEntry(format.parse(text), format.parse(former), record.path, record.slot)
    return isSafe ? former : undefined
  } catch (error) {
    if (error instanceof FileUntouchedError) return undefined
    throw error
  }
}

function removeFromText(
  format: ConfigFormat,
  text: string,
  path: readonly string[],
  slot: EntrySlot,
  madeKeys: number,
): string {
  let after = format.remove(text, path, slot)
  for (let depth = path.length; depth > path.length - madeKeys; depth--) {
    const container = findEntry(format.parse(after), path.slice(0, depth - 1), path[depth - 1] as string)
    if (typeof container !== 'object' || container === null || Object.keys(container).length > 0) break
    after = format.remove(after, path.slice(0, depth - 1), path[depth - 1] as string)
  }
  if (!isEqualApartFromEntry(format.parse(text), format.parse(after), path, slot))
    throw new FileUntouchedError('the entry cannot be taken out without changing something else', true)
  return after
}

function makeEdit(
  file: string,
  options: EditOptions,
  rewrite: (found: FileSnapshot) => string | undefined,
  before: (found: FileSnapshot, after: string | undefined, madeDirectory?: string) => void,
): EditOutcome {
  const { plan } = options
  const onDisk = readSnapshot(file, options)
  const found = plan?.plannedSnapshot(onDisk) ?? onDisk
  let [old, now] = [found.text, rewrite(found)]
  plan?.addEdit(file, found, now)
  if (!plan && now !== old) {
    now = old
    replaceFile(file, options, rewrite, (snapshot, after, { madeDirectory }) => {
      ;[old, now] = [snapshot.text, after]
      before(snapshot, after, madeDirectory)
    })
  }
  const backup = new EditRecords(options.env ?? process.env).backupPath(found.path)
  return {
    file,
    status: now === old ? 'unchanged' : old === undefined ? 'created' : now === undefined ? 'removed' : 'changed',
    diff: now === old ? '' : diffText(file, old, now),
    backup: existsSync(backup) ? backup : undefined,
  }
}

/** Removes the directories that were made for the file, from the innermost up, while they are empty. */
function removeEmptyDirectories(directory: string, outermost: string): void {
  try {
    for (let path = directory; path.startsWith(outermost); path = dirname(path)) rmdirSync(path)
  } catch {
    // A directory with other files stays.
  }
}
