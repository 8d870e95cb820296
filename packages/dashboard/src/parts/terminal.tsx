// A worker's terminal, with its output so far. Key presses are sent to the worker only while typing is switched on, so that nobody types into an agent by
// mistake.

import { limitRepeatCounts } from '@agent-relay/sdk/internal/page'
import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Terminal } from '@xterm/xterm'
import { useEffect, useRef, useState } from 'react'
import '@xterm/xterm/css/xterm.css'
import { useCell } from '../store/cell.ts'
import { client } from '../store/connection.ts'
import { usePageAddress } from '../store/page-address.ts'
import { isDark } from '../store/theme.ts'
import { FailureText } from './bits.tsx'
import { allowSpanStyles, withCspSafeStyles } from './csp-safe-styles.ts'
import './terminal.css'

allowSpanStyles()

const scrollbackLines = 10_000

const light = {
  background: '#ffffff',
  foreground: '#1c1d1f',
  cursor: '#0b7285',
  selectionBackground: '#b8dfe6',
  yellow: '#8a6100',
  brightYellow: '#7a5600',
  white: '#55585e',
  brightWhite: '#1c1d1f',
  green: '#1a7f37',
  brightGreen: '#1a7f37',
  cyan: '#0b7285',
  brightCyan: '#0b7285',
}
const dark = { background: '#101113', foreground: '#dfe1e5', cursor: '#4cc2d4', selectionBackground: '#2c5560' }

export function TerminalView({ name }: { name: string }) {
  const { query } = usePageAddress()
  // A link that leads to an open dialog switches typing on.
  const [isTyping, setTyping] = useState(query.has('type'))
  const [text, setText] = useState('')
  const [why, setWhy] = useState<string>()
  const [hasCopied, setCopied] = useState<string>()
  const place = useRef<HTMLDivElement>(null)
  const shown = useTerminal(name, place, setWhy, setCopied)
  const colours = useCell(isDark)
  useEffect(() => {
    if (shown.current) shown.current.terminal.options.theme = colours ? dark : light
  }, [colours, shown])
  useEffect(() => {
    const held = shown.current
    if (!held) return
    held.terminal.options.disableStdin = !isTyping
    held.terminal.options.cursorBlink = isTyping
    if (!isTyping) return
    held.terminal.focus()
    // The worker's terminal is resized only when a person starts typing, and not when somebody only watches.
    fitInto(held)
    client.call('worker.resize', { name, cols: held.terminal.cols, rows: held.terminal.rows }).catch(() => {})
    const keys = held.terminal.onData((data) => {
      client.call('worker.type', { name, data }).catch((error) => setWhy(error.message))
    })
    return () => keys.dispose()
  }, [isTyping, name, shown])
  return (
    <div className={`terminal-view ${isTyping ? 'is-typing' : ''}`}>
      <div className="bar terminal-bar">
        <label className="switch">
          <input
            type="checkbox"
            role="switch"
            aria-checked={isTyping}
            checked={isTyping}
            onChange={(event) => setTyping(event.target.checked)}
          />
          Type into it
        </label>
        <input
          type="search"
          aria-label="Find in the terminal"
          placeholder="Find"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === 'Enter' && shown.current?.search.findPrevious(text)}
        />
      </div>
      <FailureText text={why} />
      {hasCopied !== undefined && <p className="muted small">{hasCopied}</p>}
      <div className="panel terminal-place" ref={place} data-terminal={name} />
    </div>
  )
}

interface Shown {
  terminal: Terminal
  fit: FitAddon
  search: SearchAddon
}

/** The least width of the shown terminal: programs draw for 80 columns, so on a narrow screen the terminal scrolls instead of wrapping. */
const colsMin = 80

function fitInto({ terminal, fit }: Pick<Shown, 'terminal' | 'fit'>): void {
  const size = fit.proposeDimensions()
  // While the terminal is hidden, the proposed size is NaN.
  if (size && size.cols > 0 && size.rows > 0) terminal.resize(Math.max(colsMin, size.cols), size.rows)
}

function useTerminal(
  name: string,
  place: { current: HTMLDivElement | null },
  onFailure: (why: string | undefined) => void,
  onNote: (note: string) => void,
): { current: Shown | null } {
  const shown = useRef<Shown>(null)
  useEffect(() => {
    const element = place.current
    if (!element) return
    const terminal = new Terminal({
      scrollback: scrollbackLines,
      disableStdin: true,
      fontSize: 12.5,
      lineHeight: 1.2,
      fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
      theme: isDark.value ? dark : light,
      // A click on a link in the worker's output shows the address, and opens nothing.
      linkHandler: { activate: (_, address) => onNote(`A link of the worker, not opened: ${address}`) },
      minimumContrastRatio: 4.5,
    })
    limitRepeatCounts(terminal)
    const [fit, search] = [new FitAddon(), new SearchAddon()]
    terminal.loadAddon(fit)
    terminal.loadAddon(search)
    withCspSafeStyles(() => terminal.open(element))
    fitInto({ terminal, fit })
    shown.current = { terminal, fit, search }
    const watch = new ResizeObserver(() => fitInto({ terminal, fit }))
    watch.observe(element)
    // Each time the connection is made again, the daemon sends the whole output again, so the screen is cleared first.
    let isAnew = true
    const stop = client.follow('worker.follow', {
      input: () => {
        isAnew = true
        return { name }
      },
      established: () => onFailure(undefined),
      item: ({ data }) => {
        if (isAnew) terminal.reset()
        isAnew = false
        terminal.write(data)
      },
      failed: (error) => onFailure(error.message),
    })
    return () => {
      stop()
      watch.disconnect()
      terminal.dispose()
      shown.current = null
    }
  }, [name, place, onFailure, onNote])
  return shown
}
