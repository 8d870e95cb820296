// Now: what needs the person first, every agent with its state, workers under their lead, who waits for whom, and the latest words.

import type { Conversation } from '@agent-relay/sdk/browser'
import { useState } from 'react'
import { Count, Empty, Face, Kind, State } from '../parts/bits.tsx'
import { Icon } from '../parts/icons.tsx'
import { Ago, Clock } from '../parts/time.tsx'
import { Waits } from '../parts/waits.tsx'
import { linkTo } from '../route.ts'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { conversations, titleOf } from '../store/conversations.ts'
import { type Branch, fleet, stateOf, treeOf, withLeads } from '../store/fleet.ts'
import { type Need, needs } from '../store/needs.ts'

export function Now() {
  return (
    <div className="now">
      <div className="now-main">
        <h1 className="title">Now</h1>
        <Needs />
        <Agents />
      </div>
      <Latest />
    </div>
  )
}

function Needs() {
  const list = useCell(needs)
  const [isAsked, setAsked] = useState('Notification' in window && Notification.permission !== 'default')
  const ask = (): void => void Notification.requestPermission().then(() => setAsked(true))
  return (
    <section aria-labelledby="needs">
      <div className="section-head">
        <h2 id="needs">Needs you</h2>
        {!isAsked && (
          <button type="button" className="quiet" onClick={ask}>
            <Icon name="bell" />
            Notify me
          </button>
        )}
      </div>
      {list.length === 0 ? (
        <p className="calm-note muted">Nothing. Nobody is blocked, and no message waits for you.</p>
      ) : (
        <ul className="needs">
          {list.map((need) => (
            <li key={need.key}>
              <a data-item className={`need need-${need.kind}`} href={addressOf(need)}>
                <Icon name={need.kind === 'blocked' ? 'alert' : 'talk'} />
                <b className="need-title clip">{need.title}</b>
                <bdi className="clip need-text">{need.text}</bdi>
                {need.since && (
                  <span className="muted">
                    <Ago ts={need.since} />
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function addressOf({ kind, at }: Need): string {
  return kind === 'blocked' ? linkTo('agent', [at, 'terminal']) : linkTo('talk', [at])
}

const awayShown = 8

function Agents() {
  const { agents, isKnown } = useCell(fleet)
  const [isAll, setAll] = useState(false)
  const { agent: me } = useCell(connection)
  const words = lastWords(useCell(conversations) ?? [])
  const others = agents.filter(({ name }) => name !== me)
  const present = withLeads(agents, ({ status, worker }) => status !== 'offline' || worker !== undefined)
  const here = treeOf(agents.filter(({ name }) => present.has(name)))
  const away = treeOf(agents.filter(({ name }) => !present.has(name)))
  const shown = [...here, ...(isAll ? away : away.slice(0, awayShown))]
  const there = agents.filter(({ status }) => status !== 'offline').length
  return (
    <section aria-labelledby="agents">
      <div className="section-head">
        <h2 id="agents">Agents</h2>
        {others.length > 0 && (
          <span className="muted num small">
            {there} here, {agents.length - there} away
          </span>
        )}
        <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
          <Icon name="plus" />
          Spawn a worker
        </a>
      </div>
      {isKnown && others.length === 0 ? (
        <Empty title="No agent has come yet" command="npx agent-relay mcp install" other="npx agent-relay demo">
          The first command connects your editors and CLIs, the second shows it at work without any.
        </Empty>
      ) : (
        <div className="agents">
          <Waits rows={shown} />
          <ul className="agent-rows">
            {shown.map((branch) => (
              <Row
                key={branch.agent.name}
                branch={branch}
                isMe={branch.agent.name === me}
                word={words.get(branch.agent.name)}
              />
            ))}
          </ul>
        </div>
      )}
      {away.length > awayShown && (
        <button type="button" className="link" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show fewer' : `Show all ${away.length} that are away`}
        </button>
      )}
    </section>
  )
}

function Row({ branch: { agent, depth }, isMe, word }: { branch: Branch; isMe: boolean; word: string | undefined }) {
  const state = stateOf(agent)
  const model = [agent.cli, agent.model].filter(Boolean).join(' · ')
  return (
    <li className="agent-row-item">
      <a data-item className={`agent-row depth-${Math.min(depth, 3)}`} href={linkTo('agent', [agent.name])}>
        <span className="agent-id">
          <Face name={agent.name} />
          <span className="agent-who">
            <b className="clip">{agent.name}</b>
            <span className="muted clip small">
              {isMe ? 'you' : agent.type === 'human' ? 'a person' : model || 'agent'}
            </span>
          </span>
        </span>
        <State state={state} since={agent.waitingFor?.since} />
        <bdi className="muted clip agent-last">{word}</bdi>
        <Count value={agent.unread} label="unread" isQuiet={!isMe} />
        <span className="muted small agent-ago">
          <Ago ts={agent.lastCallAt} />
        </span>
      </a>
    </li>
  )
}

/** What each said last, where that is the last word of a conversation. */
function lastWords(list: readonly Conversation[]): Map<string, string> {
  const words = new Map<string, string>()
  for (const { last } of list) if (last && !words.has(last.from)) words.set(last.from, last.preview)
  return words
}

const latestShown = 14

function Latest() {
  const list = useCell(conversations)
  const { agent: me } = useCell(connection)
  const spoken = (list ?? []).filter(({ last }) => last).slice(0, latestShown)
  return (
    <section className="latest" aria-labelledby="latest">
      <div className="section-head">
        <h2 id="latest">Conversations</h2>
      </div>
      {list && spoken.length === 0 && (
        <Empty title="Nothing was said yet" command='agent-relay send "*" "Hello"'>
          Messages appear here as they are stored.
        </Empty>
      )}
      <ul className="latest-list">
        {spoken.map(({ name, last, unread }) => (
          <li key={name}>
            <a data-item className="latest-item" href={linkTo('talk', [name])}>
              <span className="latest-head">
                <b className="clip">{titleOf(name, me)}</b>
                {last && <Kind kind={last.kind} />}
                <Count value={unread} label="unread" />
                <span className="muted small">{last && <Clock ts={last.ts} />}</span>
              </span>
              <span className="clip-2">
                <span className="muted">{last?.from}: </span>
                <bdi>{last?.preview}</bdi>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
