// Arrows beside the agents' rows, from each waiting agent to the agent it waits for. All rows have the same height, so an arrow's position is computed, not
// measured.

import type { AgentTreeRow } from '../store/fleet.ts'
import './waits.css'

const [rowPx, gutterPx, lanePx] = [48, 40, 7]

export function WaitArrows({ rows }: { rows: readonly AgentTreeRow[] }) {
  const places = new Map(rows.map(({ agent }, i) => [agent.name, i]))
  const arrows = rows.flatMap(({ agent }, from) => {
    const to = agent.waitingFor && places.get(agent.waitingFor.agent)
    return to === undefined || to === from
      ? []
      : [{ from, to, text: `${agent.name} waits for ${agent.waitingFor?.agent}` }]
  })
  if (arrows.length === 0) return null
  const label = arrows.map(({ text }) => text).join(', ')
  return (
    <svg className="waits wide-only" width={gutterPx} height={rows.length * rowPx} role="img" aria-label={label}>
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      {arrows.map(({ from, to, text }, i) => (
        <path key={text} className="wait" d={curve(from, to, i)} markerEnd="url(#tip)" />
      ))}
    </svg>
  )
}

/** The SVG path of an arrow between two rows. Arrows are drawn at different distances from the rows, since arrows on the same line could not be told apart. */
function curve(from: number, to: number, i: number): string {
  const [y1, y2] = [(from + 0.5) * rowPx + 4, (to + 0.5) * rowPx - 4]
  const x = gutterPx - 12 - (i % 4) * lanePx
  const turn = Math.sign(y2 - y1) * 8
  return `M${gutterPx} ${y1} H${x + 8} Q${x} ${y1} ${x} ${y1 + turn} V${y2 - turn} Q${x} ${y2} ${x + 8} ${y2} H${gutterPx - 1}`
}
