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
/** The size of a folded text in lines and characters: whole blocks, as many as fit. */
const [foldedLines, foldedChars] = [18, 2_400]
/** A text that is longer than the folded size by at most this many lines is not folded. */
const slackLines = 6
/** How many characters of a long text are searched for the place where its folded form ends. */
const headChars = 4_096
/** The assumed width of a line on the page in characters, used to estimate how often a longer line wraps. */
const lineChars = 110

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

/** Returns the beginning of a long text, up to the end of a block; undefined for a short text. */
export function foldedOf(text: string): string | undefined {
  const lines = text.slice(0, headChars).split('\n')
  const isWhole = text.length <= headChars
  if (isWhole && weightOf(lines) <= foldedLines + slackLines) return undefined
  if (!isWhole && lines.length > 1) lines.pop()
  let end = 0
  for (const { level, map } of parser.parse(lines.join('\n'), {})) {
    const [, last] = map ?? [0, 0]
    if (level === 0 && last > end && weightOf(lines.slice(0, last)) <= foldedLines) end = last
  }
  const kept = end > 0 ? lines.slice(0, end) : lines.slice(0, foldedLines)
  return kept.join('\n').slice(0, foldedChars).trimEnd()
}

/** Estimates how many lines a text takes on the page. */
export const weightOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / lineChars)), 0)

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
