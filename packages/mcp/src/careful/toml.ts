// The careful edit of TOML: a plain block of TOML 1.0 at the end of the file, as text. No TOML library keeps comments and writes a form that every
// reader takes, so the library (smol-toml) only reads, and the caller compares the values.

import { parse } from 'smol-toml'
import { at, bom, endOfLine, entryOf, type Format, isEqual, isObject, type Slot, Untouched } from './format.ts'

export const toml: Format = {
  values,
  put(text, path, slot, value) {
    const name = nameOf(slot)
    const had = entryOf(values(text), path, name)
    if (isEqual(had, value)) return text
    const base = had === undefined ? text : removeTable(text, [...path, name])
    const end = endOfLine(text)
    const isBlank = base.replace(bom, '').trim() === ''
    const gap = isBlank || /\n\r?\n$/.test(base) ? '' : base.endsWith('\n') ? end : end + end
    const block = blockOf([...path, name], value).join(end)
    return `${base}${gap}${block}${isBlank || base.endsWith('\n') ? end : ''}`
  },
  remove(text, path, slot) {
    const name = nameOf(slot)
    return entryOf(values(text), path, name) === undefined ? text : removeTable(text, [...path, name])
  },
}

function values(text: string): Record<string, unknown> {
  try {
    return parse(text.replace(bom, ''))
  } catch (error) {
    const { line, message } = error as Error & { line?: number }
    const why = message.split('\n')[0]?.replace(/^Invalid TOML document: /, '')
    throw new Untouched(`${line === undefined ? '' : `line ${line}: `}not valid TOML (${why})`, true)
  }
}

function nameOf(slot: Slot): string {
  if (typeof slot === 'string') return slot
  throw new Untouched('lists in TOML are not edited')
}

/** The text of an entry: `[a.b]`, its plain values, then a table for each object in it. */
function blockOf(path: readonly string[], value: unknown): string[] {
  if (!isObject(value)) throw new TypeError(`${path.join('.')}: only a table can be put into TOML`)
  const entries = Object.entries(value)
  return [
    `[${path.map(keyText).join('.')}]`,
    ...entries.filter(([, each]) => !isObject(each)).map(([key, each]) => `${keyText(key)} = ${valueText(each)}`),
    ...entries.filter(([, each]) => isObject(each)).flatMap(([key, each]) => ['', ...blockOf([...path, key], each)]),
  ]
}

function keyText(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : valueText(key)
}

/** A value as TOML: JSON writes strings, numbers and lists as TOML does, but for DEL, which TOML wants escaped. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
}

interface Header {
  start: number
  path: string[]
}

/** Takes out the table with its subtables, up to the last line that is no remark: a remark after that belongs to what follows. */
function removeTable(text: string, path: readonly string[]): string {
  const headers = headersOf(text)
  const isOurs = ({ path: other }: Header) => path.every((key, i) => other[i] === key)
  let result = text
  for (const [i, header] of [...headers.entries()].reverse()) {
    if (!isOurs(header)) continue
    const block = text.slice(header.start, headers[i + 1]?.start)
    const said = block.replace(/(?:^[ \t]*(?:#.*)?(?:\r?\n|$))+$/m, '')
    const start = headers[i + 1] ? header.start : text.slice(0, header.start).replace(/(\n)\r?\n$/, '$1').length
    result = result.slice(0, start) + result.slice(header.start + (said || block).length)
  }
  if (at(values(result), path) !== undefined)
    throw new Untouched(`${path.join('.')} is written in a way that cannot be taken out safely`, true)
  return result
}

/** Lines that look like table headers, also those inside a long string or a list: the caller's comparison of values finds these out. */
function headersOf(text: string): Header[] {
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
