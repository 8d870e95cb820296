// The view "Talk": the list of conversations, the chosen conversation as a chat, and the open thread.

import type { Conversation, OutputOf } from '@agent-relay/sdk/internal/page'
import { useEffect, useRef } from 'react'
import { useAsyncAction } from '../parts/async-action.ts'
import { Button, EmptyList, FailureText, IconButton } from '../parts/bits.tsx'
import { Composer } from '../parts/composer.tsx'
import { ConversationList } from '../parts/conversation-list.tsx'
import { MessageList } from '../parts/message-list.tsx'
import { Thread } from '../parts/thread.tsx'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversations, conversationTitle } from '../store/conversations.ts'
import { goToView, linkTo, replaceAddress, usePageAddress } from '../store/page-address.ts'
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
      <ConversationList chosen={name} />
      {isChosen ? (
        <section className="chat" aria-label={name}>
          <Head name={name} />
          <MessageList key={name} name={name} target={message} />
          <Composer key={`${name} composer`} conversation={name} />
        </section>
      ) : (
        <section className="chat chat-none" aria-label="No conversation">
          <EmptyList title="Choose a conversation" command='agent-relay send "*" "Hello"'>
            This command writes to everyone. To search all conversations: /
          </EmptyList>
        </section>
      )}
      {thread && <Thread key={thread} name={name} thread={thread} />}
    </div>
  )
}

/** If the address names no conversation, opens the latest one with unread messages, or else the latest; on a narrow screen the list stays open instead. */
function useNewestUnread(isChosen: boolean): void {
  const list = useCell(conversations)
  const isDecided = useRef(false)
  useEffect(() => {
    if (isDecided.current || !list) return
    isDecided.current = true
    const newest = list.find(({ unread }) => unread > 0) ?? list.find(({ last }) => last)
    if (!isChosen && newest && matchMedia('(min-width: 761px)').matches) replaceAddress('talk', [newest.name])
  }, [list, isChosen])
}

function Head({ name }: { name: string }) {
  const { agent: me } = useCell(connection)
  const found = useCell(conversations)?.find((each) => each.name === name)
  const members = found?.members
  const size = Array.isArray(members) ? members.length : members
  const isChannel = name.startsWith('#')
  const { why, attempt } = useAsyncAction()
  const leave = () => attempt(() => client.call('channel.leave', { channel: name }))
  return (
    <header className="bar chat-head">
      <a className="icon-button only-narrow" href={linkTo('talk')} aria-label="All conversations">
        ‹
      </a>
      <h2 className="title clip" title={name}>
        {conversationTitle(name, me)}
      </h2>
      <span className="muted small chat-facts num wide-only">
        {size !== undefined && counted(size, 'agent')}
        {found && `, ${counted(found.messages, 'message')}`}
      </span>
      {found && found.unread > 0 && (
        <Button onClick={() => attempt(() => readAll(found))}>Mark {found.unread} read</Button>
      )}
      {isChannel && found?.joined && name !== '#general' && <Button onClick={leave}>Leave</Button>}
      {isPair(name) && (
        <IconButton icon="agent" label="The agent" onClick={() => goToView('agent', [otherOf(name, me)])} />
      )}
      <FailureText text={why} />
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

/** Marks the unread messages of a conversation as read. They are looked for in the conversation: the inbox holds those of all others too. */
async function readAll({ name, unread }: Conversation): Promise<void> {
  let before: number | undefined
  for (let left = unread; left > 0; ) {
    const page: OutputOf<'message.list'> = await client.call('message.list', {
      conversation: name,
      before,
      limit: readPageMax,
    })
    const found = page.messages.filter(({ receipt }) => receipt === 'stored' || receipt === 'offered')
    if (found.length > 0) await client.call('inbox.read', { messages: found.map(({ id }) => id) })
    left -= found.length
    before = page.messages[0]?.n
    if (before === undefined || before <= 1) return
  }
}
