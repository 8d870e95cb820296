// Draws Markdown with a fixed set of elements, so that nothing in a text can become more than text, a link or code. Long text is folded at the end of a block.
// The parser is in markdown-tree.ts.

import { clean } from '@agent-relay/sdk/internal/page'
import { createContext, createElement, Fragment, type ReactNode, useContext, useMemo, useState } from 'react'
import { Button } from './bits.tsx'
import { Code } from './code.tsx'
import { foldedBeginningOf, type MarkdownNode, markdownOf, plainOf, usualPane } from './markdown-tree.ts'
import './markdown.css'

interface MarkdownProps {
  text: string
  className?: string
  /** Whether the text is shown in full, and not folded, because the person searched for something in it. */
  isWhole?: boolean
}

/** Maximum length in characters of a text that is shown in full because the person searched for something in it: drawing more would block the page. */
const wholeCharsMax = 8_000

/** The size of the pane in which texts are shown. */
export const PaneSize = createContext(usualPane)

export function Markdown({ text: given, className = '', isWhole = false }: MarkdownProps) {
  const text = useMemo(
    () =>
      clean(given)
        .replace(/^(?:[^\S\n]*\n)+/, '')
        .trimEnd(),
    [given],
  )
  const pane = useContext(PaneSize)
  const isUnfolded = isWhole && text.length <= wholeCharsMax
  const folded = useMemo(() => (isUnfolded ? undefined : foldedBeginningOf(text, pane)), [text, pane, isUnfolded])
  const [isOpen, setOpen] = useState(false)
  const shown = isOpen || folded === undefined ? text : folded
  const nodes = useMemo(() => markdownOf(shown), [shown])
  return (
    <>
      <div className={`text ${nodes ? 'markdown' : ''} ${className}`} dir="auto">
        {nodes ? drawn(nodes) : shown}
        {shown !== text && <span className="muted"> …</span>}
      </div>
      {folded !== undefined && (
        <Button className="link" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${text.length.toLocaleString()} characters`}
        </Button>
      )}
    </>
  )
}

/** Passes the Markdown nodes as separate children, which need no React keys, because the nodes of a text never change their order. */
const drawn = (nodes: readonly MarkdownNode[]): ReactNode =>
  createElement(Fragment, null, ...nodes.map((node) => createElement(Drawn, { node })))

/** Kinds of Markdown nodes that become an HTML element around their children. */
const simple = new Set(['paragraph', 'strong', 'em', 's', 'blockquote', 'bullet_list', 'thead', 'tbody', 'tr'])

function Drawn({ node }: { node: MarkdownNode }) {
  const { kind, tag, text, children } = node
  if (simple.has(kind)) return createElement(tag, null, drawn(children))
  switch (kind) {
    case 'softbreak':
    case 'hardbreak':
      return <br />
    case 'code_inline':
      return <code>{text}</code>
    case 'fence':
    case 'code_block':
      return <Code text={text} language={node.info.split(/\s/, 1)[0] ?? ''} />
    case 'hr':
      return <hr />
    case 'heading':
      // All headings of a text have one level, below those of the page: writers leave levels out. They only look different.
      return <h3 className={`heading is-${tag}`}>{drawn(children)}</h3>
    case 'ordered_list':
      return <ol start={Number(node.attrs.start ?? 1)}>{drawn(children)}</ol>
    case 'list_item':
      return <Item nodes={children} />
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
        <div className="table-scroll" tabIndex={0}>
          <table>{drawn(children)}</table>
        </div>
      )
    case 'th':
    case 'td':
      return createElement(tag, { className: /right|center/.exec(node.attrs.style ?? '')?.[0] }, drawn(children))
    case 'link':
      return <Link address={node.attrs.href ?? ''} said={plainOf(children)} nodes={children} />
    case 'image':
      return <Link address={node.attrs.src ?? ''} said={text === '' ? 'image' : text} />
    default:
      return children.length > 0 ? drawn(children) : text
  }
}

/** The checkbox of a task list item, such as `[x] `, at the beginning of the item's text. */
const box = /^\[([ xX])\] /

function Item({ nodes }: { nodes: MarkdownNode[] }) {
  const [first, ...rest] = nodes
  const words = first?.children[0]
  const found = first?.kind === 'paragraph' && words?.kind === 'text' ? box.exec(words.text) : null
  // The paragraph inside a list item is drawn as its bare text.
  const inner = (node: MarkdownNode): readonly MarkdownNode[] => (node.kind === 'paragraph' ? node.children : [node])
  if (!first || !words || !found) return <li>{drawn(first ? [...inner(first), ...rest] : rest)}</li>
  const isDone = found[1] !== ' '
  const after = { ...words, text: words.text.slice(found[0].length) }
  return (
    <li className="task">
      <span role="img" aria-label={isDone ? 'done' : 'to do'}>
        {isDone ? '☑' : '☐'}
      </span>
      {drawn([after, ...first.children.slice(1), ...rest])}
    </li>
  )
}

/** A link that always shows its target, as its text or behind the text. Only web and mail addresses can be opened. */
function Link({ address, said, nodes }: { address: string; said: string; nodes?: readonly MarkdownNode[] }) {
  const text = nodes ? drawn(nodes) : said
  const url = urlOf(address)
  if (!url || !/^(?:https?|mailto):$/.test(url.protocol))
    return (
      <>
        {text} <code className="muted">{address}</code>
      </>
    )
  const place = url.host || url.pathname
  // In `https://good.com@evil.com` the user name looks like a host, so an address with a user name always shows its real host too.
  const isSaid = !url.username && (said === place || (urlOf(said)?.host === place && !urlOf(said)?.username))
  return (
    <a href={url.href} title={url.href} target="_blank" rel="noopener noreferrer">
      {text}
      {!isSaid && <span className="muted small"> ({place})</span>}
    </a>
  )
}

const urlOf = (address: string): URL | undefined => (URL.canParse(address) ? new URL(address) : undefined)
