// The careful edit of JSON with comments: where to splice, found in the parser's tree. The library's own `modify` is not used: it edits the
// first of two keys of one name, where every reader takes the last, and puts an entry between a neighbour and its comment.

import jsonc, { type Node, type ParseError } from 'jsonc-parser'
import { bom, endOfLine, type Format, holds, isEqual, lineAt, nested, type Slot, Untouched } from './format.ts'

export const json: Format = {
  values(text) {
    const root = treeOf(bodyOf(text))
    return root ? jsonc.getNodeValue(root) : {}
  },
  put(text, path, slot, value) {
    const body = bodyOf(text)
    return text.slice(0, text.length - body.length) + put(body, path, slot, value)
  },
  remove(text, path, slot) {
    let body = bodyOf(text)
    const head = text.slice(0, text.length - body.length)
    // A name that occurs twice is taken out twice.
    for (;;) {
      const root = treeOf(body)
      const { container, rest } = root ? reach(root, path) : { container: undefined, rest: path }
      const found = container && rest.length === 0 ? find(container, slot) : undefined
      if (!container || !found) return head + body
      body = cut(body, container, found)
    }
  },
}

function bodyOf(text: string): string {
  return text.startsWith(bom) ? text.slice(1) : text
}

/** The parser's tree; undefined for a text of blanks and comments alone. */
function treeOf(text: string): Node | undefined {
  const errors: ParseError[] = []
  let root: Node | undefined
  try {
    root = jsonc.parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  } catch (error) {
    throw new Untouched(`not valid JSON (${(error as Error).message})`, true)
  }
  const [first] = errors
  if (first) throw new Untouched(`line ${lineAt(text, first.offset)}: not valid JSON (${wordsOf(first)})`, true)
  if (root === undefined && /\S/.test(jsonc.stripComments(text))) throw new Untouched('not valid JSON', true)
  if (root && root.type !== 'object') throw new Untouched('not a JSON object', true)
  return root
}

function wordsOf({ error }: ParseError): string {
  return jsonc
    .printParseErrorCode(error)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
}

/** The deepest container on the way to `path`, and the rest of the path. Of several keys of one name readers see the last, and so does this. */
function reach(root: Node, path: readonly string[]): { container: Node; rest: readonly string[] } {
  let container = root
  for (const [i, key] of path.entries()) {
    if (container.type !== 'object') throw wrongKind(path.slice(0, i), 'an object')
    const value = container.children?.findLast((property) => property.children?.[0]?.value === key)?.children?.[1]
    if (!value) return { container, rest: path.slice(i) }
    container = value
  }
  return { container, rest: [] }
}

function wrongKind(path: readonly string[], kind: string): Untouched {
  return new Untouched(`"${path.join('.')}" is not ${kind}`, true)
}

/** The property or the item in its container. */
function find(container: Node, slot: Slot): Node | undefined {
  if (typeof slot === 'string')
    return container.children?.findLast((property) => property.children?.[0]?.value === slot)
  return container.children?.find((item) => holds(jsonc.getNodeValue(item), slot.mark))
}

function put(text: string, path: readonly string[], slot: Slot, value: unknown): string {
  const root = treeOf(text)
  if (!root) return startDocument(text, nested(path, slot, value))
  const { container, rest } = reach(root, path)
  const [key, ...deeper] = rest
  if (key !== undefined) {
    if (container.type !== 'object') throw wrongKind(path.slice(0, path.length - rest.length), 'an object')
    return insert(text, container, key, nested(deeper, slot, value))
  }
  const kind = typeof slot === 'string' ? 'object' : 'array'
  if (container.type !== kind) throw wrongKind(path, kind === 'object' ? 'an object' : 'a list')
  const found = find(container, slot)
  const node = typeof slot === 'string' ? found?.children?.[1] : found
  if (!node) return insert(text, container, typeof slot === 'string' ? slot : undefined, value)
  if (isEqual(jsonc.getNodeValue(node), value)) return text
  const isOneLine = !text.slice(node.offset, node.offset + node.length).includes('\n')
  const printed = isOneLine ? JSON.stringify(value) : print(text, value, indentAt(text, node.offset))
  return splice(text, node.offset, node.length, printed)
}

