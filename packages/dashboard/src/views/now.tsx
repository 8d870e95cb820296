// The view "Now": first everything that needs the person, then every agent with its state and whom it waits for, the machines, and the latest messages.

import { useMemo, useState } from 'react'
import { AgentRows } from '../parts/agent-rows.tsx'
import { useAttempt } from '../parts/attempt.ts'
import { Button, Count, Empty, Failure, Kind } from '../parts/bits.tsx'
import { BusyOtherWorkspaces } from '../parts/elsewhere.tsx'
import { Faults } from '../parts/faults.tsx'
import { Icon } from '../parts/icons.tsx'
import { ClaimedFiles } from '../parts/in-hand.tsx'
import { Machines } from '../parts/machines.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { Needs } from '../parts/needs.tsx'
import { Clock } from '../parts/time.tsx'
import { useCell } from '../store/cell.ts'
import { connection, playDemo } from '../store/connection.ts'
import { conversations, lastWords, titleOf } from '../store/conversations.ts'
import { busyElsewhere, overview } from '../store/everywhere.ts'
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
  const words = useMemo(() => lastWords(spoken ?? []), [spoken])
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
  const isBusyElsewhere = busyElsewhere(useCell(overview)).some(({ agents }) => agents.length > 0)
  const { why, attempt } = useAttempt()
  return (
    <>
      <Empty
        title={isBusyElsewhere ? `No agent has come to ${workspace} yet` : 'No agent has come yet'}
        command="agent-relay mcp install"
        other={hasDemo ? undefined : 'agent-relay demo'}
      >
        {isBusyElsewhere && 'Agents are in other workspaces, listed above. '}This command connects your editors and
        CLIs. {!hasDemo && 'The second shows the relay at work without any.'}
      </Empty>
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
      <Failure text={why} />
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
        <Empty title="Nothing was said yet" command='agent-relay send "*" "Hello"'>
          Messages appear here as they are stored.
        </Empty>
      )}
      <ul className="stack latest-list">
        {spoken.map(({ name, last, unread }) => (
          <li key={name}>
            <a data-item className="stack latest-item" href={linkTo('talk', [name])}>
              <span className="bar latest-head">
                <b className="clip">{titleOf(name, me)}</b>
                {last && <Kind kind={last.kind} />}
                <Count value={unread} label="unread" />
                <span className="muted small">{last && <Clock ts={last.ts} />}</span>
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
