// The view "Recorder", the flight recorder: the journal as a timeline that can be filtered, jumped in, stepped through and played again.

import { eventFamilies, familyText } from '@agent-relay/sdk/internal/event-text'
import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useAsyncAction } from '../parts/async-action.ts'
import { Button, EmptyList, FailureText, IconButton } from '../parts/bits.tsx'
import { EventDetails } from '../parts/causes.tsx'
import { eventText } from '../parts/event-text.ts'
import { type EventWindow, useEventWindow } from '../parts/event-window.ts'
import { eventFamilyClass, Lanes } from '../parts/lanes.tsx'
import { RecordingTools } from '../parts/recording-tools.tsx'
import { clockText } from '../parts/time.tsx'
import { useCell } from '../store/cell.ts'
import { eventKey } from '../store/concerns.ts'
import { connection } from '../store/connection.ts'
import { conversations, conversationTitle } from '../store/conversations.ts'
import { lastSeq } from '../store/events.ts'
import { fleet } from '../store/fleet.ts'
import { isForPage } from '../store/keys.ts'
import { pageAddress, replaceAddress, usePageAddress } from '../store/page-address.ts'
import type { Filter } from '../store/recorder.ts'
import { seqAt } from '../store/recorder.ts'
import './recorder.css'

const speeds = [1, 2, 4, 8, 16, 32, 64]
const zooms = [0.25, 0.5, 1, 2, 4]
function useFilter(): Filter {
  const { query } = usePageAddress()
  return { agent: query.get('agent') ?? '', conversation: query.get('in') ?? '', types: query.get('types') ?? '' }
}

export default function Recorder() {
  const { parts } = usePageAddress()
  const filter = useFilter()
  const seq = parts[0] === undefined || parts[0] === '' ? undefined : Number(parts[0])
  const [lanesBy, setLanesBy] = useState<'agent' | 'conversation'>('agent')
  const [zoom, setZoom] = useState(1)
  const eventWindow = useEventWindow(seq, filter)
  const { events, current, stretch, setStretch } = eventWindow
  const chosen = events[current]
  useKeys(eventWindow)
  const [first, last] = stretch ?? [0, events.length - 1]
  const shown = useMemo(() => events.slice(first, last + 1), [events, first, last])
  return (
    <div className="recorder">
      <div className="bar recorder-bar">
        <h1 className="title">Flight recorder</h1>
        <Transport eventWindow={eventWindow} />
        <Jump onJump={eventWindow.jump} />
        <Filters filter={filter} seq={chosen?.seq} />
        <select aria-label="Lanes by" value={lanesBy} onChange={(event) => setLanesBy(event.target.value as 'agent')}>
          <option value="agent">lanes by agent</option>
          <option value="conversation">lanes by conversation</option>
        </select>
        <select aria-label="Zoom" value={zoom} onChange={(event) => setZoom(Number(event.target.value))}>
          {zooms.map((each) => (
            <option key={each} value={each}>
              {each * 100} %
            </option>
          ))}
        </select>
        <RecordingTools events={shown} />
      </div>
      <FailureText text={eventWindow.why} />
      {eventWindow.isKnown && events.length === 0 ? (
        <EmptyList title="Nothing was recorded" command="agent-relay events">
          No event matches. The journal holds every change: loosen the filter, or send a message first.
        </EmptyList>
      ) : (
        <>
          <Lanes
            {...{ events, current, by: lanesBy, zoom, stretch }}
            onChoose={eventWindow.choose}
            onStretch={setStretch}
          />
          <div className="recorder-main">
            <div className="recorder-list">
              <ListHead filter={filter} seq={chosen?.seq} eventWindow={eventWindow} />
              <EventList events={shown} current={current - first} onChoose={(i) => eventWindow.choose(first + i)} />
            </div>
            {chosen && <EventDetails event={chosen} />}
          </div>
        </>
      )}
    </div>
  )
}

/** The head of the list of events: says which events the list leaves out, with a button that shows them. */
function ListHead({ filter, seq, eventWindow }: { filter: Filter; seq: number | undefined; eventWindow: EventWindow }) {
  const { events, stretch, setStretch } = eventWindow
  const showAll = (): void => changeFilter(filter, { types: '*' }, seq)
  if (stretch)
    return (
      <p className="bar muted small list-head">
        {stretch[1] - stretch[0] + 1} of {events.length} events are selected, and played.
        <Button className="link" onClick={() => setStretch(undefined)}>
          Show all
        </Button>
      </p>
    )
  if (filter.types !== '') return null
  return (
    <p className="bar muted small list-head">
      Deliveries and other minor events are left out.
      <Button className="link" onClick={showAll}>
        Show all
      </Button>
    </p>
  )
}

function changeFilter(filter: Filter, part: Partial<Filter>, seq: number | undefined): void {
  const { agent, conversation, types } = { ...filter, ...part }
  replaceAddress('recorder', seq === undefined ? [] : [seq], { agent, in: conversation, types })
}