function startDocument(text: string, value: unknown): string {
  const end = endOfLine(text)
  const printed = JSON.stringify(value, null, 2).replaceAll('\n', end)
  if (text.trim() === '') return `${printed}${text.startsWith(end) ? '' : end}${text}`
  return `${text}${text.endsWith('\n') ? '' : end}${printed}${end}`
}

/**
 * Inserts the entry first in its container: after the bracket, the remark beside it and a heading, before everything else. So no neighbour needs
 * another comma, and no comment is parted from its subject.
 */
function insert(text: string, container: Node, name: string | undefined, value: unknown): string {
  const label = name === undefined ? '' : `${JSON.stringify(name)}: `
  const inside = container.offset + 1
  const [first] = container.children ?? []
  const end = endOfLine(text)
  const base = indentAt(text, container.offset)
  const indent = first && isFirstOnLine(text, first.offset) ? indentAt(text, first.offset) : base + unitOf(text)
  const entry = `${end}${indent}${label}${print(text, value, indent)}`
  const lineEnd = restIsRemark(text, inside)
  if (lineEnd !== undefined) return splice(text, headingEnd(text, lineEnd, !first), 0, `${entry}${first ? ',' : ''}`)
  if (!first) return splice(text, inside, 0, `${entry}${end}${base}`)
  const space = /\s/.test(text[inside] ?? '') ? ' ' : ''
  return splice(text, inside, 0, `${space}${label}${JSON.stringify(value)},`)
}

/** The end of the line, if only blanks and whole comments follow; otherwise undefined. */
function restIsRemark(text: string, from: number): number | undefined {
  const remark = /(?:[ \t]|\/\*(?:(?!\*\/)[^\r\n])*\*\/)*(?:\/\/[^\r\n]*)?(?=\r?\n)/y
  remark.lastIndex = from
  return remark.test(text) ? remark.lastIndex : undefined
}

/** The end of a heading: comments on lines of their own before a blank line, or before the container's end. */
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

function cut(text: string, container: Node, node: Node): string {
  const children = container.children ?? []
  const before = children[children.indexOf(node) - 1]
  let [start, end] = [node.offset, node.offset + node.length]
  const comma = commaFrom(text, end)
  const isOwn = comma !== undefined && text.slice(end, comma).trim() === ''
  // If our entry stood last, the comma before it is needed no more.
  const former = comma === undefined && before ? commaFrom(text, before.offset + before.length) : undefined
  const other = isOwn ? undefined : (comma ?? former)
  if (isOwn) end = comma + 1
  const blanks = /(?:\r?\n)?[ \t]*$/.exec(text.slice(0, start))?.[0] ?? ''
  if (blanks.includes('\n') || /^[\s}\]]/.test(text.slice(end))) start -= blanks.length
  const edits = [[start, end - start], ...(other === undefined ? [] : [[other, 1]])] as [number, number][]
  return edits.sort(([a], [b]) => b - a).reduce((result, [offset, length]) => splice(result, offset, length, ''), text)
}

/** The next comma, after blanks and comments; undefined if something else comes first. */
function commaFrom(text: string, from: number): number | undefined {
  const trivia = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*)*/y
  trivia.lastIndex = from
  trivia.test(text)
  return text[trivia.lastIndex] === ',' ? trivia.lastIndex : undefined
}

function print(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', `${endOfLine(text)}${indent}`)
}

function unitOf(text: string): string {
  return /^([ \t]+)["}\]]/m.exec(text)?.[1] ?? '  '
}

/** The blanks that begin the line of `offset`. */
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
