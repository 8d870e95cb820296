// The field where the person writes a message, with the message's kind, its text and the message that it answers. Enter sends, Shift+Enter starts a new line.

import { TimeoutError } from '@agent-relay/sdk/internal/page'
import { type ClipboardEvent, type KeyboardEvent, useRef, useState } from 'react'
import { Cell, useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversations } from '../store/conversations.ts'
import { messageDraft } from '../store/drafts.ts'
import { linkTo } from '../store/page-address.ts'
import { FailureText, IconButton } from './bits.tsx'
import { Completions, useCompletion } from './completion.tsx'
import { previewOf } from './markdown-tree.ts'
import { messageBeingAnswered } from './message-row.tsx'
import { ElapsedTime } from './time.tsx'
import './composer.css'

const kinds = ['free', 'question', 'directive', 'status'] as const
type MessageKind = (typeof kinds)[number]

/**
 * The conversation in which the person wrote last; its message list scrolls to the new message. A message in a thread does not change this value, because it is
 * seen in the thread.
 */
export const lastWrittenConversation = new Cell<{ conversation: string } | undefined>(undefined)

/** Returns the recipients of a message in a conversation; undefined if the person is not a member of the conversation. */
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
  if (me === '')
    return <p className="bar composer-note muted">You can only read here: only a person with a name can write.</p>
  if (to === undefined) return <Outside conversation={conversation} me={me} />
  const isOutside = conversation.startsWith('#') && found?.joined !== true
  return <Field conversation={conversation} to={to} thread={thread} isOutside={isOutside} />
}

/** Replaces the text field in a conversation between other agents, with links that open a conversation of the person with one of those agents. */
function Outside({ conversation, me }: { conversation: string; me: string }) {
  return (
    <p className="bar composer-note muted">
      You can only read this conversation. Write to
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

interface FieldProps {
  conversation: string
  to: string | string[]
  thread?: string
  /** Whether the person has not joined the channel yet; sending a message joins the channel. */
  isOutside: boolean
}

/** The state of the text field, and the function that sends its text. */
function useSending({ conversation, to, thread, isOutside }: FieldProps) {
  const draft = messageDraft(`${conversation} ${thread ?? ''}`)
  const [kind, setKind] = useState<MessageKind>('free')
  const [isAwaiting, setAwaiting] = useState(false)
  const [waitsSince, setWaitsSince] = useState<string>()
  const [why, setWhy] = useState<string>()
  const chosen = useCell(messageBeingAnswered)
  const answered = thread === undefined && chosen?.conversation === conversation ? chosen.message : undefined
  const send = async (): Promise<void> => {
    const body = draft.value
    if (body.trim() === '') return
    draft.set('')
    setWhy(undefined)
    if (thread === undefined) lastWrittenConversation.set({ conversation })
    try {
      if (isOutside) await client.call('channel.join', { channel: conversation })
      const options = { kind, thread, replyTo: answered?.id }
      if (answered) messageBeingAnswered.set(undefined)
      if (!isAwaiting) return void (await client.send(to, body, options))
      setWaitsSince(new Date().toISOString())
      await client.sendAndWait(to, body, { ...options, timeoutMs: answerMs })
    } catch (error) {
      if (error instanceof TimeoutError) return setWhy('Nobody has answered yet. The message stays where it is.')
      // After a failed send, the text and the message that it answers go back into the field, so that nothing is lost.
      if (answered) messageBeingAnswered.set({ conversation, message: answered })
      draft.set(draft.value === '' ? body : `${body}\n${draft.value}`)
      setWhy((error as Error).message)
    } finally {
      setWaitsSince(undefined)
    }
  }
  return { draft, kind, setKind, isAwaiting, setAwaiting, waitsSince, why, setWhy, answered, send }
}

/** The longest wait for a reply, in ms: longer than most agents need, and shorter than a forgotten page stays open. */
const answerMs = 10 * 60_000

const noPictures =
  'A message is text: a picture cannot be sent. Save it where the agent can read it, and write its path.'

function Field(props: FieldProps) {
  const { to, thread, isOutside } = props
  const { draft, kind, setKind, why, setWhy, answered, send, ...waiting } = useSending(props)
  const text = useCell(draft)
  const field = useRef<HTMLTextAreaElement>(null)
  const completion = useCompletion(field, text, (changed) => draft.set(changed))
  const paste = (event: ClipboardEvent): void => {
    const { files, types } = event.clipboardData
    if (files.length === 0 || types.includes('text/plain')) return
    event.preventDefault()
    setWhy(noPictures)
  }
  const press = (event: KeyboardEvent): void => {
    if (completion.press(event)) return
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void send()
  }
  const rows = Math.min(8, Math.max(1, text.split('\n').length))
  return (
    <form
      className="stack composer"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {answered && <Answered message={answered} />}
      <Completions completion={completion} />
      <div className="composer-row">
        <select aria-label="Kind" value={kind} onChange={(event) => setKind(event.target.value as MessageKind)}>
          {kinds.map((each) => (
            <option key={each} value={each}>
              {each === 'free' ? 'message' : each}
            </option>
          ))}
        </select>
        <AwaitReply to={to} waiting={waiting} />
        <textarea
          ref={field}
          data-key={thread ? undefined : 'compose'}
          aria-label="Message"
          rows={rows}
          value={text}
          placeholder={`${isOutside ? 'Join and message' : 'Message'} ${Array.isArray(to) ? to.join(', ') : to === '*' ? 'everyone' : to}`}
          onPaste={paste}
          onChange={(event) => draft.set(event.target.value)}
          onKeyDown={press}
        />
        <button type="submit" className="main-button" disabled={text.trim() === ''}>
          Send
        </button>
      </div>
      <Waiting to={to} since={waiting.waitsSince} />
      <FailureText text={why} />
    </form>
  )
}

interface Waits {
  isAwaiting: boolean
  setAwaiting(isAwaiting: boolean): void
}

/** The option to wait for a reply. Offered only for a message to one agent, since nobody in particular answers a message to many. */
function AwaitReply({ to, waiting: { isAwaiting, setAwaiting } }: { to: string | string[]; waiting: Waits }) {
  if (Array.isArray(to) || /^[#*]/.test(to)) return null
  return (
    <label className="bar await small" title="You are shown as waiting until there is an answer">
      <input type="checkbox" checked={isAwaiting} onChange={(event) => setAwaiting(event.target.checked)} />
      await reply
    </label>
  )
}

function Waiting({ to, since }: { to: string | string[]; since: string | undefined }) {
  return since === undefined ? null : (
    <p className="muted small" role="status">
      Waiting for the answer of {to}, <ElapsedTime ts={since} />
    </p>
  )
}

function Answered({ message }: { message: { from: string; body: string } }) {
  return (
    <p className="bar answered small">
      <span className="muted">Answer to {message.from}:</span> <bdi className="clip">{previewOf(message.body)}</bdi>
      <IconButton icon="close" label="No answer" onClick={() => messageBeingAnswered.set(undefined)} />
    </p>
  )
}
