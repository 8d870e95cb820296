// The list of conversations: the person's own first, then what the others say among themselves.

import type { Conversation } from '@agent-relay/sdk/browser'
import { type FormEvent, useState } from 'react'
import { go, linkTo } from '../route.ts'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversations, titleOf } from '../store/conversations.ts'
import { fleet } from '../store/fleet.ts'
import { Count, Empty, Failure } from './bits.tsx'

export function Places({ chosen }: { chosen: string }) {
  const list = useCell(conversations)
  const groups: [title: string, list: Conversation[]][] = [
    ['Channels', pick(list, ({ name }) => name.startsWith('#') || name === '*')],
    ['Your conversations', pick(list, ({ name, joined }) => name.startsWith('@') && joined)],
    ['Between agents', pick(list, ({ name, joined }) => name.startsWith('@') && !joined)],
  ]
  return (
    <nav className="places" aria-label="Conversations">
      <NewPlace />
      {list?.length === 0 && <Empty title="Nothing yet" command="agent-relay channels create build" />}
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
    </nav>
  )
}

function pick(list: readonly Conversation[] | undefined, test: (each: Conversation) => boolean): Conversation[] {
  return (list ?? []).filter(test)
}

function Place({ place: { name, last, unread }, isChosen }: { place: Conversation; isChosen: boolean }) {
  const { agent: me } = useCell(connection)
  return (
    <li>
      <a
        data-item
        className={`place ${unread > 0 ? 'is-unread' : ''}`}
        href={linkTo('talk', [name])}
        aria-current={isChosen ? 'true' : undefined}
      >
        <span className="place-head">
          <span className="place-name clip">{titleOf(name, me)}</span>
          <Count value={unread} label="unread" />
        </span>
        <bdi className="muted clip small">{last ? `${last.from}: ${last.preview}` : 'nothing yet'}</bdi>
      </a>
    </li>
  )
}

/** To anyone, to everyone, or into a channel that is made by it. */
function NewPlace() {
  const { agent: me } = useCell(connection)
  const { agents } = useCell(fleet)
  const [to, setTo] = useState('')
  const [why, setWhy] = useState<string>()
  const open = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const wanted = to.trim()
    if (wanted === '') return
    setWhy(undefined)
    try {
      if (wanted.startsWith('#')) await client.call('channel.join', { channel: wanted })
      setTo('')
      go('talk', [wanted.startsWith('#') || wanted === '*' ? wanted : `@${[me, wanted].sort().join(',')}`])
    } catch (error) {
      setWhy((error as Error).message)
    }
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
      <Failure text={why} />
    </form>
  )
}
