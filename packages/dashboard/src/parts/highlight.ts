// Colours code with highlight.js, in its common languages. Only the worker thread of code-highlighter.ts loads this file, since colouring may take long.

import { common, createLowlight } from 'lowlight'

export type CodeNode = string | { className: string; children: CodeNode[] }

const lowlight = createLowlight(common)

/** Code with more coloured pieces than this is shown without colours: drawing the pieces would block the page. */
const piecesMax = 5_000

/** Colours a text; returns undefined if the language is unknown or the code has too many pieces. */
export function highlighted(code: string, language: string): readonly CodeNode[] | undefined {
  const name = language.toLowerCase()
  if (!lowlight.registered(name)) return undefined
  const nodes = lowlight.highlight(name, code).children.map(nodeOf)
  return piecesOf(nodes) > piecesMax ? undefined : nodes
}

function piecesOf(nodes: readonly CodeNode[]): number {
  return nodes.reduce((sum, node) => sum + 1 + (typeof node === 'string' ? 0 : piecesOf(node.children)), 0)
}

type Child = ReturnType<typeof lowlight.highlight>['children'][number]

function nodeOf(child: Child): CodeNode {
  if (child.type !== 'element') return child.type === 'text' ? child.value : ''
  const { className } = child.properties
  return { className: [className].flat().join(' '), children: child.children.map((each) => nodeOf(each)) }
}
