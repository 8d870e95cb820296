// Full-text search over all messages, with filters; a result links to the message in its conversation.

import { type Message, searchMessages } from '@agent-relay/sdk/internal/page'
import { createElement, type FormEvent, Fragment, type ReactNode, useEffect, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversationOf, conversations, conversationTitle } from '../store/conversations.ts'
import { fleet } from '../store/fleet.ts'
import { isSearchOpen } from '../store/keys.ts'
import { goToView } from '../store/page-address.ts'
import { Button, EmptyList, FailureText, MessageKindTag } from './bits.tsx'
import { excerptOf, type Piece } from './excerpt.ts'
import { Overlay } from './overlay.tsx'
import { TimeOfDay, useDebounced } from './time.tsx'
import './search.css'

const typingRestMs = 150
const foundMax = 50

interface Found {
  /** The search text and filters that these results belong to, as one string. */
  question: string
  messages: readonly Message[]
  more: number
  why?: string
}

export function Search() {
  const [text, setText] = useState('')
  const [from, setFrom] = useState('')
  const [channel, setChannel] = useState('')
  const asked = useDebounced(text.trim(), typingRestMs)
  const found = useFound(asked, from, channel)
  const agents = useCell(fleet).agents
  const channels = (useCell(conversations) ?? []).filter(({ name }) => name.startsWith('#'))
  const first = useFirst(found, questionOf(text.trim(), from, channel))
  return (
    <Overlay label="Search" onClose={close}>
      <form className="search" onSubmit={first}>
        <input
          type="search"
          aria-label="Search all messages"
          placeholder="Words, &quot;a phrase&quot;, begin*"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <select aria-label="From" value={from} onChange={(event) => setFrom(event.target.value)}>
          <option value="">from anyone</option>
          {agents.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <select aria-label="Channel" value={channel} onChange={(event) => setChannel(event.target.value)}>
          <option value="">anywhere</option>
          {channels.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </form>
      <Results asked={asked} found={found} />
    </Overlay>
  )
}

const close = (): void => isSearchOpen.set(false)

function land(message: Message): void {
  close()
  goToView('talk', [conversationOf(message), message.id])
}

const questionOf = (text: string, from: string, channel: string): string => JSON.stringify([text, from, channel])

/** Opens the first result when Enter is pressed; if Enter comes early, waits for the results of the current text. */
function useFirst(found: Found | undefined, question: string): (event: FormEvent) => void {
  const [entered, setEntered] = useState<string>()
  useEffect(() => {
    if (entered !== question) return setEntered(undefined)
    if (found?.question !== question) return
    setEntered(undefined)
    if (found.messages[0]) land(found.messages[0])
  }, [entered, question, found])
  return (event) => {
    event.preventDefault()
    setEntered(question)
  }
}

function useFound(text: string, from: string, channel: string): Found | undefined {
  const [found, setFound] = useState<Found>()
  useEffect(() => {
    let isCurrent = true
    const question = questionOf(text, from, channel)
    if (text === '') setFound(undefined)
    else
      searchMessages(client, {
        ...{ text, limit: foundMax },
        ...(from ? { from } : {}),
        ...(channel ? { channel } : {}),
      }).then(
        (answer) => isCurrent && setFound({ question, ...answer }),
        (error) => isCurrent && setFound({ question, messages: [], more: 0, why: error.message }),
      )
    return () => {
      isCurrent = false
    }
  }, [text, from, channel])
  return found
}

const drawnPiece = ({ text, isHit }: Piece): ReactNode => (isHit ? <mark>{text}</mark> : text)

function Results({ asked, found }: { asked: string; found: Found | undefined }) {
  const { agent: me } = useCell(connection)
  if (asked === '') return <p className="muted search-hint">Every word must occur. Newest first.</p>
  if (!found) return <p className="muted search-hint">Searching …</p>
  if (found.why) return <FailureText text={found.why} />
  if (found.messages.length === 0)
    return <EmptyList title="Nothing found">Every word must occur; a star ends a beginning: pars*</EmptyList>
  return (
    <ul className="results">
      {found.messages.map((message) => (
        <li key={message.id}>
          <Button data-item className="result" onClick={() => land(message)}>
            <span className="result-head">
              <b>{message.from}</b>
              <span className="muted clip">{conversationTitle(conversationOf(message), me)}</span>
              <MessageKindTag kind={message.kind} />
              <span className="muted result-time">
                <TimeOfDay ts={message.ts} />
              </span>
            </span>
            <bdi className="clip-2">
              {createElement(Fragment, null, ...excerptOf(message.body, asked).map(drawnPiece))}
            </bdi>
          </Button>
        </li>
      ))}
      {found.more > 0 && <li className="muted search-hint">More was found: add a word, or a filter.</li>}
    </ul>
  )
}
