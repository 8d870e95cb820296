// The message list of a conversation of any length: draws only the rows in view, loads messages as needed, and stays at the end while the reader is at the end.

import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { type History, historyOf } from '../store/history.ts'
import { markRead } from '../store/reading.ts'
import { Button, EmptyList, FailureText } from './bits.tsx'
import { lastWrittenConversation } from './composer.tsx'
import { PaneSize } from './markdown.tsx'
import { estimatedLinesOf, type PaneLines, usualPane } from './markdown-tree.ts'
import { continuesPreviousMessage, MessageRow } from './message-row.tsx'
import { dayText } from './time.tsx'
import './message-list.css'

const [overscanRows, startPx, endPx] = [6, 8, 60]
/** Row heights for the virtual list's guess; they must match the style sheet, because a row whose height is guessed right is laid out only once. */
const [linePx, headPx, runOnPx] = [20, 52, 24]

/** A constant function: given a new function at each render, the virtual list would measure every row again. */
const getItemKey = (index: number): number => index + 1

function guessPx(history: History, n: number, { lines: linesMax, chars }: PaneLines): number {
  const message = history.at(n)
  if (!message) return runOnPx + linePx
  const lines = Math.min(linesMax, estimatedLinesOf(message.body.split('\n', linesMax), chars))
  return (continuesPreviousMessage(message, history.at(n - 1)) ? runOnPx : headPx) + lines * linePx
}

/** Sizes in pixels, which must match `message-row.css`: everything beside a message's text, the widest text, and the usual width of a letter. */
const [sidePx, textMaxPx, letterPx] = [82, 860, 7.5]

/** Measures how many lines of text the pane shows. Rounded, so that not every pixel of a resize folds all messages again. */
function usePane(scroller: { current: HTMLDivElement | null }): PaneLines {
  const [pane, setPane] = useState(usualPane)
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const measure = (): void => {
      const lines = Math.max(8, Math.floor(element.clientHeight / linePx / 4) * 4)
      const widthPx = Math.min(textMaxPx, element.clientWidth - sidePx)
      const chars = Math.max(20, Math.floor(widthPx / letterPx / 10) * 10)
      setPane((before) => (before.lines === lines && before.chars === chars ? before : { lines, chars }))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [scroller])
  return pane
}

export function MessageList({ name, target }: { name: string; target: string | undefined }) {
  const history = historyOf(name)
  useCell(history.version)
  if (!history.isKnown) return <div className="messages" />
  if (history.last === 0)
    return (
      <div className="messages">
        {history.why ? <FailureText text={name.startsWith('@') ? undefined : history.why} /> : null}
        <EmptyList title="Nothing was said here yet">Write the first message below.</EmptyList>
      </div>
    )
  return <Rows history={history} target={target} />
}

function Rows({ history, target }: { history: History; target: string | undefined }) {
  const { last } = history
  const scroller = useRef<HTMLDivElement>(null)
  const [marked, setMarked] = useState<number>()
  const pane = usePane(scroller)
  const estimateSize = useCallback((index: number) => guessPx(history, index + 1, pane), [history, pane])
  const rows = useVirtualizer({
    count: last,
    getScrollElement: () => scroller.current,
    estimateSize,
    overscan: overscanRows,
    paddingStart: startPx,
    getItemKey,
    initialOffset: target === undefined ? last * (runOnPx + linePx) : 0,
  })
  const items = rows.getVirtualItems()
  const [low, high] = [(items[0]?.index ?? 0) + 1, (items.at(-1)?.index ?? 0) + 1]
  useEffect(() => history.ensure(low, high), [history, low, high])
  useRead(history, low, high)
  const height = rows.getTotalSize()
  const { isAtEnd, missed, follow } = useEnd(scroller, history, height, marked, target === undefined)
  useLanding(history, target, (n) => {
    isAtEnd.current = false
    setMarked(n)
    rows.scrollToIndex(n - 1, { align: 'center' })
  })
  const toEnd = (): void => {
    isAtEnd.current = true
    rows.scrollToIndex(last - 1, { align: 'end' })
  }
  return (
    <div className="messages-box">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard */}
      <div ref={scroller} className="messages" onScroll={follow} tabIndex={0} role="log" aria-label="Messages">
        <div className="rows" style={{ height }}>
          <PaneSize value={pane}>
            {items.map(({ key, index, start }) => (
              <div
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="row"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Place history={history} n={index + 1} isMarked={marked === index + 1} />
              </div>
            ))}
          </PaneSize>
        </div>
      </div>
      {last > missed && missed > 0 && (
        <Button className="to-end main-button" onClick={toEnd}>
          {last - missed} new ↓
        </Button>
      )}
    </div>
  )
}