function Transport({ eventWindow: { isPlaying, speed, step, toggle, setSpeed } }: { eventWindow: EventWindow }) {
  return (
    <div className="panel transport" role="toolbar" aria-label="Replay">
      <IconButton icon="back" label="Step back ( ← )" onClick={() => step(-1)} />
      <IconButton
        icon={isPlaying ? 'pause' : 'play'}
        label={isPlaying ? 'Pause ( space )' : 'Play ( space )'}
        onClick={toggle}
      />
      <IconButton icon="forward" label="Step ( → )" onClick={() => step(1)} />
      <select aria-label="Speed" value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
        {speeds.map((each) => (
          <option key={each} value={each}>
            {each}×
          </option>
        ))}
      </select>
    </div>
  )
}

function EventList({
  events,
  current,
  onChoose,
}: {
  events: readonly RelayEvent[]
  current: number
  onChoose(index: number): void
}) {
  const list = useRef<HTMLOListElement>(null)
  const bodies = useMemo(() => new Map(events.map(({ message }) => [message?.id ?? '', message?.body ?? ''])), [events])
  useEffect(() => {
    const row = list.current?.children[current] as HTMLElement | undefined
    const element = list.current
    if (!row || !element) return
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight]
    if (top < element.scrollTop || bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = top - element.clientHeight / 2
  }, [current])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
    <ol className="events" ref={list} aria-label="Events" tabIndex={0}>
      {events.map((event, i) => (
        <li key={eventKey(event)}>
          <Button
            data-item
            data-seq={event.seq}
            data-type={event.type}
            className={`list-row event ${eventFamilyClass(event)} ${i > current ? 'is-ahead' : ''}`}
            aria-current={i === current ? 'true' : undefined}
            onClick={() => onChoose(i)}
          >
            <span className="num muted small">{clockText(event.ts)}</span>
            <span className="event-type small wide-only">{familyText(event) ?? event.type}</span>
            <bdi className="clip">{eventText(event, bodies)}</bdi>
          </Button>
        </li>
      ))}
    </ol>
  )
}

function Jump({ onJump }: { onJump(seq: number): void }) {
  const last = useCell(lastSeq)
  const [text, setText] = useState('')
  const { why, attempt } = useAsyncAction()
  const jump = async (): Promise<void> => {
    const wanted = text.trim().replace(/^#/, '')
    const today = /^\d{1,2}:\d{2}(:\d{2})?$/.test(wanted)
      ? new Date(`${new Date().toDateString()} ${wanted}`)
      : new Date(wanted)
    if (/^\d+$/.test(wanted)) return onJump(Math.min(Number(wanted), last))
    if (Number.isNaN(today.getTime()))
      throw new Error('This is no number of an event, and no time such as 14:32 or 2026-01-31 14:32.')
    const seq = await seqAt(today.getTime(), last)
    if (pageAddress.value.view === 'recorder') onJump(seq)
  }
  return (
    <form
      className="jump"
      onSubmit={(event) => {
        event.preventDefault()
        void attempt(jump)
      }}
    >
      <input
        aria-label="Jump to a number or a time"
        placeholder="# or 14:32:01"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="quiet">
        Jump
      </button>
      <Button onClick={() => onJump(last)}>Latest</Button>
      <FailureText text={why} />
    </form>
  )
}

function Filters({ filter, seq }: { filter: Filter; seq: number | undefined }) {
  const { agent: me } = useCell(connection)
  const { agents } = useCell(fleet)
  const places = useCell(conversations) ?? []
  const change = (part: Partial<Filter>): void => changeFilter(filter, part, seq)
  return (
    <>
      <select aria-label="Agent" value={filter.agent} onChange={(event) => change({ agent: event.target.value })}>
        <option value="">all agents</option>
        {agents.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        aria-label="Conversation"
        value={filter.conversation}
        onChange={(event) => change({ conversation: event.target.value })}
      >
        <option value="">all conversations</option>
        {places.map(({ name }) => (
          <option key={name} value={name}>
            {conversationTitle(name, me)}
          </option>
        ))}
      </select>
      <select
        aria-label="Kinds of events"
        value={filter.types}
        onChange={(event) => change({ types: event.target.value })}
      >
        <option value="">what was done</option>
        <option value="*">all events</option>
        {Object.entries(eventFamilies).map(([family, text]) => (
          <option key={family} value={`${family}.*`}>
            {text}
          </option>
        ))}
      </select>
    </>
  )
}

function useKeys({ step, toggle }: Pick<EventWindow, 'step' | 'toggle'>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (!isForPage(event)) return
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (by === undefined && event.key !== ' ') return
      event.preventDefault()
      if (by === undefined) toggle()
      else step(by)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [step, toggle])
}
