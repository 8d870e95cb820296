// The view "Now": first everything that needs the person, then every agent with its state and whom it waits for, the machines, and the latest messages.

import { useMemo, useState } from 'react'
import { AgentRows } from '../parts/agent-rows.tsx'
import { useAsyncAction } from '../parts/async-action.ts'
import { Button, CountBadge, EmptyList, FailureText, MessageKindTag } from '../parts/bits.tsx'
import { ClaimedFiles } from '../parts/claimed-files.tsx'
import { BusyOtherWorkspaces } from '../parts/elsewhere.tsx'
import { Faults } from '../parts/faults.tsx'
import { Icon } from '../parts/icons.tsx'
import { Machines } from '../parts/machines.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { Needs } from '../parts/needs.tsx'
import { TimeOfDay } from '../parts/time.tsx'
import { useCell } from '../store/cell.ts'
import { connection, playDemo } from '../store/connection.ts'
import { conversations, conversationTitle, lastMessageOfAgents } from '../store/conversations.ts'
import { busyOtherWorkspaces, overview } from '../store/everywhere.ts'
import { fleet, shownAgents } from '../store/fleet.ts'
import { linkTo } from '../store/page-address.ts'
import './now.css'

export default function Now() {
  return (
    <div className="now">
      <div className="now-main">
        <h1 className="title">Now</h1>
        <Faults />
        <Needs />
        <BusyOtherWorkspaces />
        <Agents />
        <Machines />
        <ClaimedFiles />
      </div>
      <Latest />
    </div>
  )
}

function Agents() {
  const { agents, isKnown, workers } = useCell(fleet)
  const [isAll, setAll] = useState(false)
  const { agent: me } = useCell(connection)
  const spoken = useCell(conversations)
  const words = useMemo(() => lastMessageOfAgents(spoken ?? []), [spoken])
  const isAlone = agents.every(({ name }) => name === me)
  const { here, away, counts } = useMemo(() => shownAgents(agents), [agents])
  const rows = useMemo(() => (isAll ? [...here, ...away] : here), [isAll, here, away])
  return (
    <section aria-labelledby="agents">
      <div className="bar section-head">
        <h2 id="agents">Agents</h2>
        {!isAlone && <span className="muted num small">{counts}</span>}
        <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
          <Icon name="plus" />
          Spawn a worker
        </a>
      </div>
      {isKnown && isAlone ? <Welcome /> : <AgentRows rows={rows} workers={workers} words={words} />}
      {away.length > 0 && (
        <Button className="link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? 'Hide those that are away' : `${away.length} finished or away`}
        </Button>
      )}
    </section>
  )
}

/** First steps for a newcomer, shown while the workspace has no agents. */
function Welcome() {
  const { hasDemo, workspace } = useCell(connection)
  const isBusyElsewhere = busyOtherWorkspaces(useCell(overview)).some(({ agents }) => agents.length > 0)
  const { why, attempt } = useAsyncAction()
  return (
    <>
      <EmptyList
        title={isBusyElsewhere ? `No agent has come to ${workspace} yet` : 'No agent has come yet'}
        command="agent-relay mcp install"
        other={hasDemo ? undefined : 'agent-relay demo'}
      >
        {isBusyElsewhere && 'Agents are in other workspaces, listed above. '}This command connects your editors and
        CLIs. {!hasDemo && 'The second shows the relay at work without any.'}
      </EmptyList>
      <div className="bar welcome-tools">
        {hasDemo && (
          <Button className="main-button" onClick={() => attempt(playDemo)} title="In a workspace of its own">
            Play the demo
          </Button>
        )}
        <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
          Spawn a first worker
        </a>
      </div>
      <FailureText text={why} />
    </>
  )
}

const latestShown = 14

function Latest() {
  const list = useCell(conversations)
  const { agent: me } = useCell(connection)
  const spoken = (list ?? []).filter(({ last }) => last).slice(0, latestShown)
  return (
    <section className="latest" aria-labelledby="latest">
      <div className="bar section-head">
        <h2 id="latest">Conversations</h2>
      </div>
      {list && spoken.length === 0 && (
        <EmptyList title="Nothing was said yet" command='agent-relay send "*" "Hello"'>
          Messages appear here as they are stored.
        </EmptyList>
      )}
      <ul className="stack latest-list">
        {spoken.map(({ name, last, unread }) => (
          <li key={name}>
            <a data-item className="stack latest-item" href={linkTo('talk', [name])}>
              <span className="bar latest-head">
                <b className="clip">{conversationTitle(name, me)}</b>
                {last && <MessageKindTag kind={last.kind} />}
                <CountBadge value={unread} label="unread" />
                <span className="muted small">{last && <TimeOfDay ts={last.ts} />}</span>
              </span>
              <span className="clip-2">
                <span className="muted">{last?.from}: </span>
                <bdi>{previewOf(last?.preview ?? '')}</bdi>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
