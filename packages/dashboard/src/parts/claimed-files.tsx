// The claimed files: each agent with the files that it is editing, and its task. Hidden while nobody claims a file.

import { cleanLine, type OutputOf } from '@agent-relay/sdk/internal/page'
import { useEffect } from 'react'
import { Cell, useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { onEvents } from '../store/events.ts'
import { linkTo } from '../store/page-address.ts'
import { ListRefresher } from '../store/refresh.ts'
import { TimeAgo } from './time.tsx'
import './claimed-files.css'

type Claims = OutputOf<'claim.list'>['claims']

/** How many claims of one agent are shown; the rest are only counted. */
const filesShown = 8

const claims = new Cell<Claims>([])
/** Loads the claims again. They are also polled, because a claim ends without an event when its time has passed. */
const refresh = new ListRefresher(async () => claims.set((await client.call('claim.list', {})).claims), {
  ...{ minMs: 1_000, idleMs: 30_000 },
})
onEvents((events) => events.some(({ type }) => type.startsWith('claim.')) && refresh.hint())
connection.listen(() => connection.value.phase === 'up' && refresh.hint())

export function ClaimedFiles() {
  const held = useCell(claims)
  useEffect(() => refresh.hint(), [])
  if (held.length === 0) return null
  const holders = [...new Set(held.map(({ agent }) => agent))]
  return (
    <section aria-labelledby="in-hand">
      <div className="bar section-head">
        <h2 id="in-hand">Claimed files</h2>
        <span className="muted num small">{held.length}</span>
      </div>
      <ul className="stack latest-list">
        {holders.map((agent) => (
          <Holder key={agent} agent={agent} held={held.filter((claim) => claim.agent === agent)} />
        ))}
      </ul>
    </section>
  )
}

function Holder({ agent, held }: { agent: string; held: Claims }) {
  const task = held[0]?.task
  const more = held.length - filesShown
  return (
    <li>
      <a data-item className="stack latest-item" href={linkTo('agent', [agent])}>
        <span className="bar latest-head">
          <b className="clip">{agent}</b>
          <span className="muted small">
            <TimeAgo ts={held.map(({ since }) => since).sort()[0]} />
          </span>
        </span>
        <span className="mono small clip-2" title={held.map(({ root, file }) => `${root}/${file}`).join('\n')}>
          {held
            .slice(0, filesShown)
            .map(({ file }) => cleanLine(file))
            .join(', ')}
          {more > 0 && ` and ${more} more`}
        </span>
        {task && <bdi className="muted clip">{cleanLine(task)}</bdi>}
      </a>
    </li>
  )
}
