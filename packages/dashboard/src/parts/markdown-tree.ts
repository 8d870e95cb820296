// Markdown as a tree of the few kinds of nodes that the page draws. Other people wrote the text, so its length, depth and nodes are bounded, and
// HTML in it stays text. Drawing is in markdown.tsx.

import { clean, cleanLine } from '@agent-relay/sdk/internal/page'
import MarkdownIt from 'markdown-it'

/** A node of the Markdown tree. `kind` is the name of the parser's token without `_open`. */
export interface MarkdownNode {
  kind: string
  tag: string
  text: string
  attrs: Readonly<Record<string, string>>
  /** The text after a code fence's opening marks, which begins with the language. */
  info: string
  children: MarkdownNode[]
}

/** Limits of drawn Markdown: a text that is longer or has more nodes is shown as it was written, since drawing it would block the page. */
const [markdownCharsMax, nodesMax] = [32 * 1024, 8_000]
/** The deepest level of Markdown nodes; deeper nodes are drawn at their parent's level. */
const depthMax = 40
/** The size of the place where a text is shown, in lines and in characters of a line: a text that fits is not folded. */
export interface PaneLines {
  lines: number
  chars: number
}

/** The size that is assumed for a place that is not measured. */
export const usualPane: PaneLines = { lines: 18, chars: 110 }
/** A text that is longer than its place by at most this many lines is not folded. */
const slackLines = 6
/** The most lines of a block of code that are seen at once: a longer block scrolls by itself (`markdown.css`). */
const codeLinesMax = 24
/** How many characters of a long text are searched for the place where its folded form ends. */
const headChars = 4_096

const parser = new MarkdownIt({ linkify: true, breaks: true })
type MarkdownToken = ReturnType<typeof parser.parse>[number]
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })

/** Characters that may be Markdown: a text without any of them looks the same with and without Markdown. */
const signs = /[`*_[\]<>#|~\\&!]|^ {0,3}(?:[-+=]|\d{1,9}[.)])|^(?: {4}|\t)|:\/\/|\n\s*\n/m

/** Parses a text as Markdown; returns undefined for a text that is to be shown as it was written. */
export function markdownOf(text: string): MarkdownNode[] | undefined {
  if (text.length > markdownCharsMax || !signs.test(text)) return undefined
  const tokens = parser.parse(text, {})
  const count = tokens.reduce((sum, { children }) => sum + 1 + (children?.length ?? 0), 0)
  return count > nodesMax ? undefined : treeOf(tokens)
}

function treeOf(tokens: readonly MarkdownToken[]): MarkdownNode[] {
  const root: MarkdownNode[] = []
  const open: MarkdownNode[][] = [root]
  let passedOver = 0
  for (const token of tokens) {
    const here = open.at(-1) as MarkdownNode[]
    if (token.nesting === -1) {
      if (passedOver > 0) passedOver--
      else open.pop()
    } else if (token.type === 'inline') {
      here.push(...treeOf(token.children ?? []))
    } else if (token.nesting === 1 && open.length > depthMax) {
      passedOver++
    } else {
      const node = nodeOf(token)
      here.push(node)
      if (token.nesting === 1) open.push(node.children)
    }
  }
  return root
}

function nodeOf(token: MarkdownToken): MarkdownNode {
  const { type, tag, content, info } = token
  const attrs = Object.fromEntries((token.attrs ?? []).map(([name, value]) => [name, String(value)]))
  return { kind: type.replace(/_open$/, ''), tag, text: content, attrs, info: info.trim(), children: [] }
}

/**
 * Returns the beginning of a text that is longer than its place: whole blocks, as many as fit, and the code that follows them, since a text that announces code
 * says little without it. Undefined if nothing has to be hidden.
 */
export function foldedBeginningOf(text: string, { lines: linesMax, chars }: PaneLines = usualPane): string | undefined {
  const lines = text.slice(0, headChars).split('\n')
  const isWhole = text.length <= headChars
  if (isWhole && estimatedLinesOf(lines, chars) <= linesMax + slackLines) return undefined
  if (!isWhole && lines.length > 1) lines.pop()
  let [end, weight] = [0, 0]
  for (const { level, map, type, markup } of parser.parse(lines.join('\n'), {})) {
    if (level !== 0 || !map || map[1] <= end) continue
    const isCode = type === 'fence'
    const own = estimatedLinesOf(lines.slice(end, map[1]), chars)
    weight += isCode ? Math.min(codeLinesMax, own) : own
    if (weight > linesMax && !isCode) break
    end = isCode ? endOfCode(text, map, markup) : map[1]
  }
  if (end === 0)
    return lines
      .slice(0, linesMax)
      .join('\n')
      .slice(0, linesMax * chars)
      .trimEnd()
  const all = text.split('\n')
  return end < all.length ? all.slice(0, end).join('\n').trimEnd() : undefined
}

/** Returns the number of the line after a block of code, which may end behind the searched beginning of its text. */
function endOfCode(text: string, [start, last]: [number, number], markup: string): number {
  if (text.length <= headChars || text.length > markdownCharsMax) return last
  const all = text.split('\n')
  const end = all.findIndex((line, i) => i > start && line.trim().startsWith(markup))
  return end < 0 ? all.length : end + 1
}

/** Estimates how many lines a text takes on the page. */
export const estimatedLinesOf = (lines: readonly string[], chars = usualPane.chars): number =>
  lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / chars)), 0)

const previewChars = 300
const keptPreviews = new Map<string, string>()
const keptPreviewsMax = 2_000

/** The beginning of a text on one line, without Markdown's characters, for use in lists. */
export function previewOf(text: string): string {
  const head = text.slice(0, previewChars)
  if (!signs.test(head)) return cleanLine(head)
  const known = keptPreviews.get(head)
  if (known !== undefined) return known
  if (keptPreviews.size > keptPreviewsMax) keptPreviews.clear()
  const plain = cleanLine(plainOf(treeOf(parser.parse(clean(head), {}))))
  keptPreviews.set(head, plain)
  return plain
}

const blocks = /^(?:paragraph|heading|list_item|tr|t[hd]|fence|code_block|softbreak|hardbreak)$/

export function plainOf(nodes: readonly MarkdownNode[]): string {
  return nodes
    .map(({ kind, text, children }) => {
      const inner = children.length > 0 ? plainOf(children) : text
      return blocks.test(kind) ? `${inner} ` : inner
    })
    .join('')
}
