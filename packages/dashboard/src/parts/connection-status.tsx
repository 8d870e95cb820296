// The state of the page's connection: the person's agent and the delay while connected, or the time since the connection was lost.

import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { lagMs } from '../store/fleet.ts'
import { ElapsedTime } from './time.tsx'
import './connection-status.css'

export function ConnectionStatus() {
  const { phase, agent, since, version } = useCell(connection)
  const lag = useCell(lagMs)
  if (phase !== 'up')
    return (
      <p className="bar line lost" role="status">
        <i className="dot" aria-hidden="true" />
        <span>Reconnecting … {since !== undefined && <ElapsedTime ts={new Date(since).toISOString()} />}</span>
      </p>
    )
  return (
    <p className="bar line" role="status" title={`agent-relay ${version}`}>
      <i className="dot" aria-hidden="true" />
      <span className="clip">
        {agent ? `you are ${agent}` : 'read only'}
        {lag !== undefined && <span className="muted num wide-only"> · {Math.max(1, Math.round(lag))} ms</span>}
      </span>
    </p>
  )
}
