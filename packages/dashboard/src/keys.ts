// The keyboard: `?` lists the keys, `/` searches, `g` and a letter goes to a view. Not while something is being typed.

import { go, route, type View } from './route.ts'
import { Cell } from './store/cell.ts'
import { nextTheme } from './theme.ts'

export const isHelpOpen = new Cell(false)
export const isSearchOpen = new Cell(false)

export const places: Record<string, { view: View; name: string }> = {
  n: { view: 'now', name: 'Now' },
  t: { view: 'talk', name: 'Talk' },
  a: { view: 'agent', name: 'Agents' },
  r: { view: 'runs', name: 'Runs' },
  c: { view: 'actions', name: 'Actions' },
  f: { view: 'recorder', name: 'Recorder' },
}

export const keyTexts: [keys: string, text: string][] = [
  ['?', 'this list'],
  ['/', 'search all messages'],
  ...Object.entries(places).map(([key, { name }]): [string, string] => [`g ${key}`, name]),
  ['j  k', 'next, previous in a list (↓ ↑ in a search)'],
  ['c', 'write a message (Talk)'],
  ['space', 'play or pause (Recorder)'],
  ['←  →', 'step (Recorder)'],
  ['d', 'light or dark'],
  ['Esc', 'close, or leave a field'],
]

const chordMs = 1_200
let isChord = false
let timer: ReturnType<typeof setTimeout> | undefined

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null
  return element?.closest?.('input, textarea, select, [contenteditable], .xterm') != null
}

export function followKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return leave(event)
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && isSearchOpen.value && !(event.target instanceof HTMLSelectElement)) {
      event.preventDefault()
      return step(by)
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (isChord) {
      isChord = false
      const place = places[event.key]
      if (place) {
        event.preventDefault()
        go(place.view)
      }
      return
    }
    single(event)
  })
}

function single(event: KeyboardEvent): void {
  if (event.key === 'g') {
    isChord = true
    clearTimeout(timer)
    timer = setTimeout(() => {
      isChord = false
    }, chordMs)
  } else if (event.key === '?') isHelpOpen.update((isOpen) => !isOpen)
  else if (event.key === '/') {
    event.preventDefault()
    isSearchOpen.set(true)
  } else if (event.key === 'd') nextTheme()
  else if (event.key === 'j') step(1)
  else if (event.key === 'k') step(-1)
  else if (event.key === 'c') {
    const field = document.querySelector<HTMLTextAreaElement>('[data-key="compose"]')
    if (field) event.preventDefault()
    field?.focus()
  }
}

/** Along whatever the view marks as a list, in the order it is seen. */
function step(by: number): void {
  const within = document.querySelector('dialog[open]') ?? document
  const items = [...within.querySelectorAll<HTMLElement>('[data-item]')]
  const at = items.findIndex((item) => item === document.activeElement || item.contains(document.activeElement))
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

function leave(event: KeyboardEvent): void {
  if (isHelpOpen.value) isHelpOpen.set(false)
  else if (isSearchOpen.value) isSearchOpen.set(false)
  else if (isTyping(event.target) && !(event.target as HTMLElement).closest('.xterm'))
    (event.target as HTMLElement).blur()
  else if (route.value.query.has('thread')) go('talk', route.value.parts)
}
