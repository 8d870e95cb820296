// A worker's changes in its git worktree, as a coloured diff.

import { clean } from '@agent-relay/sdk/internal/page'
import { useEffect, useState } from 'react'
import { client, commandForThisWorkspace } from '../store/connection.ts'
import type { ListedWorker } from '../store/fleet.ts'
import { Button, CopyButton, EmptyList, FailureText } from './bits.tsx'
import { diffLines } from './code.tsx'
import './work-diff.css'

/** How many characters of a diff are shown; `agent-relay diff` prints all of it. */
const shownChars = 200_000

export function WorkDiff({ worker: { name, worktree } }: { worker: ListedWorker }) {
  const [text, setText] = useState<string>()
  const [isCut, setCut] = useState(false)
  const [why, setWhy] = useState<string>()
  const ask = (): void => {
    // Asks by branch, since an earlier worker of the same name may have left a worktree of its own.
    client.call('worker.diff', { name: worktree?.branch ?? name }).then(
      (answer) => {
        setWhy(undefined)
        setText(clean(answer.text.slice(0, shownChars)))
        setCut(answer.isCut || answer.text.length > shownChars)
      },
      (error) => setWhy(error.message),
    )
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: git is asked once, and when the person asks again
  useEffect(ask, [])
  if (why) return <FailureText text={why} />
  if (text === undefined) return <p className="hello muted">Asking git …</p>
  return (
    <div className="work-diff">
      <div className="bar code-head">
        <span className="muted small clip mono" title={worktree?.path}>
          {worktree?.branch}
        </span>
        <Button onClick={ask}>Look again</Button>
        <CopyButton text={text} label="Copy" />
      </div>
      {text === '' ? (
        <EmptyList title="Nothing has changed yet" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
        <pre className="code-text" tabIndex={0}>
          {diffLines(text)}
        </pre>
      )}
      {isCut && (
        <p className="muted small">
          It goes on: {commandForThisWorkspace(`agent-relay diff ${worktree?.branch ?? name}`)}
        </p>
      )}
    </div>
  )
}
