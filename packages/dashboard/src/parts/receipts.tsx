// What became of a message: in one word under it, and for each recipient with times and routes when asked.

import type { HistoryMessage, Receipt } from '@agent-relay/sdk/browser'
import { useEffect, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { client } from '../store/connection.ts'
import { conversations } from '../store/conversations.ts'
import { onEvents } from '../store/events.ts'
import { Failure } from './bits.tsx'
import { clockText } from './time.tsx'

interface FateProps {
  message: HistoryMessage
  conversation: string
  isOpen: boolean
  onToggle(): void
}

export function Fate({ message, conversation, isOpen, onToggle }: FateProps) {
  const members = useCell(conversations)?.find(({ name }) => name === conversation)?.members
  const recipients = Array.isArray(members) ? members.length - 1 : undefined
  return (
    <button
      type="button"
      className={`fate ${fateOf(message)}`}
      aria-expanded={isOpen}
      title="Receipts"
      onClick={onToggle}
    >
      {fateText(message, recipients)}
    </button>
  )
}

function fateOf({ offered, read }: HistoryMessage): Receipt['state'] {
  return read > 0 ? 'read' : offered > 0 ? 'offered' : 'stored'
}

function fateText(message: HistoryMessage, recipients: number | undefined): string {
  const fate = fateOf(message)
  if (fate !== 'read') return fate
  if (recipients === 1) return 'read'
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
      if (events.some(({ type, fact }) => type.startsWith('delivery.') && fact.message === id)) ask()
    })
  }, [id])
  if (why) return <Failure text={why} />
  if (!receipts) return null
  if (receipts.length === 0) return <p className="muted small">It had no recipient.</p>
  return (
    <table className="receipts small">
      <thead>
        <tr>
          <th scope="col">To</th>
          <th scope="col">Stored</th>
          <th scope="col">Offered</th>
          <th scope="col">Read</th>
        </tr>
      </thead>
      <tbody>
        {receipts.map(({ agent, storedAt, offeredAt, route, readAt }) => (
          <tr key={agent}>
            <td>{agent}</td>
            <td className="num">{clockText(storedAt)}</td>
            <td className="num">
              {offeredAt ? clockText(offeredAt) : '–'} {route && <span className="muted">{route}</span>}
            </td>
            <td className="num">{readAt ? clockText(readAt) : '–'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
