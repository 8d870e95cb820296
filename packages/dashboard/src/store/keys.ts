// Keyboard shortcuts: Ctrl+K opens the palette, `?` lists the shortcuts, `/` searches, `g` and a letter goes to a view. Apart from Ctrl+K, they do nothing
// while somebody types into a field, or from the moment an overlay was asked for: later keys are meant for the overlay.

import { Cell } from './cell.ts'
import { goToView, pageAddress } from './page-address.ts'
import { menu } from './views.ts'

export const isHelpOpen = new Cell(false)
export const isSearchOpen = new Cell(false)
export const isPaletteOpen = new Cell(false)
/** The id of the approval that a second press of `a` would allow; a single `a` allows nothing. */
export const armedApproval = new Cell<string | undefined>(undefined)

export const keyTexts: [keys: string, text: string][] = [
  ['?', 'this list'],
  ['Ctrl K', 'every place and action by its name'],
  ['/', 'search all messages'],
  ...menu.map(({ key, title }): [string, string] => [`g ${key}`, title]),
  ['j  k', 'next, previous in a list (↓ ↑ in a search)'],
  ['Enter  r', 'open, or answer what is chosen (Now)'],
  ['a', 'allow what is chosen (Now), when it is pressed twice'],
  ['d', 'deny what is chosen (Now)'],
  ['c', 'write a message (Talk)'],
  ['space', 'play or pause (Recorder)'],
  ['←  →', 'step (Recorder)'],
  ['Esc', 'close, or leave a field'],
]

const chordMs = 1_200
let isChord = false
let timer: ReturnType<typeof setTimeout> | undefined

/** How long a first press of `a` counts. */
const armedMs = 4_000
let disarming: ReturnType<typeof setTimeout> | undefined

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null
  return element?.closest?.('input, textarea, select, [contenteditable], .xterm') != null
}

/** Whether a key press is meant for the page, and not for a text field, nor for an overlay that is open or about to open. */
export function isForPage({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isWindow = [isPaletteOpen, isHelpOpen, isSearchOpen].some((isOpen) => isOpen.value)
  return !(ctrlKey || metaKey || altKey || isWindow || isTyping(target))
}

export function followKeys(): void {
  addEventListener('focusin', () => arm(undefined))
  addEventListener('keydown', (event) => {
    if (event.key !== 'a') arm(undefined)
    if (event.key === 'Escape') return leave(event)
    if (isPaletteKey(event)) {
      event.preventDefault()
      return isPaletteOpen.update((isOpen) => !isOpen)
    }
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && isSearchOpen.value && !(event.target instanceof HTMLSelectElement)) {
      event.preventDefault()
      return step(by)
    }
    if (event.key === '?' && isHelpOpen.value) return isHelpOpen.set(false)
    if (!isForPage(event)) return
    if (isChord) {
      isChord = false
      const view = menu.find(({ key }) => key === event.key)
      if (view) {
        event.preventDefault()
        goToView(view.name)
      }
      return
    }
    single(event)
  })
}

/** Whether the key press is Ctrl+K, which works in every field, except in a terminal, where Ctrl+K has its own meaning. */
function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey, target }: KeyboardEvent): boolean {
  const isChosen = key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey && !shiftKey
  return isChosen && (target as HTMLElement | null)?.closest?.('.xterm') == null
}

function single(event: KeyboardEvent): void {
  if (event.key === 'g') {
    isChord = true
    clearTimeout(timer)
    timer = setTimeout(() => {
      isChord = false
    }, chordMs)
  } else if (event.key === '?') isHelpOpen.set(true)
  else if (event.key === '/') {
    event.preventDefault()
    isSearchOpen.set(true)
  } else if (event.key === 'a') allow(event)
  else if (event.key === 'd') act(event, 'deny')
  else if (event.key === 'j') step(1)
  else if (event.key === 'k') step(-1)
  else if (event.key === 'Enter') act(event, 'open')
  else if (event.key === 'r') act(event, 'reply')
  else if (event.key === 'c') {
    const field = document.querySelector<HTMLTextAreaElement>('[data-key="compose"]')
    if (field) event.preventDefault()
    field?.focus()
  }
}

/** Moves the focus along the items that the view marks with the attribute `data-item`. */
function step(by: number): void {
  const within = document.querySelector('dialog[open]') ?? document
  const items = [...within.querySelectorAll<HTMLElement>('[data-item]')]
  const at = items.findIndex((item) => item === document.activeElement || item.contains(document.activeElement))
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

/** Clicks the button of the focused item that is marked for this key. Without a focused item, `r` takes the first item that can be answered. */
function act(event: KeyboardEvent, key: 'open' | 'reply' | 'deny'): void {
  const part = partFor(key)
  if (!part) return
  event.preventDefault()
  part.click()
}

function partFor(key: string): HTMLElement | null | undefined {
  const item = document.activeElement?.matches('[data-item]') ? document.activeElement : undefined
  const within = key === 'reply' ? (item ?? document) : item
  return within?.querySelector<HTMLElement>(`[data-key="${key}"]`)
}

/** Handles the key `a`: the first press arms the focused row, which then asks for a second press; a key that is held down counts once. */
function allow(event: KeyboardEvent): void {
  const part = partFor('allow')
  const id = part?.dataset.approval
  if (!part || id === undefined || event.repeat) return
  event.preventDefault()
  const isSecond = armedApproval.value === id
  arm(isSecond ? undefined : id)
  if (isSecond) part.click()
}

function arm(id: string | undefined): void {
  clearTimeout(disarming)
  armedApproval.set(id)
  if (id !== undefined) disarming = setTimeout(() => armedApproval.set(undefined), armedMs)
}

function leave(event: KeyboardEvent): void {
  if (isPaletteOpen.value) isPaletteOpen.set(false)
  else if (isHelpOpen.value) isHelpOpen.set(false)
  else if (isSearchOpen.value) isSearchOpen.set(false)
  else if (isTyping(event.target) && !(event.target as HTMLElement).closest('.xterm'))
    (event.target as HTMLElement).blur()
  else if (pageAddress.value.query.has('thread')) goToView('talk', pageAddress.value.parts)
}
