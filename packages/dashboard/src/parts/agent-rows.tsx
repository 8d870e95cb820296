// The list of agents: one row for each with its state, task, how messages reach it, unread messages and spend, and its buttons. The same in every view that
// lists agents of a workspace.

import { type Agent, cleanLine } from '@agent-relay/sdk/internal/page'
import { memo, useMemo, useState } from 'react'
import { avatarLettersOf } from '../store/avatar-letters.ts'
import { type AgentTreeRow, agentStateText, type Fleet, type ListedWorker, stateSince } from '../store/fleet.ts'
import { linkTo } from '../store/page-address.ts'
import { useWorkplace } from '../store/shown-workplace.ts'
import { Avatar, CountBadge, FailureText, StateBadge } from './bits.tsx'
import { previewOf } from './markdown-tree.ts'
import { Spent } from './spent.tsx'
import { TimeAgo } from './time.tsx'
import { WaitArrows } from './waits.tsx'
import { WorkerTools } from './worker-tools.tsx'
import './agent-rows.css'

interface AgentRowsProps {
  rows: readonly AgentTreeRow[]
  workers: Fleet['workers']
  /** The beginning of each agent's last message, by the agent's name; shown for an agent without a task. */
  words?: ReadonlyMap<string, string>
}

export function AgentRows({ rows, workers, words }: AgentRowsProps) {
  const { me } = useWorkplace()
  const faces = useMemo(() => avatarLettersOf(rows.map(({ agent }) => agent.name)), [rows])
  return (
    <div className="panel agents">
      <WaitArrows rows={rows} />
      <div className="agent-rows">
        <div className="agent-heads muted small" aria-hidden="true">
          {['Agent', 'State', 'Since', 'Task', 'Reached', 'Unread', 'Spent'].map((head) => (
            <span key={head}>{head}</span>
          ))}
        </div>
        <ul>
          {rows.map((branch) => (
            <Row
              key={branch.agent.name}
              branch={branch}
              face={faces.get(branch.agent.name)}
              isMe={branch.agent.name === me}
              worker={workers.get(branch.agent.name)}
              word={words?.get(branch.agent.name)}
            />
          ))}
        </ul>
      </div>
    </div>
  )
}

interface RowProps {
  branch: AgentTreeRow
  face: string | undefined
  isMe: boolean
  worker: ListedWorker | undefined
  word: string | undefined
}

/** One agent in the list. Memoized, since the list may have hundreds of rows. */
const Row = memo(function Row({ branch: { agent, depth }, face, isMe, worker, word }: RowProps) {
  const { path } = useWorkplace()
  const task = agent.task ?? worker?.task
  return (
    <li className="agent-row-item">
      <a
        data-item
        className={`list-row agent-row depth-${Math.min(depth, 3)}`}
        href={`${path}${linkTo('agent', [agent.name])}`}
      >
        <span className={`bar agent-id ${depth > 0 ? 'branch' : ''}`}>
          <Avatar name={agent.name} letters={face} />
          <span className="agent-who">
            <b className="clip">{agent.name}</b>
            <span className="muted clip small">{kindOf(agent, isMe)}</span>
          </span>
        </span>
        <StateBadge state={agentStateText(agent, worker)} />
        <span className="muted small agent-ago">
          <TimeAgo ts={stateSince(agent, worker) ?? agent.lastCallAt} />
        </span>
        <span className="agent-last">
          <bdi className={task ? 'clip-2' : 'clip muted'} title={task}>
            {previewOf(task ?? word ?? '')}
          </bdi>
          {worker?.worktree && (
            <span className="muted small mono clip" title={worker.worktree.path}>
              {worker.worktree.branch}
            </span>
          )}
        </span>
        <span className="muted small clip-2 agent-reach">
          {agent.notReached ? `messages ${agent.notReached}` : agent.reached}
        </span>
        <span className="agent-unread">
          <CountBadge value={agent.unread} label="unread" isQuiet={!isMe} />
        </span>
        <span className="muted small agent-spent">
          <Spent spend={agent.spend} />
        </span>
      </a>
      {!isMe && <Tools agent={agent} worker={worker} />}
    </li>
  )
}, isSameRow)

function kindOf({ type, cli, model }: Agent, isMe: boolean): string {
  if (isMe) return 'you'
  return type === 'human' ? 'a person' : cleanLine([cli, model].filter(Boolean).join(' · ')) || 'agent'
}

function Tools({ agent, worker }: { agent: Agent; worker: ListedWorker | undefined }) {
  const { path } = useWorkplace()
  const [why, setWhy] = useState<string>()
  return (
    <span className="agent-tools">
      <WorkerTools agent={agent} worker={worker} onFailure={setWhy} />
      <a className="quiet" href={`${path}${linkTo('runs', [], { start: '1', agent: agent.name })}`}>
        Give a contract
      </a>
      <FailureText text={why} />
    </span>
  )
}

function isSameRow(a: RowProps, b: RowProps): boolean {
  const isSameAgent = a.branch.agent === b.branch.agent && a.branch.depth === b.branch.depth
  return isSameAgent && a.isMe === b.isMe && a.worker === b.worker && a.word === b.word && a.face === b.face
}
