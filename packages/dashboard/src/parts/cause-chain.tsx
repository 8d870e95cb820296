// The chain of causes around a message as a picture: one column for each agent or channel, and from top to bottom the messages, receipts and action calls. The
// list beside the picture says the same in words, and can be used with the keyboard.

import type { Message, RelayEvent } from '@agent-relay/sdk/internal/page'
import { factFields } from '../store/concerns.ts'
import { goToView } from '../store/page-address.ts'
import type { MessageCauses } from '../store/recorder.ts'
import { eventText, recipientsText } from './event-text.ts'
import { previewOf } from './markdown-tree.ts'
import './cause-chain.css'

const [columnPx, rowPx, headPx, nameChars] = [86, 24, 24, 12]
/** Limits of the picture: more columns could not be told apart. Agents without a column appear only in the list beside the picture. */
const [columnsMax, rowsMax] = [8, 40]

interface Step {
  key: string
  seq: number
  from: string
  to: readonly string[]
  text: string
  look: 'message' | 'offered' | 'read' | 'action' | 'other'
  isHere?: boolean
}

export function CauseChain({ message, causes }: { message: Message; causes: MessageCauses }) {
  const here: Step = { ...stepOfMessage(message), isHere: true }
  const steps = [...causes.answered.map(stepOfMessage), here, ...causes.after.map(stepOf)].slice(0, rowsMax)
  if (steps.length === 1) return null
  const names = [...new Set(steps.flatMap(({ from, to }) => [from, ...to]))].slice(0, columnsMax)
  const columns = new Map(names.map((name, i) => [name, (i + 0.5) * columnPx]))
  const [width, height] = [names.length * columnPx, headPx + steps.length * rowPx + 4]
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
    <section className="chain-picture" tabIndex={0} aria-label="The chain as a picture">
      <svg width={width} height={height} role="img" aria-label={steps.map(({ text }) => text).join('; ')}>
        <defs>
          <marker id="chain-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        {names.map((name) => (
          <Column key={name} name={name} x={columns.get(name) as number} height={height} />
        ))}
        {steps.map((step, i) => (
          <Row key={step.key} step={step} columns={columns} y={headPx + (i + 0.5) * rowPx} width={width} />
        ))}
      </svg>
    </section>
  )
}

const Column = ({ name, x, height }: { name: string; x: number; height: number }) => (
  <>
    <text className="chain-name" x={x} y={headPx - 9} textAnchor="middle">
      <title>{name}</title>
      {name.length > nameChars ? `${name.slice(0, nameChars - 1)}…` : name}
    </text>
    <line className="lane" x1={x} x2={x} y1={headPx} y2={height} />
  </>
)

interface RowProps {
  step: Step
  columns: ReadonlyMap<string, number>
  y: number
  width: number
}

function Row({ step: { seq, from, to, text, look, isHere }, columns, y, width }: RowProps) {
  const start = columns.get(from)
  const ends = to.flatMap((name) => columns.get(name) ?? [])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the list beside the picture does the same by keyboard
    <g className={`chain-step is-${look}`} onClick={() => goToView('recorder', [seq])}>
      <title>{text}</title>
      <rect className={isHere ? 'chain-here' : 'chain-row'} x="0" y={y - rowPx / 2} width={width} height={rowPx} />
      {start !== undefined &&
        ends.map((end) =>
          end === start ? null : (
            <path key={end} className="chain-arrow" d={`M${start} ${y}H${end}`} markerEnd="url(#chain-tip)" />
          ),
        )}
      {start !== undefined && <circle className="chain-dot" cx={start} cy={y} r={look === 'message' ? 4 : 3} />}
    </g>
  )
}

/** Turns a message into a row of the picture. A channel is one column, since a channel may have hundreds of members. */
function stepOfMessage({ id, seq, from, to, channel, body }: Message): Step {
  const places = channel === undefined ? [to].flat().map((name) => (name === '*' ? 'everyone' : name)) : [channel]
  return {
    key: id,
    seq,
    from,
    to: places,
    text: `${from} → ${recipientsText(channel ?? to)}: ${previewOf(body)}`,
    look: 'message',
  }
}

const looks: readonly [start: string, look: Step['look']][] = [
  ['delivery.offered', 'offered'],
  ['delivery.read', 'read'],
  ['action.', 'action'],
]

function stepOf(event: RelayEvent): Step {
  if (event.message) return stepOfMessage(event.message)
  const { agent, caller, provider } = factFields(event)
  const [from = event.by] = [agent, caller].filter((name) => typeof name === 'string')
  const look = looks.find(([start]) => event.type.startsWith(start))?.[1] ?? 'other'
  const to = typeof provider === 'string' ? [provider] : []
  return { key: `${event.seq} ${event.type} ${from}`, seq: event.seq, from, to, text: eventText(event), look }
}
