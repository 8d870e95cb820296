// The timeline as lanes: one for each agent or conversation, one column for each event, a line from who spoke to whom it was for.

import type { RelayEvent } from '@agent-relay/sdk/browser'
import { useLayoutEffect, useRef } from 'react'
import { authorOf, eventKey, eventText, partiesOf, placeOf } from './event-text.ts'

const [columnPx, lanePx, topPx, lanesMax] = [13, 22, 10, 12]

interface LanesProps {
  events: readonly RelayEvent[]
  current: number
  by: 'agent' | 'conversation'
  onChoose(index: number): void
}

export function Lanes({ events, current, by, onChoose }: LanesProps) {
  const scroller = useRef<HTMLElement>(null)
  const laneOf = (event: RelayEvent): string => (by === 'agent' ? authorOf(event) : (placeOf(event) ?? 'other'))
  const lanes = mostUsed(events.map(laneOf))
  const places = new Map(lanes.map((lane, i) => [lane, i]))
  useLayoutEffect(() => {
    const element = scroller.current
    if (element) element.scrollLeft = current * columnPx - element.clientWidth / 2
  }, [current])
  const y = (lane: number): number => topPx + (lane + 0.5) * lanePx
  const [width, height] = [Math.max(1, events.length) * columnPx + 8, topPx * 2 + lanes.length * lanePx]
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
        <svg width={width} height={height} role="img" aria-label={`${events.length} events in ${lanes.length} lanes`}>
          {lanes.map((lane, i) => (
            <line key={lane} className="lane" x1="0" x2={width} y1={y(i)} y2={y(i)} />
          ))}
          <rect className="lane-now" x={current * columnPx} y="0" width={columnPx} height={height} />
          {events.map((event, i) => {
            const from = places.get(laneOf(event))
            if (from === undefined) return null
            const x = (i + 0.5) * columnPx
            const others = by === 'agent' && event.message ? partiesOf(event).map((name) => places.get(name)) : []
            return (
              // biome-ignore lint/a11y/noStaticElementInteractions: the list beside it does the same by keyboard
              <g
                key={eventKey(event)}
                className={`mark ${familyOf(event)} ${i > current ? 'is-ahead' : ''}`}
                onClick={() => onChoose(i)}
              >
                <title>{eventText(event)}</title>
                {others.map((to) =>
                  to === undefined || to === from ? null : (
                    <path key={to} className="mark-line" d={`M${x} ${y(from)}V${y(to)}`} />
                  ),
                )}
                <circle cx={x} cy={y(from)} r={event.message ? 5 : 3} />
              </g>
            )
          })}
        </svg>
      </section>
    </div>
  )
}

export function familyOf({ type }: { type: string }): string {
  return `family-${type.split('.')[0]}`
}

function mostUsed(names: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const chosen = [...counts].sort((a, b) => b[1] - a[1]).slice(0, lanesMax)
  return chosen.map(([name]) => name).sort()
}
