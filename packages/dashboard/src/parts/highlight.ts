// The colours of code, by highlight.js with the languages that agents write most. Loaded only when code with a language is shown.

import { common, createLowlight } from 'lowlight'

export type CodeNode = string | { className: string; children: CodeNode[] }

const lowlight = createLowlight(common)

/** Undefined: the language is not known. */
export function highlighted(code: string, language: string): readonly CodeNode[] | undefined {
  const name = language.toLowerCase()
  return lowlight.registered(name) ? lowlight.highlight(name, code).children.map(nodeOf) : undefined
}

type Child = ReturnType<typeof lowlight.highlight>['children'][number]

function nodeOf(child: Child): CodeNode {
  if (child.type !== 'element') return child.type === 'text' ? child.value : ''
  const { className } = child.properties
  return { className: [className].flat().join(' '), children: child.children.map((each) => nodeOf(each)) }
}
