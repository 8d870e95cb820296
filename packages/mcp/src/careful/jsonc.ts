// Adds and removes one entry in JSON with comments, as text; the syntax tree of jsonc-parser says where. That library's own `modify` is not used: of
// two equal keys it edits the first, where every reader takes the last, and it puts a new entry between a neighbour and that neighbour's comment.

import jsonc, { type Node, type ParseError } from 'jsonc-parser'
import {
  byteOrderMark,
  type ConfigFormat,
  containsMark,
  type EntrySlot,
  endOfLine,
  FileUntouchedError,
  isEqual,
  lineNumberAt,
  nestEntry,
} from './format.ts'

export const jsonFormat: ConfigFormat = {
  parse(text) {
    const root = parseTree(withoutByteOrderMark(text))
    return root ? jsonc.getNodeValue(root) : {}
  },
  put(text, path, slot, value) {
    const body = withoutByteOrderMark(text)
    return text.slice(0, text.length - body.length) + put(body, path, slot, value)
  },
  remove(text, path, slot) {
    let body = withoutByteOrderMark(text)
    const head = text.slice(0, text.length - body.length)
    // If a key occurs twice, both are removed.
    for (;;) {
      const root = parseTree(body)
      const { container, rest } = root ? deepestContainer(root, path) : { container: undefined, rest: path }
      const found = container && rest.length === 0 ? findNode(container, slot) : undefined
      if (!container || !found) return head + body
      body = removeNode(body, container, found)
    }
  },
}

function withoutByteOrderMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

/** Parses the text into a syntax tree; undefined for a text of whitespace and comments alone. */
function parseTree(text: string): Node | undefined {
  const errors: ParseError[] = []
  let root: Node | undefined
  try {
    root = jsonc.parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  } catch (error) {
    throw new FileUntouchedError(`not valid JSON (${(error as Error).message})`, true)
  }
  const [first] = errors
  if (first)
    throw new FileUntouchedError(
      `line ${lineNumberAt(text, first.offset)}: not valid JSON (${errorWords(first)})`,
      true,
    )
  if (root === undefined && /\S/.test(jsonc.stripComments(text))) throw new FileUntouchedError('not valid JSON', true)
  if (root && root.type !== 'object') throw new FileUntouchedError('not a JSON object', true)
  return root
}

function errorWords({ error }: ParseError): string {
  return jsonc
    .printParseErrorCode(error)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
}

/**
 * Returns the deepest container of `path` that exists, and the keys of `path` that are missing in it. Of equal keys the last counts, as for every
 * reader.
 */
function deepestContainer(root: Node, path: readonly string[]): { container: Node; rest: readonly string[] } {
  let container = root
  for (const [i, key] of path.entries()) {
    if (container.type !== 'object') throw wrongKindError(path.slice(0, i), 'an object')
    const value = container.children?.findLast((property) => property.children?.[0]?.value === key)?.children?.[1]
    if (!value) return { container, rest: path.slice(i) }
    container = value
  }
  return { container, rest: [] }
}

function wrongKindError(path: readonly string[], kind: string): FileUntouchedError {
  return new FileUntouchedError(`"${path.join('.')}" is not ${kind}`, true)
}

/** Finds the node of an entry in its container: a property of an object, or an item of a list. */
function findNode(container: Node, slot: EntrySlot): Node | undefined {
  if (typeof slot === 'string')
    return container.children?.findLast((property) => property.children?.[0]?.value === slot)
  return container.children?.find((item) => containsMark(jsonc.getNodeValue(item), slot.mark))
}

function put(text: string, path: readonly string[], slot: EntrySlot, value: unknown): string {
  const root = parseTree(text)
  if (!root) return startDocument(text, nestEntry(path, slot, value))
  const { container, rest } = deepestContainer(root, path)
  const [key, ...deeper] = rest
  if (key !== undefined) {
    if (container.type !== 'object') throw wrongKindError(path.slice(0, path.length - rest.length), 'an object')
    return insertFirst(text, container, key, nestEntry(deeper, slot, value))
  }
  const kind = typeof slot === 'string' ? 'object' : 'array'
  if (container.type !== kind) throw wrongKindError(path, kind === 'object' ? 'an object' : 'a list')
  const found = findNode(container, slot)
  const node = typeof slot === 'string' ? found?.children?.[1] : found
  if (!node) return insertFirst(text, container, typeof slot === 'string' ? slot : undefined, value)
  if (isEqual(jsonc.getNodeValue(node), value)) return text
  const isOneLine = !text.slice(node.offset, node.offset + node.length).includes('\n')
  const printed = isOneLine ? JSON.stringify(value) : printIndented(text, value, indentAt(text, node.offset))
  return splice(text, node.offset, node.length, printed)
}

