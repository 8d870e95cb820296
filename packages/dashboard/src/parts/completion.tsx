// Completes the name of an agent behind an @: finds the names that fit the text before the caret, and shows them as a list.

import { type KeyboardEvent, type RefObject, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { fleet } from '../store/fleet.ts'
import './completion.css'

const shownMax = 6

export interface Completion {
  names: readonly string[]
  chosen: number
  /** Handles a key press; returns true if the list of names has used the key. */
  press(event: KeyboardEvent): boolean
  choose(name: string): void
}

export function useCompletion(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  onText: (text: string) => void,
): Completion {
  const { agents } = useCell(fleet)
  const { agent: me } = useCell(connection)
  const [chosen, setChosen] = useState(0)
  /** The text of the field when the list was closed with Escape; the list opens again when the text changes. */
  const [closedAt, setClosedAt] = useState<string>()
  const caret = field.current?.selectionStart ?? text.length
  const begun = /(?:^|[\s(])@([\w.-]*)$/.exec(text.slice(0, caret))?.[1]
  const fits = ({ name }: { name: string }): boolean =>
    name !== me && begun !== undefined && name !== begun && name.toLowerCase().startsWith(begun.toLowerCase())
  const isOpen = begun !== undefined && closedAt !== text
  const names = isOpen
    ? agents
        .filter(fits)
        .slice(0, shownMax)
        .map(({ name }) => name)
    : []
  const at = Math.min(chosen, names.length - 1)
  const choose = (name: string): void => {
    const start = caret - (begun ?? '').length
    onText(`${text.slice(0, start)}${name} ${text.slice(caret)}`)
    setChosen(0)
    // Moves the caret behind the inserted name, once the field holds that name.
    requestAnimationFrame(() => {
      field.current?.focus()
      field.current?.setSelectionRange(start + name.length + 1, start + name.length + 1)
    })
  }
  const press = (event: KeyboardEvent): boolean => {
    if (names.length === 0 || event.nativeEvent.isComposing) return false
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) setChosen((at + by + names.length) % names.length)
    else if (event.key === 'Escape') setClosedAt(text)
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(names[at] as string)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  return { names, chosen: at, press, choose }
}

export function Completions({ completion: { names, chosen, choose } }: { completion: Completion }) {
  if (names.length === 0) return null
  return (
    <div className="panel completions" role="listbox" aria-label="Agents">
      {names.map((name, i) => (
        <div
          key={name}
          role="option"
          tabIndex={-1}
          aria-selected={i === chosen}
          className="completion clip"
          // Uses `pointerdown`, and not `click`, since it comes before the text field loses the focus.
          onPointerDown={(event) => {
            event.preventDefault()
            choose(name)
          }}
        >
          {name}
        </div>
      ))}
    </div>
  )
}
