// The view "Now": first everything that needs the person, then every agent with its state and whom it waits for, the machines, and the latest messages.

import { type Conversation, cleanLine } from '@agent-relay/sdk/internal/page'
import { memo, useMemo, useState } from 'react'
import { Count, Empty, Face, Failure, Kind, State } from '../parts/bits.tsx'
import { Elsewhere } from '../parts/elsewhere.tsx'
import { Faults } from '../parts/faults.tsx'
import { Icon } from '../parts/icons.tsx'
import { InHand } from '../parts/in-hand.tsx'
import { Machines } from '../parts/machines.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { Needs } from '../parts/needs.tsx'
import { Spent } from '../parts/spent.tsx'
import { Ago, Clock } from '../parts/time.tsx'
import { Waits } from '../parts/waits.tsx'
import { WorkerTools } from '../parts/worker-tools.tsx'
import { useCell } from '../store/cell.ts'
import { connection, playDemo } from '../store/connection.ts'
import { conversations, titleOf } from '../store/conversations.ts'
import { busyElsewhere, overview } from '../store/everywhere.ts'
import {
  type Branch,
  fleet,
  isPresent,
  type ListedWorker,
  sinceOf,
  stateOf,
  treeOf,
  withLeads,
} from '../store/fleet.ts'
import { linkTo } from '../store/page-address.ts'
import './now.css'

export default function Now() {
  return (
    <div className="now">
      <div className="now-main">
        <h1 className="title">Now</h1>
        <Faults />
        <Needs />
        <Elsewhere />
        <Agents />
        <Machines />
        <InHand />
      </div>
      <Latest />
    </div>
  )
}

function Agents() {
  const { agents, isKnown, workers } = useCell(fleet)
  const [isAll, setAll] = useState(false)
  const { agent: me } = useCell(connection)
  const words = lastWords(useCell(conversations) ?? [])
  const others = agents.filter(({ name }) => name !== me)
  const { here, away } = useMemo(() => {
    const present = withLeads(agents, isPresent)
    return {
      here: treeOf(agents.filter(({ name }) => present.has(name))),
      away: treeOf(agents.filter(({ name }) => !present.has(name))),
    }
  }, [agents])
  const shown = isAll ? [...here, ...away] : here
  const lost = agents.filter(({ status }) => status === 'unreachable').length
  const gone = agents.filter(({ status }) => status === 'offline').length
  return (
    <section aria-labelledby="agents">
      <div className="bar section-head">
        <h2 id="agents">Agents</h2>
        {others.length > 0 && (
          <span className="muted num small">
            {agents.length - lost - gone} here, {gone} away{lost > 0 && `, ${lost} out of reach`}
          </span>
        )}
        <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
          <Icon name="plus" />
          Spawn a worker
        </a>
      </div>
      {isKnown && others.length === 0 ? (
        <Welcome />
      ) : (
        <div className="panel agents">
          <Waits rows={shown} />
          <ul className="agent-rows">
            {shown.map((branch) => (
              <Row
                key={branch.agent.name}
                branch={branch}
                isMe={branch.agent.name === me}
                worker={workers.get(branch.agent.name)}
                word={words.get(branch.agent.name)}
              />
            ))}
          </ul>
        </div>
      )}
      {away.length > 0 && (
        <button type="button" className="link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? 'Hide those that are away' : `${away.length} finished or away`}
        </button>
      )}
    </section>
  )
}

/** First steps for a newcomer, shown while the workspace has no agents. */
function Welcome() {
  const { hasDemo, workspace } = useCell(connection)
  const isBusyElsewhere = busyElsewhere(useCell(overview)).some(({ agents }) => agents.length > 0)
  const [why, setWhy] = useState<string>()
  const demo = (): void => void playDemo().catch((error) => setWhy(error.message))
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
          <button type="button" className="main-button" onClick={demo} title="In a workspace of its own">
            Play the demo
          </button>
        )}
        <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
          Spawn a first worker
        </a>
      </div>
      <Failure text={why} />
    </>
  )
}

interface RowProps {
  branch: Branch
  isMe: boolean
  worker: ListedWorker | undefined
  word: string | undefined
}

/** One agent in the list. Memoized, since the list may have hundreds of rows. */
const Row = memo(function Row({ branch: { agent, depth }, isMe, worker, word }: RowProps) {
  const [why, setWhy] = useState<string>()
  const model = cleanLine([agent.cli, agent.model].filter(Boolean).join(' · '))
  return (
    <li className="agent-row-item">
      <a data-item className={`list-row agent-row depth-${Math.min(depth, 3)}`} href={linkTo('agent', [agent.name])}>
        <span className={`bar agent-id ${depth > 0 ? 'branch' : ''}`}>
          <Face name={agent.name} />
          <span className="agent-who">
            <b className="clip">{agent.name}</b>
            <span className="muted clip small">
              {isMe
                ? 'you'
                : agent.type === 'human'
                  ? 'a person'
                  : [model || 'agent', agent.notReached ? `messages ${agent.notReached}` : agent.reached]
                      .filter(Boolean)
                      .join(' · ')}
            </span>
          </span>
        </span>
        <State state={stateOf(agent, worker)} since={sinceOf(agent, worker)} />
        <span className="agent-last">
          <bdi className={`clip ${worker?.task ? '' : 'muted'}`} title={worker?.task}>
            {worker?.task ? previewOf(worker.task) : word}
          </bdi>
          {worker?.worktree && (
            <span className="muted small mono clip" title={worker.worktree.path}>
              {worker.worktree.branch}
            </span>
          )}
        </span>
        <Count value={agent.unread} label="unread" isQuiet={!isMe} />
        <span className="muted small agent-ago">
          <Ago ts={agent.lastCallAt} />
          <Spent spend={agent.spend} />
        </span>
      </a>
      {!isMe && (
        <span className="agent-tools">
          <WorkerTools agent={agent} worker={worker} onFailure={setWhy} />
          <a className="quiet" href={linkTo('runs', [], { start: '1', agent: agent.name })}>
            Give a contract
          </a>
          <Failure text={why} />
        </span>
      )}
    </li>
  )
}, isSameRow)

function isSameRow(a: RowProps, b: RowProps): boolean {
  const isSameAgent = a.branch.agent === b.branch.agent && a.branch.depth === b.branch.depth
  return isSameAgent && a.isMe === b.isMe && a.worker === b.worker && a.word === b.word
}

/** Finds each agent's last message, as far as it is also the last message of its conversation. */
function lastWords(list: readonly Conversation[]): Map<string, string> {
  const words = new Map<string, string>()
  for (const { last } of list) if (last && !words.has(last.from)) words.set(last.from, previewOf(last.preview))
  return words
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
      <ul className="latest-list">
        {spoken.map(({ name, last, unread }) => (
          <li key={name}>
            <a data-item className="latest-item" href={linkTo('talk', [name])}>
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
