// The command palette (Ctrl+K): every place and every action by its name, with the keyboard shortcuts that do the same.

import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { conversations } from '../store/conversations.ts'
import { fleet } from '../store/fleet.ts'
import { isPaletteOpen } from '../store/keys.ts'
import { followRuns, runs } from '../store/runs.ts'
import { useAsyncAction } from './async-action.ts'
import { FailureText } from './bits.tsx'
import { Overlay } from './overlay.tsx'
import { matchingChoices, type PaletteChoice, paletteChoices } from './palette-choices.ts'
import './palette.css'

const close = (): void => isPaletteOpen.set(false)

export function Palette() {
  useEffect(() => followRuns(), [])
  const list = useId()
  const { text, shown, chosen, asked, why, write, take, press } = usePalette()
  return (
    <Overlay label="Palette" onClose={close}>
      <input
        type="text"
        role="combobox"
        className="palette-field"
        aria-label="Go or do"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={shown[chosen] ? `${list}-${chosen}` : undefined}
        placeholder="Where to, or what to do"
        autoComplete="off"
        value={text}
        onChange={(event) => write(event.target.value)}
        onKeyDown={press}
      />
      <FailureText text={why} />
      <div id={list} role="listbox" aria-label="Places and actions" className="choices">
        {shown.map((choice, i) => (
          <Row
            key={choice.name}
            id={`${list}-${i}`}
            choice={choice}
            isChosen={i === chosen}
            isAsked={asked === choice.name}
            onTake={() => take(choice)}
          />
        ))}
      </div>
      {shown.length === 0 && <p className="muted search-hint">Nothing has this name. A message is found with /</p>}
    </Overlay>
  )
}

/** The state of the palette: its text, the choices that fit the text, the selected choice. */
function usePalette() {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [asked, setAsked] = useState<string>()
  const { why, attempt } = useAsyncAction()
  const shown = matchingChoices(useChoices(), text)
  const chosen = Math.min(at, shown.length - 1)
  const choose = (next: number): void => {
    setAt(next)
    setAsked(undefined)
  }
  const write = (words: string): void => {
    setText(words)
    choose(0)
  }
  const take = (choice: PaletteChoice): void => {
    if (choice.isFinal && asked !== choice.name) return setAsked(choice.name)
    setAsked(undefined)
    void attempt(async () => {
      await choice.run()
      // The palette closes only after the choice has succeeded, because it shows the failure otherwise.
      close()
    })
  }
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && shown.length > 0) {
      event.preventDefault()
      choose((chosen + by + shown.length) % shown.length)
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      const choice = shown[chosen]
      if (choice) take(choice)
    }
  }
  return { text, shown, chosen, asked, why, write, take, press }
}

function useChoices(): readonly PaletteChoice[] {
  const { agents, workers } = useCell(fleet)
  const { agent: me } = useCell(connection)
  const places = useCell(conversations)
  const list = useCell(runs)
  return useMemo(
    () => paletteChoices({ me, agents, workers, conversations: places ?? [], runs: list ?? [] }),
    [me, agents, workers, places, list],
  )
}

interface RowProps {
  id: string
  choice: PaletteChoice
  isChosen: boolean
  isAsked: boolean
  onTake(): void
}

function Row({ id, choice: { name, hint, keys }, isChosen, isAsked, onTake }: RowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the text field above the list handles the keys
    <div
      ref={(element) => {
        if (isChosen) element?.scrollIntoView({ block: 'nearest' })
      }}
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      className="choice"
      onClick={onTake}
    >
      <span className="clip">{isAsked ? `${name}: really? Enter again` : name}</span>
      {hint && <span className="muted small clip choice-hint">{hint}</span>}
      {keys?.split(' ').map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </div>
  )
}
