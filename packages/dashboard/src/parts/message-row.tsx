// One message of a conversation: sender, time, kind and text; its reactions, receipts and buttons.

import type { HistoryMessage } from '@agent-relay/sdk/internal/page'
import { memo, useState } from 'react'
import { Cell, useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { linkTo } from '../store/page-address.ts'
import { Avatar, Button, IconButton, MessageKindTag } from './bits.tsx'
import { Markdown } from './markdown.tsx'
import { previewOf } from './markdown-tree.ts'
import { ReceiptSummary, Receipts } from './receipts.tsx'
import { minuteText, TimeOfDay } from './time.tsx'
import './message-row.css'

/** The message that the person is replying to, with its conversation. */
export const messageBeingAnswered = new Cell<{ conversation: string; message: HistoryMessage } | undefined>(undefined)

const emojis = ['👍', '👀', '✅', '❓', '🎉', '❌']
/** Messages that one sender writes within this time of each other are shown under one name. */
const togetherMs = 120_000

interface RowProps {
  message: HistoryMessage
  before: HistoryMessage | undefined
  conversation: string
  /** The message to which this row's message replies, if that message is loaded. */
  answered: HistoryMessage | undefined
  isMarked: boolean
}

export function continuesPreviousMessage(message: HistoryMessage, before: HistoryMessage | undefined): boolean {
  return (
    before?.from === message.from &&
    before.kind === message.kind &&
    Date.parse(message.ts) - Date.parse(before.ts) < togetherMs
  )
}

export const MessageRow = memo(function MessageRow({ message, before, conversation, answered, isMarked }: RowProps) {
  const [isOpen, setOpen] = useState(false)
  const isOneOfSeveral = continuesPreviousMessage(message, before)
  const thread = message.thread ?? message.id
  return (
    <article
      className={`message ${isOneOfSeveral ? 'is-run-on' : ''} ${isMarked ? 'is-marked' : ''}`}
      data-message={message.id}
    >
      {isOneOfSeveral ? (
        <span className="message-side num muted">{minuteText(message.ts)}</span>
      ) : (
        <Avatar name={message.from} />
      )}
      <div className="message-main">
        {!isOneOfSeveral && (
          <header className="message-head">
            <a className="clip" href={linkTo('agent', [message.from])}>
              {message.from}
            </a>
            <MessageKindTag kind={message.kind} />
            <span className="muted small">
              <TimeOfDay ts={message.ts} />
            </span>
          </header>
        )}
        {message.replyTo && (
          <a className="answers small clip" href={linkTo('talk', [conversation, message.replyTo])}>
            ↰ {answered ? <bdi>{`${answered.from}: ${previewOf(answered.body)}`}</bdi> : 'answers a message'}
          </a>
        )}
        <Markdown text={message.body} isWhole={isMarked} />
        <footer className="bar message-foot small">
          <ReceiptSummary
            message={message}
            conversation={conversation}
            isOpen={isOpen}
            onToggle={() => setOpen(!isOpen)}
          />
          {message.thread && (
            <a className="muted" href={linkTo('talk', [conversation], { thread })}>
              thread{message.thread.startsWith('m_') ? '' : `: ${message.thread}`}
            </a>
          )}
          <Reactions message={message} />
        </footer>
        {isOpen && <Receipts id={message.id} />}
      </div>
      <Tools message={message} conversation={conversation} thread={thread} />
    </article>
  )
})

function Reactions({ message }: { message: HistoryMessage }) {
  const { agent: me } = useCell(connection)
  return message.reactions?.map(({ emoji, agents }) => (
    <Button
      key={emoji}
      className="reaction"
      aria-pressed={agents.includes(me)}
      title={agents.join(', ')}
      onClick={() => react(message.id, emoji, agents.includes(me))}
    >
      {emoji} <span className="num muted">{agents.length}</span>
    </Button>
  ))
}

function react(message: string, emoji: string, remove = false): void {
  void client.call('message.react', { message, emoji, ...(remove ? { remove } : {}) }).catch(() => {})
}

function Tools({ message, conversation, thread }: { message: HistoryMessage; conversation: string; thread: string }) {
  const [isPicking, setPicking] = useState(false)
  if (isPicking)
    return (
      <div className="message-tools is-open">
        {emojis.map((emoji) => (
          <Button
            key={emoji}
            className="icon-button"
            aria-label={`React with ${emoji}`}
            onClick={() => {
              setPicking(false)
              react(message.id, emoji)
            }}
          >
            {emoji}
          </Button>
        ))}
        <IconButton icon="close" label="No reaction" onClick={() => setPicking(false)} />
      </div>
    )
  return (
    <div className="message-tools">
      <IconButton icon="smile" label="React" onClick={() => setPicking(true)} />
      <IconButton icon="reply" label="Reply" onClick={() => answer(conversation, message)} />
      <a className="icon-button" href={linkTo('talk', [conversation], { thread })} aria-label="Thread" title="Thread">
        ≡
      </a>
      <a
        className="icon-button"
        href={linkTo('recorder', [message.seq], { message: message.id })}
        aria-label="In the recorder"
        title="In the recorder"
      >
        ◷
      </a>
    </div>
  )
}

function answer(conversation: string, message: HistoryMessage): void {
  messageBeingAnswered.set({ conversation, message })
  document.querySelector<HTMLTextAreaElement>('[data-key="compose"]')?.focus()
}
