// One row in the list of agents: a link to the agent's own view.

import { type AgentTreeRow, agentStateText, type ListedWorker } from '../store/fleet.ts'
import { linkTo } from '../store/page-address.ts'
import { Avatar, CountBadge, StateBadge } from './bits.tsx'
import { Spent } from './spent.tsx'

interface AgentPickProps {
  branch: AgentTreeRow
  chosen: string
  me: string
  workers: ReadonlyMap<string, ListedWorker>
}

export function AgentPick({ branch: { agent, depth }, chosen, me, workers }: AgentPickProps) {
  const { name } = agent
  return (
    <li>
      <a
        data-item
        className={`list-row pick depth-${Math.min(depth, 3)} ${depth > 0 ? 'branch' : ''}`}
        href={linkTo('agent', [name])}
        aria-current={name === chosen ? 'true' : undefined}
      >
        <Avatar name={name} />
        <span className="pick-main">
          <b className="clip">{name}</b>
          <StateBadge state={agentStateText(agent, workers.get(name))} />
        </span>
        <span className="muted small pick-end">
          <Spent spend={agent.spend} />
        </span>
        <CountBadge value={agent.unread} label="unread" isQuiet={name !== me} />
      </a>
    </li>
  )
}
