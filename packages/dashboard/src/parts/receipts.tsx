// The receipts of a message: one word under the message and, on request, each recipient with times and routes.

import type { HistoryMessage, Receipt } from '@agent-relay/sdk/internal/page'
import { useEffect, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { factFields } from '../store/concerns.ts'
import { client } from '../store/connection.ts'
import { conversations } from '../store/conversations.ts'
import { onEvents } from '../store/events.ts'
import { fleet } from '../store/fleet.ts'
import { Button, FailureText } from './bits.tsx'
import { clockText, durationText } from './time.tsx'
import './receipts.css'

interface FateProps {
  message: HistoryMessage
  conversation: string
  isOpen: boolean
  onToggle(): void
}

export function ReceiptSummary({ message, conversation, isOpen, onToggle }: FateProps) {
  const members = useCell(conversations)?.find(({ name }) => name === conversation)?.members
  const others = Array.isArray(members) ? members.filter((name) => name !== message.from) : undefined
  const { agents } = useCell(fleet)
  const isToPerson = others?.length === 1 && agents.some(({ name, type }) => name === others[0] && type === 'human')
  return (
    <Button
      className={`link muted fate ${fateOf(message)} ${isLate(message) ? 'is-late' : ''}`}
      aria-expanded={isOpen}
      title="Receipts"
      onClick={onToggle}
    >
      {fateText(message, others?.length, isToPerson)}
    </Button>
  )
}

/** A message that is unread for this long is marked as late: a connected agent reads sooner. */
const lateMs = 10 * 60_000

const isLate = (message: HistoryMessage): boolean =>
  fateOf(message) !== 'read' && Date.now() - Date.parse(message.ts) > lateMs

function fateOf({ offered, read }: HistoryMessage): Receipt['state'] {
  return read > 0 ? 'read' : offered > 0 ? 'offered' : 'stored'
}

function fateText(message: HistoryMessage, recipients: number | undefined, isToPerson: boolean): string {
  const fate = fateOf(message)
  if (fate !== 'read') return isLate(message) ? `${fate}, not read for long` : fate
  if (recipients === 1) return isToPerson ? 'seen' : 'read'
  return recipients === undefined ? `read by ${message.read}` : `read by ${message.read} of ${recipients}`
}

export function Receipts({ id }: { id: string }) {
  const [receipts, setReceipts] = useState<readonly Receipt[]>()
  const [why, setWhy] = useState<string>()
  useEffect(() => {
    const ask = (): void =>
      void client.call('message.receipts', { message: id }).then(
        (answer) => setReceipts(answer.receipts),
        (error) => setWhy(error.message),
      )
    ask()
    return onEvents((events) => {
      if (events.some((event) => event.type.startsWith('delivery.') && factFields(event).message === id)) ask()
    })
  }, [id])
  if (why) return <FailureText text={why} />
  if (!receipts) return null
  if (receipts.length === 0) return <p className="muted small">It had no recipient.</p>
  return (
    <>
      <SeenBy receipts={receipts} />
      <table className="table receipts small">
        <thead>
          <tr>
            <th scope="col">To</th>
            <th scope="col">Stored</th>
            <th scope="col">Offered</th>
            <th scope="col">Read</th>
          </tr>
        </thead>
        <tbody>
          {receipts.map((receipt) => (
            <Row key={receipt.agent} receipt={receipt} />
          ))}
        </tbody>
      </table>
    </>
  )
}

/** Names the people who have read a message. The table below lists every recipient, also agents that are programs. */
function SeenBy({ receipts }: { receipts: readonly Receipt[] }) {
  const { agents } = useCell(fleet)
  const people = new Set(agents.flatMap(({ name, type }) => (type === 'human' ? [name] : [])))
  const seen = receipts.filter(({ agent, readAt }) => readAt !== undefined && people.has(agent))
  if (seen.length === 0) return null
  return <p className="small">Seen by {seen.map(({ agent }) => agent).join(', ')}</p>
}

function Row({ receipt }: { receipt: Receipt }) {
  const { agent, storedAt, offeredAt, route, heldUntil, readAt } = receipt
  const isHeld = heldUntil !== undefined && Date.parse(heldUntil) > Date.now()
  const waitedMs = Date.now() - Date.parse(storedAt)
  return (
    <tr>
      <td>{agent}</td>
      <td className="num">{clockText(storedAt)}</td>
      <td className="num">
        {offeredAt ? (
          clockText(offeredAt)
        ) : isHeld ? (
          <span title="A hook has fetched the message, to show it to the agent">held</span>
        ) : (
          '–'
        )}{' '}
        {route && <span className="muted">{route}</span>}
      </td>
      <td className="num">
        {readAt ? (
          clockText(readAt)
        ) : waitedMs > lateMs ? (
          <span className="link muted fate is-late">not for {durationText(waitedMs)}</span>
        ) : (
          '–'
        )}
      </td>
    </tr>
  )
}
