// One journal event in detail, and for a message the chain of causes around the message.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { useCell } from '../store/cell.ts'
import { eventKey } from '../store/concerns.ts'
import { conversationOf } from '../store/conversations.ts'
import { linkTo } from '../store/page-address.ts'
import { findMessageCauses } from '../store/recorder.ts'
import { openedRecording } from '../store/recording.ts'
import { useAsyncResult } from './async-action.ts'
import { CopyButton, FailureText, MessageKindTag } from './bits.tsx'
import { CauseChain } from './cause-chain.tsx'
import { eventText, recipientsText } from './event-text.ts'
import { Json } from './json.tsx'
import { Markdown } from './markdown.tsx'
import { previewOf } from './markdown-tree.ts'
import { Receipts } from './receipts.tsx'
import { clockText, TimeOfDay } from './time.tsx'
import './causes.css'

export function EventDetails({ event }: { event: RelayEvent }) {
  const { message } = event
  const isFile = useCell(openedRecording) !== undefined
  const link = `${location.origin}${location.pathname}${linkTo('recorder', [event.seq])}`
  return (
    <aside className="closely" aria-label="The chosen event">
      <header className="stack">
        <h2 className="title">{message ? `Message of ${message.from}` : eventText(event)}</h2>
        <p className="muted small num">
          #{event.seq}, <TimeOfDay ts={event.ts} isExact />, by {event.by}
        </p>
        <CopyButton text={link} label="Copy the link to this moment" />
      </header>
      {message ? (
        <>
          <p className="closely-who">
            <b>{message.from}</b> → {recipientsText(message.to)} <MessageKindTag kind={message.kind} />
          </p>
          <Markdown text={message.body} />
          {!isFile && (
            <>
              <p>
                <a href={linkTo('talk', [conversationOf(message), message.id])}>In its conversation</a>
              </p>
              <h3>Who was told</h3>
              <Receipts id={message.id} />
            </>
          )}
          <Chain key={message.id} message={message} />
        </>
      ) : (
        <>
          <h3>
            As it is stored, <code>{event.type}</code>
          </h3>
          <Json value={event.fact} />
        </>
      )}
    </aside>
  )
}

function Chain({ message }: { message: NonNullable<RelayEvent['message']> }) {
  const { answer: causes, why } = useAsyncResult(() => findMessageCauses(message), [message])
  if (!causes) return <FailureText text={why} />
  return (
    <>
      <CauseChain message={message} causes={causes} />
      <h3>What it answered</h3>
      {causes.answered.length === 0 && <p className="muted small">Nothing: it came by itself.</p>}
      <ol className="chain">
        {causes.answered.map(({ id, seq, from, body }) => (
          <li key={id}>
            <a href={linkTo('recorder', [seq])}>
              {from}: {previewOf(body)}
            </a>
          </li>
        ))}
      </ol>
      <h3>What came of it</h3>
      {causes.after.length === 0 && <p className="muted small">Nothing yet.</p>}
      <ol className="chain">
        {causes.after.map((event) => (
          <li key={eventKey(event)}>
            <span className="num muted small">{clockText(event.ts)}</span>{' '}
            <a href={linkTo('recorder', [event.seq])}>{eventText(event)}</a>
          </li>
        ))}
      </ol>
    </>
  )
}
