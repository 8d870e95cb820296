// The list of conversations: first channels, then the person's own conversations, then those between other agents.

import type { Conversation } from '@agent-relay/sdk/internal/page'
import { type FormEvent, memo, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversations, conversationTitle, olderConversations } from '../store/conversations.ts'
import { fleet } from '../store/fleet.ts'
import { goToView, linkTo } from '../store/page-address.ts'
import { useAsyncAction } from './async-action.ts'
import { CountBadge, EmptyList, FailureText } from './bits.tsx'
import { previewOf } from './markdown-tree.ts'
import './conversation-list.css'

export function ConversationList({ chosen }: { chosen: string }) {
  const list = useCell(conversations)
  const older = useCell(olderConversations)
  const groups: [title: string, list: Conversation[]][] = [
    ['Channels', pick(list, ({ name }) => name.startsWith('#') || name === '*')],
    ['Your conversations', pick(list, ({ name, joined }) => name.startsWith('@') && joined)],
    ['Between agents', pick(list, ({ name, joined }) => name.startsWith('@') && !joined)],
  ]
  return (
    <nav className="split-list" aria-label="Conversations">
      <h1 className="unseen">Talk</h1>
      <NewPlace />
      {list?.length === 0 && <EmptyList title="Nothing yet" command="agent-relay channels create build" />}
      {groups.map(([title, group]) =>
        group.length === 0 ? null : (
          <div key={title} className="place-group">
            <h2>{title}</h2>
            <ul>
              {group.map((each) => (
                <Place key={each.name} place={each} isChosen={each.name === chosen} />
              ))}
            </ul>
          </div>
        ),
      )}
      {older > 0 && (
        <p className="muted small places-end">{older.toLocaleString()} older ones: open one by its name, or search.</p>
      )}
    </nav>
  )
}

function pick(list: readonly Conversation[] | undefined, test: (each: Conversation) => boolean): Conversation[] {
  return (list ?? []).filter(test)
}

/** One conversation in the list. Memoized, since the list may have hundreds of rows. */
const Place = memo(function Place({ place, isChosen }: { place: Conversation; isChosen: boolean }) {
  const { name, last, unread } = place
  const { agent: me } = useCell(connection)
  return (
    <li>
      <a
        data-item
        className={`list-row stack place ${unread > 0 ? 'is-unread' : ''}`}
        href={linkTo('talk', [name])}
        aria-current={isChosen ? 'true' : undefined}
      >
        <span className="bar place-head">
          <span className="place-name clip">{conversationTitle(name, me)}</span>
          <CountBadge value={unread} label="unread" />
        </span>
        <bdi className="muted clip small">{last ? `${last.from}: ${previewOf(last.preview)}` : 'nothing yet'}</bdi>
      </a>
    </li>
  )
})

/** A form that opens a conversation with an agent or with everyone, or joins a channel, which is created if missing. */
function NewPlace() {
  const { agent: me } = useCell(connection)
  const { agents } = useCell(fleet)
  const [to, setTo] = useState('')
  const { why, attempt } = useAsyncAction()
  const open = (event: FormEvent): void => {
    event.preventDefault()
    const wanted = to.trim()
    if (wanted === '') return
    void attempt(async () => {
      if (wanted.startsWith('#')) await client.call('channel.join', { channel: wanted, create: true })
      setTo('')
      goToView('talk', [wanted.startsWith('#') || wanted === '*' ? wanted : `@${[me, wanted].sort().join(',')}`])
    })
  }
  return (
    <form className="new-place" onSubmit={open}>
      <input
        list="addresses"
        aria-label="Open a conversation"
        placeholder="Agent, #channel or *"
        value={to}
        onChange={(event) => setTo(event.target.value)}
      />
      <datalist id="addresses">
        {agents
          .filter(({ name }) => name !== me)
          .map(({ name }) => (
            <option key={name} value={name} />
          ))}
      </datalist>
      <FailureText text={why} />
    </form>
  )
}
