// The view "Everywhere": all workspaces, each with the same rows and buttons as in its own view "Now".

import { useEffect, useMemo, useState } from 'react'
import { AgentRows } from '../parts/agent-rows.tsx'
import { Count, Failure } from '../parts/bits.tsx'
import { Faults } from '../parts/faults.tsx'
import { NeedRows } from '../parts/needs.tsx'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { everywhere, followEverywhere, type OtherWorkspace, workspacesStep } from '../store/everywhere.ts'
import { shownAgents } from '../store/fleet.ts'
import { pathOf } from '../store/own-place.ts'
import { linkTo } from '../store/page-address.ts'
import { OtherWorkplace } from '../store/shown-workplace.ts'
import './everywhere.css'

export default function Everywhere() {
  const { workspaces } = useCell(connection)
  const [count, setCount] = useState(workspacesStep)
  useEffect(() => followEverywhere(count), [count])
  const all = useCell(everywhere)
  const more = workspaces.length - count
  return (
    <div className="everywhere">
      <h1 className="title">All workspaces</h1>
      <Faults />
      {workspaces.slice(0, count).map((name) => (
        <One key={name} name={name} workspace={all.get(name)} />
      ))}
      {more > 0 && (
        <button type="button" className="quiet" onClick={() => setCount(count + workspacesStep)}>
          Look at {Math.min(more, workspacesStep)} of {more} more
        </button>
      )}
    </div>
  )
}

function One({ name, workspace }: { name: string; workspace: OtherWorkspace | undefined }) {
  const count = workspace?.needs.length ?? 0
  return (
    <section aria-label={name}>
      <div className="bar section-head">
        <h2>
          <a data-item href={`${pathOf(name)}${linkTo('now')}`}>
            {name}
          </a>
        </h2>
        <Count value={count} label="need you" />
        {workspace && <Facts workspace={workspace} />}
      </div>
      <Failure text={workspace?.why} />
      {workspace?.fleet.isKnown && (
        <OtherWorkplace value={workspace.workplace}>
          <NeedRows list={workspace.needs} empty="Nothing waits for you." />
          <Agents workspace={workspace} />
        </OtherWorkplace>
      )}
    </section>
  )
}

function Facts({ workspace: { fleet, snoozed, more } }: { workspace: OtherWorkspace }) {
  const { counts } = useMemo(() => shownAgents(fleet.agents), [fleet])
  return (
    <span className="muted small num">
      {fleet.isKnown && counts}
      {snoozed > 0 && `, ${snoozed} snoozed`}
      {more > 0 && `, ${more} more wait for you`}
    </span>
  )
}

function Agents({ workspace: { fleet, words } }: { workspace: OtherWorkspace }) {
  const { here } = useMemo(() => shownAgents(fleet.agents), [fleet])
  return here.length > 0 ? <AgentRows rows={here} workers={fleet.workers} words={words} /> : null
}
