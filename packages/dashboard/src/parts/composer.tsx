// Where the person writes: a kind, a text, perhaps an answer to a message. Enter sends, Shift and Enter begins a line.

import { type KeyboardEvent, useState } from 'react'
import { linkTo } from '../route.ts'
import { Cell, useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversations } from '../store/conversations.ts'
import { Failure, IconButton } from './bits.tsx'
import { answering } from './message-row.tsx'

const kinds = ['free', 'question', 'directive', 'status'] as const
type MessageKind = (typeof kinds)[number]

/** What is half written stays while one looks elsewhere. */
const drafts = new Map<string, Cell<string>>()

function draftOf(conversation: string): Cell<string> {
  const known = drafts.get(conversation) ?? new Cell('')
  drafts.set(conversation, known)
  return known
}

/** Where the person wrote last. Who writes wants to see it; what is said in a thread is seen there. */
export const written = new Cell<{ conversation: string } | undefined>(undefined)

/** Whom a conversation's message goes to; undefined where the person is not in it. */
function addressOf(conversation: string, me: string): string | string[] | undefined {
  if (!conversation.startsWith('@')) return conversation
  const members = conversation.slice(1).split(',')
  if (!members.includes(me)) return undefined
  const others = members.filter((name) => name !== me)
  return others.length === 1 ? others[0] : others
}

export function Composer({ conversation, thread }: { conversation: string; thread?: string }) {
  const { agent: me } = useCell(connection)
  const found = useCell(conversations)?.find(({ name }) => name === conversation)
  const to = addressOf(conversation, me)
  if (me === '') return <p className="composer-note muted">You are looking on: only a person with a name can write.</p>
  if (to === undefined) return <Outside conversation={conversation} me={me} />
  if (found && !found.joined && conversation.startsWith('#'))
    return (
      <p className="composer-note muted">
        You are looking on.
        <button type="button" className="quiet" onClick={() => join(conversation)}>
          <span className="clip">Join {conversation} to write</span>
        </button>
      </p>
    )
  return <Field conversation={conversation} to={to} thread={thread} />
}

function join(channel: string): void {
  client.call('channel.join', { channel }).catch(() => {})
}

/** Others talk here: the person's way in is a conversation with one of them. */
function Outside({ conversation, me }: { conversation: string; me: string }) {
  return (
    <p className="composer-note muted">
      You are looking on. Write to
      {conversation
        .slice(1)
        .split(',')
        .map((name) => (
          <a key={name} className="quiet" href={linkTo('talk', [`@${[me, name].sort().join(',')}`])}>
            {name}
          </a>
        ))}
    </p>
  )
}

/** What the field holds, and what sending it does. */
function useSending(conversation: string, to: string | string[], thread: string | undefined) {
  const draft = draftOf(`${conversation} ${thread ?? ''}`)
  const [kind, setKind] = useState<MessageKind>('free')
  const [why, setWhy] = useState<string>()
  const chosen = useCell(answering)
  const answered = thread === undefined && chosen?.conversation === conversation ? chosen.message : undefined
  const send = async (): Promise<void> => {
    const body = draft.value
    if (body.trim() === '') return
    draft.set('')
    setWhy(undefined)
    if (thread === undefined) written.set({ conversation })
    try {
      await client.send(to, body, { kind, thread, replyTo: answered?.id })
      if (answered) answering.set(undefined)
    } catch (error) {
      // Not lost: it stands in the field again.
      draft.set(draft.value === '' ? body : `${body}\n${draft.value}`)
      setWhy((error as Error).message)
    }
  }
  return { draft, kind, setKind, why, answered, send }
}

function Field({ conversation, to, thread }: { conversation: string; to: string | string[]; thread?: string }) {
  const { draft, kind, setKind, why, answered, send } = useSending(conversation, to, thread)
  const text = useCell(draft)
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void send()
  }
  const rows = Math.min(8, Math.max(1, text.split('\n').length))
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {answered && (
        <p className="answered small">
          <span className="muted">Answer to {answered.from}:</span>{' '}
          <bdi className="clip">{answered.body.slice(0, 120)}</bdi>
          <IconButton icon="close" label="No answer" onClick={() => answering.set(undefined)} />
        </p>
      )}
      <div className="composer-row">
        <select aria-label="Kind" value={kind} onChange={(event) => setKind(event.target.value as MessageKind)}>
          {kinds.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <textarea
          data-key={thread ? undefined : 'compose'}
          aria-label="Message"
          rows={rows}
          value={text}
          placeholder={`Message ${Array.isArray(to) ? to.join(', ') : to === '*' ? 'everyone' : to}`}
          onChange={(event) => draft.set(event.target.value)}
          onKeyDown={press}
        />
        <button type="submit" className="main-button" disabled={text.trim() === ''}>
          Send
        </button>
      </div>
      <Failure text={why} />
    </form>
  )
}