function startDocument(text: string, value: unknown): string {
  const end = endOfLine(text)
  const printed = JSON.stringify(value, null, 2).replaceAll('\n', end)
  if (text.trim() === '') return `${printed}${text.startsWith(end) ? '' : end}${text}`
  return `${text}${text.endsWith('\n') ? '' : end}${printed}${end}`
}

/**
 * Inserts the entry as the first of its container: after the opening bracket, a comment on the bracket's line, and a heading (see `headingEnd`). So
 * no neighbour needs another comma, and no comment is separated from the entry that it describes.
 */
function insertFirst(text: string, container: Node, name: string | undefined, value: unknown): string {
  const label = name === undefined ? '' : `${JSON.stringify(name)}: `
  const inside = container.offset + 1
  const [first] = container.children ?? []
  const end = endOfLine(text)
  const base = indentAt(text, container.offset)
  const indent = first && isFirstOnLine(text, first.offset) ? indentAt(text, first.offset) : base + indentUnit(text)
  const entry = `${end}${indent}${label}${printIndented(text, value, indent)}`
  const lineEnd = endOfRemarkLine(text, inside)
  if (lineEnd !== undefined) return splice(text, headingEnd(text, lineEnd, !first), 0, `${entry}${first ? ',' : ''}`)
  if (!first) return splice(text, inside, 0, `${entry}${end}${base}`)
  const space = /\s/.test(text[inside] ?? '') ? ' ' : ''
  return splice(text, inside, 0, `${space}${label}${JSON.stringify(value)},`)
}

/** Returns the end of the line, if only whitespace and complete comments follow on it; otherwise undefined. */
function endOfRemarkLine(text: string, from: number): number | undefined {
  const remark = /(?:[ \t]|\/\*(?:(?!\*\/)[^\r\n])*\*\/)*(?:\/\/[^\r\n]*)?(?=\r?\n)/y
  remark.lastIndex = from
  return remark.test(text) ? remark.lastIndex : undefined
}

/** Returns the end of a heading: comments on lines of their own, up to a blank line, or all such comments of an empty container. */
function headingEnd(text: string, lineEnd: number, isEmpty: boolean): number {
  const remark = /(?:\r?\n[ \t]*)+(?:\/\/[^\r\n]*|\/\*(?:(?!\*\/)[\s\S])*\*\/)[ \t]*(?=\r?\n)/y
  const blankLines = /(?:\r?\n[ \t]*)+(?=\r?\n)/y
  let end = lineEnd
  for (remark.lastIndex = lineEnd; remark.test(text); ) {
    blankLines.lastIndex = remark.lastIndex
    if (isEmpty) end = remark.lastIndex
    else if (blankLines.test(text)) end = blankLines.lastIndex
  }
  return end
}

function removeNode(text: string, container: Node, node: Node): string {
  const children = container.children ?? []
  const before = children[children.indexOf(node) - 1]
  let [start, end] = [node.offset, node.offset + node.length]
  const comma = nextComma(text, end)
  const isOwn = comma !== undefined && text.slice(end, comma).trim() === ''
  // If our entry stood last, the comma before it is removed too.
  const former = comma === undefined && before ? nextComma(text, before.offset + before.length) : undefined
  const other = isOwn ? undefined : (comma ?? former)
  if (isOwn) end = comma + 1
  const blanks = /(?:\r?\n)?[ \t]*$/.exec(text.slice(0, start))?.[0] ?? ''
  if (blanks.includes('\n') || /^[\s}\]]/.test(text.slice(end))) start -= blanks.length
  const edits = [[start, end - start], ...(other === undefined ? [] : [[other, 1]])] as [number, number][]
  return edits.sort(([a], [b]) => b - a).reduce((result, [offset, length]) => splice(result, offset, length, ''), text)
}

/** The offset of the next comma, if only whitespace and comments come before it; otherwise undefined. */
function nextComma(text: string, from: number): number | undefined {
  const trivia = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*)*/y
  trivia.lastIndex = from
  trivia.test(text)
  return text[trivia.lastIndex] === ',' ? trivia.lastIndex : undefined
}

function printIndented(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, null, indentUnit(text)).replaceAll('\n', `${endOfLine(text)}${indent}`)
}

function indentUnit(text: string): string {
  return /^([ \t]+)["}\]]/m.exec(text)?.[1] ?? '  '
}

/** Returns the indentation of the line that contains `offset`. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

function isFirstOnLine(text: string, offset: number): boolean {
  return /\n[ \t]*$/.test(text.slice(0, offset))
}

function splice(text: string, offset: number, length: number, added: string): string {
  return text.slice(0, offset) + added + text.slice(offset + length)
}
