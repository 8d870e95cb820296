// Times as people read them: the time of day for today, the date too for earlier days, and how long ago something happened.

import { lastHeardText } from '@agent-relay/sdk/internal/page'
import { useEffect, useState } from 'react'
import { Cell, useCell } from '../store/cell.ts'

/** The current time, which ticks once a second while the page is visible. */
const now = new Cell(Date.now())
setInterval(() => document.hidden || now.set(Date.now()), 1_000)

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })

export function clockText(ts: string | number): string {
  return clock.format(new Date(ts))
}

const minutes = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })

/** A formatter that is created once: `toLocaleString` creates one for each call, and a page shows many times. */
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export function minuteText(ts: string): string {
  return minutes.format(new Date(ts))
}

export function dayText(ts: string): string {
  const date = new Date(ts)
  return date.toDateString() === new Date().toDateString() ? 'Today' : day.format(date)
}

/** A time of day, to the minute. With `isExact`, to the second, for measuring. */
export function TimeOfDay({ ts, isExact = false }: { ts: string; isExact?: boolean }) {
  const date = new Date(ts)
  const isToday = date.toDateString() === new Date().toDateString()
  const text = isExact ? clock.format(date) : minutes.format(date)
  return (
    <time className="num" dateTime={ts} title={full.format(date)}>
      {isToday ? text : `${day.format(date)} ${text}`}
    </time>
  )
}

export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 1) return '< 1 s'
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} m`
  return `${Math.floor(seconds / 86_400)} d`
}

/** The time that has passed since `ts`, or between `ts` and `until`. */
export function ElapsedTime({ ts, until }: { ts: string; until?: string }) {
  const at = useCell(now)
  return <span className="num">{durationText((until ? Date.parse(until) : at) - Date.parse(ts))}</span>
}

export function TimeAgo({ ts }: { ts?: string }) {
  const at = useCell(now)
  if (!ts) return <span className="muted">–</span>
  const ms = at - Date.parse(ts)
  return (
    <span className="num" title={ts}>
      {ms < 5_000 ? 'now' : durationText(ms)}
    </span>
  )
}

/** Shows how long ago a machine was last heard of: `last heard of 3 min ago`. */
export function LastHeard({ ts }: { ts?: string }) {
  return lastHeardText(ts, useCell(now))
}

/** Returns a debounced copy of a value, which changes once the value has stayed the same for `ms`. */
export function useDebounced<T>(value: T, ms: number): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}
