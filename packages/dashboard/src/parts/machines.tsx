// The machines that share this workspace: whether each can be reached, its agents, and its permissions on this machine. Hidden for a workspace of one machine.

import { type OutputOf, requestKinds } from '@agent-relay/sdk/internal/page'
import { useEffect } from 'react'
import { Cell, useCell } from '../store/cell.ts'
import { client, connection, reloadLoginData, withCommandsAsTyped } from '../store/connection.ts'
import type { Tone } from '../store/fleet.ts'
import { linkTo } from '../store/page-address.ts'
import { ListRefresher } from '../store/refresh.ts'
import { FailureText } from './bits.tsx'
import { LastHeard, TimeOfDay } from './time.tsx'
import './machines.css'

type Listed = OutputOf<'machine.list'>
type Shown = Listed['machines'][number]

const reachLookMs = 5_000
/** How many agents of one machine are shown; the rest are only counted. */
const agentsShown = 12

const listed = new Cell<Listed>({ machines: [] })
const refresh = new ListRefresher(ask, { minMs: 1_000 })
connection.listen(() => connection.value.phase === 'up' && refresh.hint())

async function ask(): Promise<void> {
  const before = listed.value.trouble
  listed.set(await client.call('machine.list', {}))
  // The page's list of workspaces shows the same trouble, if the login may see it. So a change of the trouble loads that list again, too.
  if (listed.value.trouble !== before) await reloadLoginData()
}

/** Loads the list of machines and then polls it, since a machine may come or go without an event. */
function follow(): () => void {
  refresh.hint()
  const look = (): void => {
    if (!document.hidden && listed.value.machines.length > 0) refresh.hint()
  }
  const timer = setInterval(look, reachLookMs)
  return () => clearInterval(timer)
}

export function Machines() {
  useEffect(follow, [])
  const { machines, trouble } = useCell(listed)
  const { faults } = useCell(connection)
  if (machines.length === 0) return null
  return (
    <section aria-labelledby="machines">
      <div className="bar section-head">
        <h2 id="machines">Machines</h2>
        <span className="muted num small">{machines.filter(({ state }) => state !== 'removed').length}</span>
      </div>
      {trouble !== undefined && !faults.includes(trouble) && <FailureText text={trouble} />}
      <ul className="panel">
        {machines.map((each) => (
          <Row key={each.name} machine={each} />
        ))}
      </ul>
    </section>
  )
}

const tones: Record<Shown['state'], Tone> = {
  here: 'good',
  reached: 'good',
  unreachable: 'off',
  closed: 'off',
  removed: 'off',
}

function Row({ machine }: { machine: Shown }) {
  const { name, state, version, owns, agents, may } = machine
  return (
    <li className="stack machine">
      <span className="bar machine-head">
        <b className="clip">{name}</b>
        <span className={`state ${tones[state]}`}>
          <i className="dot" aria-hidden="true" />
          <span>
            <StateText machine={machine} />
          </span>
        </span>
        {owns && <span className="tag">owns this workspace</span>}
        {version && <span className="muted small num machine-version">{version}</span>}
      </span>
      <Agents agents={agents} />
      {may && <May name={name} may={may} />}
    </li>
  )
}

function StateText({ machine: { state, version, seenAt, revokedAt } }: { machine: Shown }) {
  if (state === 'unreachable')
    return (
      <>
        out of reach, <LastHeard ts={seenAt} />
      </>
    )
  if (state === 'closed') return version === undefined ? 'no daemon yet' : 'does not have this workspace open'
  if (state === 'removed' && revokedAt)
    return (
      <>
        removed, <TimeOfDay ts={revokedAt} />
      </>
    )
  return state
}

/** Links to a machine's agents that are not offline; the others are only counted. */
function Agents({ agents }: Pick<Shown, 'agents'>) {
  const there = agents.filter(({ status }) => status !== 'offline')
  const shown = there.slice(0, agentsShown)
  const away = agents.length - there.length
  if (agents.length === 0) return <span className="muted small">nobody is at home there</span>
  return (
    <span className="bar machine-agents">
      {shown.map(({ name }) => (
        <a key={name} className="clip" href={linkTo('agent', [name])}>
          {name}
        </a>
      ))}
      {there.length > shown.length && <span className="muted small">{there.length - shown.length} more</span>}
      {away > 0 && <span className="muted small">{away} away</span>}
    </span>
  )
}

/** What another machine may ask of this machine, with the command that changes it: only this machine's owner can change that, and not on this page. */
function May({ name, may }: { name: string; may: NonNullable<Shown['may']> }) {
  const missing = requestKinds.filter((kind) => !may.includes(kind))
  const [aim, change] =
    missing.length === 0
      ? ['to take that back', '--revoke']
      : [may.length === 0 ? 'to allow it' : 'to allow more', missing.join(' ')]
  return (
    <span className="machine-may muted small">
      {may.length === 0 ? 'may ask for nothing here' : `may ${may.join(', ')} here`}; {aim}:{' '}
      <code>{withCommandsAsTyped(`agent-relay machine allow ${name} ${change}`)}</code>
    </span>
  )
}
