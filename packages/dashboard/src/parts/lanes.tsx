// The recorder's timeline: one lane for each agent or conversation, one column for each event, and a line from a message's sender to its recipients.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { type PointerEvent, useLayoutEffect, useRef } from 'react'
import { agentsOfEvent, eventAuthor, eventConversation, eventKey } from '../store/concerns.ts'
import { eventText } from './event-text.ts'
import type { EventRange } from './event-window.ts'
import './lanes.css'

const [columnPx, lanePx, topPx, lanesMax] = [13, 22, 10, 12]

interface LanesProps {
  events: readonly RelayEvent[]
  current: number
  by: 'agent' | 'conversation'
  zoom: number
  stretch: EventRange | undefined
  onChoose(index: number): void
  onStretch(stretch: EventRange | undefined): void
}

/** Pointer handlers with which dragging over the timeline selects a range of events. */
function useBrush(count: number, widthPx: number, { onChoose, onStretch }: Pick<LanesProps, 'onChoose' | 'onStretch'>) {
  const begun = useRef<number>(undefined)
  const at = ({ currentTarget, clientX }: PointerEvent<SVGSVGElement>): number =>
    Math.min(count - 1, Math.max(0, Math.floor((clientX - currentTarget.getBoundingClientRect().left) / widthPx)))
  return {
    onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
      begun.current = event.button === 0 ? at(event) : undefined
    },
    onPointerMove: (event: PointerEvent<SVGSVGElement>) => {
      const [from, to] = [begun.current, at(event)]
      if (from === undefined || event.buttons === 0 || from === to) return
      event.currentTarget.setPointerCapture(event.pointerId)
      onStretch([Math.min(from, to), Math.max(from, to)])
    },
    onPointerUp: (event: PointerEvent<SVGSVGElement>) => {
      // A click without dragging chooses an event and clears the selected range.
      if (begun.current === at(event)) onStretch(undefined)
      else if (begun.current !== undefined) onChoose(Math.min(begun.current, at(event)))
      begun.current = undefined
    },
  }
}

export function Lanes({ events, current, by, zoom, stretch, onChoose, onStretch }: LanesProps) {
  const widthPx = columnPx * zoom
  const brush = useBrush(events.length, widthPx, { onChoose, onStretch })
  const scroller = useRef<HTMLElement>(null)
  const laneOf = (event: RelayEvent): string =>
    by === 'agent' ? eventAuthor(event) : (eventConversation(event) ?? 'other')
  const lanes = mostUsed(events.map(laneOf))
  const places = new Map(lanes.map((lane, i) => [lane, i]))
  useLayoutEffect(() => {
    const element = scroller.current
    if (element) element.scrollLeft = current * widthPx - element.clientWidth / 2
  }, [current, widthPx])
  const [width, height] = [Math.max(1, events.length) * widthPx + 8, topPx * 2 + lanes.length * lanePx]
  return (
    <div className="lanes">
      <ul className="lane-names" aria-hidden="true">
        {lanes.map((lane) => (
          <li key={lane} className="clip">
            {lane}
          </li>
        ))}
      </ul>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard */}
      <section className="lane-scroll" ref={scroller} tabIndex={0} aria-label="Timeline">
        <svg
          {...brush}
          width={width}
          height={height}
          role="img"
          aria-label={`${events.length} events in ${lanes.length} lanes`}
        >
          {stretch && <Band className="lane-stretch" {...{ stretch, widthPx, height }} />}
          {lanes.map((lane, i) => (
            <line key={lane} className="lane" x1="0" x2={width} y1={y(i)} y2={y(i)} />
          ))}
          <Band className="lane-now" stretch={[current, current]} {...{ widthPx, height }} />
          {events.map((event, i) => {
            const from = places.get(laneOf(event))
            if (from === undefined) return null
            const others = by === 'agent' && event.message ? agentsOfEvent(event).map((name) => places.get(name)) : []
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the list of events beside the timeline does the same by keyboard
              <g
                key={eventKey(event)}
                className={`mark ${eventFamilyClass(event)} ${i > current ? 'is-ahead' : ''}`}
                onClick={() => onChoose(i)}
              >
                <title>{eventText(event)}</title>
                <Mark x={(i + 0.5) * widthPx} from={from} others={others} isMessage={event.message !== undefined} />
              </g>
            )
          })}
        </svg>
      </section>
    </div>
  )
}

const y = (lane: number): number => topPx + (lane + 0.5) * lanePx

interface BandProps {
  className: string
  stretch: EventRange
  widthPx: number
  height: number
}

const Band = ({ className, stretch: [first, last], widthPx, height }: BandProps) => (
  <rect className={className} x={first * widthPx} y="0" width={(last - first + 1) * widthPx} height={height} />
)

interface MarkProps {
  x: number
  from: number
  others: readonly (number | undefined)[]
  isMessage: boolean
}

/** An event as a point in its author's lane, with a line to the lane of each recipient. */
const Mark = ({ x, from, others, isMessage }: MarkProps) => (
  <>
    {others.map((to) =>
      to === undefined || to === from ? null : <path key={to} className="mark-line" d={`M${x} ${y(from)}V${y(to)}`} />,
    )}
    <circle cx={x} cy={y(from)} r={isMessage ? 5 : 3} />
  </>
)

export function eventFamilyClass({ type }: { type: string }): string {
  return `family-${type.split('.')[0]}`
}

function mostUsed(names: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const chosen = [...counts].sort((a, b) => b[1] - a[1]).slice(0, lanesMax)
  return chosen.map(([name]) => name).sort()
}