/** Keeps the list scrolled to its end while the reader is at the end, and counts the messages that come while the reader is elsewhere. */
function useEnd(
  scroller: { current: HTMLDivElement | null },
  history: History,
  height: number,
  marked: number | undefined,
  isBegun: boolean,
) {
  const { last } = history
  const isAtEnd = useRef(isBegun)
  const [missed, setMissed] = useState(0)
  // If the reader is at the end of the list, scrolls to the new end when rows are added and when rows turn out higher than guessed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the height is the reason to scroll
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [height, last])
  // Checks whether a reader who was not at the end is at the end after all: a list that fits on the screen never scrolls, so no scroll event would say so. This
  // does not run for every change of height, because reading the layout for each drawn row would cost more than drawing the row.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new message or a jump to a message is the reason to measure
  useLayoutEffect(() => {
    if (!isAtEnd.current) follow()
  }, [last, marked])
  useEffect(() => setMissed((before) => (isAtEnd.current ? last : before || last)), [last])
  useEffect(
    () =>
      lastWrittenConversation.listen(() => {
        if (lastWrittenConversation.value?.conversation !== history.name || !scroller.current) return
        isAtEnd.current = true
        scroller.current.scrollTop = scroller.current.scrollHeight
      }),
    [history, scroller],
  )
  const follow = (): void => {
    const element = scroller.current
    if (!element) return
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < endPx
    if (isAtEnd.current && missed !== last) setMissed(last)
  }
  return { isAtEnd, missed, follow }
}

function Place({ history, n, isMarked }: { history: History; n: number; isMarked: boolean }) {
  const message = history.at(n)
  if (!message) return <div className="message is-loading" aria-hidden="true" />
  const before = history.at(n - 1)
  const isNewDay = !before || dayText(before.ts) !== dayText(message.ts)
  return (
    <>
      {isNewDay && before && <div className="day">{dayText(message.ts)}</div>}
      <MessageRow
        message={message}
        before={isNewDay ? undefined : before}
        conversation={history.name}
        answered={message.replyTo === undefined ? undefined : history.byId(message.replyTo)}
        isMarked={isMarked}
      />
    </>
  )
}

/** Scrolls to the message that the page's address names, wherever in the conversation it is. */
function useLanding(history: History, target: string | undefined, land: (n: number) => void): void {
  const landing = useRef(land)
  landing.current = land
  useEffect(() => {
    if (target === undefined) return
    let isCurrent = true
    void history.find(target).then((n) => {
      if (isCurrent && n !== undefined) landing.current(n)
    })
    return () => {
      isCurrent = false
    }
  }, [history, target])
}

/** Marks the messages in view as read. */
function useRead(history: History, low: number, high: number): void {
  const version = useCell(history.version)
  const { phase } = useCell(connection)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the messages in the same rows may have changed
  useEffect(() => {
    const look = (): void => {
      if (phase !== 'up' || !document.hasFocus()) return
      const unread: string[] = []
      for (let n = low; n <= high; n++) {
        const message = history.at(n)
        if (message?.receipt === 'stored' || message?.receipt === 'offered') unread.push(message.id)
      }
      markRead(unread)
    }
    look()
    addEventListener('focus', look)
    return () => removeEventListener('focus', look)
  }, [history, version, low, high, phase])
}
