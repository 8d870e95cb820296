// Adds and removes one entry in TOML, as text: a new entry is a block of plain TOML 1.0 at the end of the file. No TOML library both keeps comments
// and writes a form that every reader accepts, so smol-toml only parses, and the caller compares the parsed values.

import { parse } from 'smol-toml'
import {
  byteOrderMark,
  type ConfigFormat,
  type EntrySlot,
  endOfLine,
  FileUntouchedError,
  findEntry,
  isEqual,
  isObject,
  valueAt,
} from './format.ts'

export const tomlFormat: ConfigFormat = {
  parse: values,
  put(text, path, slot, value) {
    const name = slotName(slot)
    const had = findEntry(values(text), path, name)
    if (isEqual(had, value)) return text
    const base = had === undefined ? text : removeTable(text, [...path, name])
    const end = endOfLine(text)
    const isBlank = base.replace(byteOrderMark, '').trim() === ''
    const gap = isBlank || /\n\r?\n$/.test(base) ? '' : base.endsWith('\n') ? end : end + end
    const block = tableLines([...path, name], value).join(end)
    return `${base}${gap}${block}${isBlank || base.endsWith('\n') ? end : ''}`
  },
  remove(text, path, slot) {
    const name = slotName(slot)
    return findEntry(values(text), path, name) === undefined ? text : removeTable(text, [...path, name])
  },
}

function values(text: string): Record<string, unknown> {
  try {
    return parse(text.replace(byteOrderMark, ''))
  } catch (error) {
    const { line, message } = error as Error & { line?: number }
    const why = message.split('\n')[0]?.replace(/^Invalid TOML document: /, '')
    throw new FileUntouchedError(`${line === undefined ? '' : `line ${line}: `}not valid TOML (${why})`, true)
  }
}

function slotName(slot: EntrySlot): string {
  if (typeof slot === 'string') return slot
  throw new FileUntouchedError('lists in TOML are not edited')
}

/** The text of an entry: `[a.b]`, its plain values, then a table for each object in it. */
function tableLines(path: readonly string[], value: unknown): string[] {
  if (!isObject(value)) throw new TypeError(`${path.join('.')}: only a table can be put into TOML`)
  const entries = Object.entries(value)
  return [
    `[${path.map(keyText).join('.')}]`,
    ...entries.filter(([, each]) => !isObject(each)).map(([key, each]) => `${keyText(key)} = ${valueText(each)}`),
    ...entries.filter(([, each]) => isObject(each)).flatMap(([key, each]) => ['', ...tableLines([...path, key], each)]),
  ]
}

function keyText(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : valueText(key)
}

/** Writes a value as TOML, which has the syntax of JSON for strings, numbers and lists, except that the character DEL must be escaped. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
}

interface TableHeader {
  start: number
  path: string[]
}

/** Removes the table and its subtables, except for comments at their end, which belong to the next table. */
function removeTable(text: string, path: readonly string[]): string {
  const headers = findHeaders(text)
  const isOurs = ({ path: other }: TableHeader) => path.every((key, i) => other[i] === key)
  let result = text
  for (const [i, header] of [...headers.entries()].reverse()) {
    if (!isOurs(header)) continue
    const block = text.slice(header.start, headers[i + 1]?.start)
    const said = block.replace(/(?:^[ \t]*(?:#.*)?(?:\r?\n|$))+$/m, '')
    const start = headers[i + 1] ? header.start : text.slice(0, header.start).replace(/(\n)\r?\n$/, '$1').length
    result = result.slice(0, start) + result.slice(header.start + (said || block).length)
  }
  if (valueAt(values(result), path) !== undefined)
    throw new FileUntouchedError(`${path.join('.')} is written in a way that cannot be taken out safely`, true)
  return result
}

/**
 * Finds lines that look like table headers. Some may be part of a long string or a list; the caller then notices that other values would change, and
 * refuses the edit.
 */
function findHeaders(text: string): TableHeader[] {
  return [...text.matchAll(/^[ \t]*\[{1,2}[^[\]\r\n]+\]{1,2}[ \t]*(?:#.*)?\r?$/gm)].flatMap((match) => {
    try {
      return [{ start: match.index, path: pathOf(parse(match[0])) }]
    } catch {
      return []
    }
  })
}

function pathOf(table: unknown): string[] {
  const inner = Array.isArray(table) ? table[0] : table
  const [key] = isObject(inner) ? Object.keys(inner) : []
  return key === undefined ? [] : [key, ...pathOf((inner as Record<string, unknown>)[key])]
}
