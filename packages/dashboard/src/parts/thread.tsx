// One thread shown beside its conversation, with a field to answer in the thread.

import type { Message } from '@agent-relay/sdk/internal/page'
import { useEffect, useState } from 'react'
import { client } from '../store/connection.ts'
import { onEvents } from '../store/events.ts'
import { goToView, linkTo } from '../store/page-address.ts'
import { ListRefresher } from '../store/refresh.ts'
import { Avatar, EmptyList, FailureText, IconButton, MessageKindTag } from './bits.tsx'
import { Composer } from './composer.tsx'
import { Markdown } from './markdown.tsx'
import { TimeOfDay } from './time.tsx'
import './message-list.css'
import './message-row.css'
import './thread.css'

const [threadMax, askMs] = [500, 100]

export function Thread({ name, thread }: { name: string; thread: string }) {
  const [messages, setMessages] = useState<readonly Message[]>()
  const [why, setWhy] = useState<string>()
  useEffect(() => {
    const refresh = new ListRefresher(
      () =>
        client.call('message.thread', { thread, limit: threadMax }).then(
          (answer) => setMessages(answer.messages),
          (error) => setWhy(error.message),
        ),
      { minMs: askMs },
    )
    refresh.hint()
    return onEvents((events) => {
      if (events.some(({ message }) => message?.thread === thread)) refresh.hint()
    })
  }, [thread])
  return (
    <aside className="thread" aria-label="Thread">
      <header className="bar chat-head">
        <h2 className="title clip">Thread{thread.startsWith('m_') ? '' : `: ${thread}`}</h2>
        <IconButton icon="close" label="Close the thread" onClick={() => goToView('talk', [name])} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard */}
      <div className="thread-list" tabIndex={0} role="log" aria-label="Messages of the thread">
        <FailureText text={why} />
        {messages?.length === 0 && <EmptyList title="Nothing here yet" />}
        {messages?.map((message) => (
          <article key={message.id} className="message">
            <Avatar name={message.from} />
            <div className="message-main">
              <header className="message-head">
                <a className="clip" href={linkTo('agent', [message.from])}>
                  {message.from}
                </a>
                <MessageKindTag kind={message.kind} />
                <a className="muted small" href={linkTo('talk', [name, message.id])}>
                  <TimeOfDay ts={message.ts} />
                </a>
              </header>
              <Markdown text={message.body} />
            </div>
          </article>
        ))}
      </div>
      <Composer conversation={name} thread={thread} />
    </aside>
  )
}
