// The view "Talk": the list of conversations, the chosen conversation as a chat, and the open thread.

import { useEffect, useRef } from 'react'
import { Empty, IconButton } from '../parts/bits.tsx'
import { Composer } from '../parts/composer.tsx'
import { MessageList } from '../parts/message-list.tsx'
import { Places } from '../parts/places.tsx'
import { Thread } from '../parts/thread.tsx'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversationOf, conversations, titleOf } from '../store/conversations.ts'
import { go, linkTo, refine, usePageAddress } from '../store/page-address.ts'
import '../parts/split.css'
import './talk.css'

export default function Talk() {
  const { parts, query } = usePageAddress()
  const [name = '', message] = parts
  const thread = query.get('thread') ?? undefined
  const isChosen = name !== ''
  useNewestUnread(isChosen)
  return (
    <div className={`split talk ${isChosen ? 'is-chosen' : ''} ${thread ? 'has-thread' : ''}`}>
      <Places chosen={name} />
      {isChosen ? (
        <section className="chat" aria-label={name}>
          <Head name={name} />
          <MessageList key={name} name={name} target={message} />
          <Composer key={`${name} composer`} conversation={name} />
        </section>
      ) : (
        <section className="chat chat-none" aria-label="No conversation">
          <Empty title="Choose a conversation">Or search all of them with /</Empty>
        </section>
      )}
      {thread && <Thread key={thread} name={name} thread={thread} />}
    </div>
  )
}

/** If the address names no conversation, opens the latest one with unread messages; on a narrow screen the list stays open instead. */
function useNewestUnread(isChosen: boolean): void {
  const list = useCell(conversations)
  const isDecided = useRef(false)
  useEffect(() => {
    if (isDecided.current || !list) return
    isDecided.current = true
    const newest = list.find(({ unread }) => unread > 0)
    if (!isChosen && newest && matchMedia('(min-width: 761px)').matches) refine('talk', [newest.name])
  }, [list, isChosen])
}

function Head({ name }: { name: string }) {
  const { agent: me } = useCell(connection)
  const found = useCell(conversations)?.find((each) => each.name === name)
  const members = found?.members
  const size = Array.isArray(members) ? members.length : members
  const isChannel = name.startsWith('#')
  const leave = (): void => void client.call('channel.leave', { channel: name }).catch(() => {})
  return (
    <header className="bar chat-head">
      <a className="icon-button only-narrow" href={linkTo('talk')} aria-label="All conversations">
        ‹
      </a>
      <h1 className="title clip" title={name}>
        {titleOf(name, me)}
      </h1>
      <span className="muted small chat-facts num wide-only">
        {size !== undefined && counted(size, 'agent')}
        {found && `, ${counted(found.messages, 'message')}`}
      </span>
      {found && found.unread > 0 && (
        <button type="button" className="quiet" onClick={() => void readAll(name)}>
          Mark {found.unread} read
        </button>
      )}
      {isChannel && found?.joined && name !== '#general' && (
        <button type="button" className="quiet" onClick={leave}>
          Leave
        </button>
      )}
      {isPair(name) && <IconButton icon="agent" label="The agent" onClick={() => go('agent', [otherOf(name, me)])} />}
    </header>
  )
}

const counted = (count: number, what: string): string => `${count.toLocaleString()} ${what}${count === 1 ? '' : 's'}`

const isPair = (name: string): boolean => name.startsWith('@') && name.split(',').length === 2

function otherOf(name: string, me: string): string {
  const both = name.slice(1).split(',')
  return both.find((each) => each !== me) ?? me
}

const readPageMax = 500

/** Marks a conversation as read, in pages, since one call may not mark everything. */
async function readAll(name: string): Promise<void> {
  const isChannel = name.startsWith('#')
  for (;;) {
    const { messages } = await client.call('inbox.peek', {
      limit: readPageMax,
      ...(isChannel ? { channel: name } : {}),
    })
    const here = messages.filter((message) => conversationOf(message) === name)
    if (here.length === 0) return
    await client.call('inbox.read', { messages: here.map(({ id }) => id) })
  }
}
