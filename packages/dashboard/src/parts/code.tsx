// A block of code: it scrolls instead of wrapping, can be copied, and is coloured if its language is known. Diffs are coloured by
// their lines.

import { createElement, Fragment, type ReactNode } from 'react'
import { useAsyncResult } from './async-action.ts'
import { CopyButton } from './bits.tsx'
import { CodeHighlighter, type HighlightThread } from './code-highlighter.ts'
import type { CodeNode } from './highlight.ts'
import './code.css'

/** Maximum length in characters of code that is coloured: drawing a longer text takes long enough without colours. */
const colouredCharsMax = 10_000

/** The worker thread that finds colours; it starts with the first code block that has a language. */
const colours = new CodeHighlighter(
  () => new Worker(new URL('./colours-thread.ts', import.meta.url), { type: 'module' }) as HighlightThread,
)

export function Code({ text, language }: { text: string; language: string }) {
  const code = text.replace(/\n$/, '')
  const isDiff = /^(?:diff|patch)$/i.test(language) || /^(?:diff --git |--- [^\n]+\n\+\+\+ |@@ -\d)/.test(code)
  return (
    <div className="code">
      <div className="bar code-head">
        <span className="muted small clip">{language}</span>
        <CopyButton text={code} label="Copy" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard */}
      <pre tabIndex={0}>
        <code>{isDiff ? diffLines(code) : <Coloured code={code} language={language} />}</code>
      </pre>
    </div>
  )
}

function Coloured({ code, language }: { code: string; language: string }) {
  const isPlain = language === '' || code.length > colouredCharsMax
  const { answer: nodes } = useAsyncResult(
    async () => (isPlain ? undefined : colours.of({ code, language })),
    [code, language],
  )
  return nodes ? coloured(nodes) : code
}

/** Passes the parts of a text as separate children, which need no React keys, because the parts never change their order. */
const inOrder = (parts: readonly ReactNode[]): ReactNode => createElement(Fragment, null, ...parts)

const coloured = (nodes: readonly CodeNode[]): ReactNode =>
  inOrder(nodes.map((node) => (typeof node === 'string' ? node : inSpan(node.className, coloured(node.children)))))

const inSpan = (className: string, children: ReactNode): ReactNode => createElement('span', { className }, children)

const lineKinds: [start: RegExp, className: string][] = [
  [/^(?:diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename |old mode|new mode|Binary )/, 'diff-head'],
  [/^@@/, 'diff-place'],
  [/^\+/, 'diff-added'],
  [/^-/, 'diff-removed'],
]

/** Draws neighbouring diff lines of the same kind as one element, so that a long diff is some hundred elements, not as many as it has lines. */
export function diffLines(text: string): ReactNode {
  const runs: { className: string | undefined; lines: string[] }[] = []
  for (const line of text.split('\n')) {
    const className = lineKinds.find(([start]) => start.test(line))?.[1]
    const last = runs.at(-1)
    if (last && last.className === className) last.lines.push(line)
    else runs.push({ className, lines: [line] })
  }
  return inOrder(
    runs.map(({ className, lines }, i) => {
      const block = lines.join('\n') + (i < runs.length - 1 ? '\n' : '')
      return className === undefined ? block : inSpan(className, block)
    }),
  )
}
