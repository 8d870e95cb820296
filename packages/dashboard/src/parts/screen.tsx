// The last lines of a worker's terminal as text, which include an open dialog.

import { clean } from '@agent-relay/sdk/internal/page'
import { useMemo } from 'react'
import { useWorkplace } from '../store/shown-workplace.ts'
import { useAsyncResult } from './async-action.ts'
import './screen.css'

const screenLines = 12

/** Shows the end of a worker's terminal; draws nothing if the terminal cannot be read or is empty. */
export function WorkerScreen({ name }: { name: string }) {
  const { client } = useWorkplace()
  const { answer } = useAsyncResult(() => client.call('worker.screen', { name }), [client, name])
  const text = useMemo(() => endOf(answer?.text ?? ''), [answer])
  return text === '' ? null : (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
    <pre className="screen" tabIndex={0}>
      {text}
    </pre>
  )
}

function endOf(screen: string): string {
  const lines = clean(screen)
    .split('\n')
    .map((line) => line.trimEnd())
  return lines
    .filter((line, i) => line !== '' || (lines[i - 1] ?? '') !== '')
    .slice(-screenLines)
    .join('\n')
    .trim()
}
