// The view "Everywhere": all workspaces, each with the same rows and buttons as in its own view "Now".

import { useEffect, useMemo, useState } from 'react'
import { AgentRows } from '../parts/agent-rows.tsx'
import { Button, CountBadge, FailureText } from '../parts/bits.tsx'
import { Faults } from '../parts/faults.tsx'
import { NeedRows } from '../parts/needs.tsx'
import { useCell } from '../store/cell.ts'
import type { WorkspaceSummary } from '../store/connection.ts'
import {
  followEverywhere,
  followedWorkspaces,
  isInUse,
  type OtherWorkspace,
  overview,
  workspacesStep,
} from '../store/everywhere.ts'
import { shownAgents } from '../store/fleet.ts'
import { linkTo } from '../store/page-address.ts'
import { OtherWorkplace } from '../store/shown-workplace.ts'
import { workspacePath } from '../store/workspace-storage.ts'
import './everywhere.css'

export default function Everywhere() {
  const [count, setCount] = useState(workspacesStep)
  useEffect(() => followEverywhere(count), [count])
  // First the workspaces in which something waits for the person, then those in use, then the others: many workspaces are unused most of the time.
  const all = useCell(overview).toSorted((a, b) => rankOf(a) - rankOf(b))
  const more = all.filter(isInUse).length - count
  return (
    <div className="everywhere">
      <h1 className="title">All workspaces</h1>
      <Faults />
      {all.map((each) => (
        <One key={each.name} glance={each} />
      ))}
      {more > 0 && (
        <Button onClick={() => setCount(count + workspacesStep)}>
          Look at {Math.min(more, workspacesStep)} of {more} more
        </Button>
      )}
    </div>
  )
}

const rankOf = ({ needs, agents }: WorkspaceSummary): number => (needs > 0 ? 0 : agents.length > 0 ? 1 : 2)

function One({ glance: { name, atRest, agents, needs } }: { glance: WorkspaceSummary }) {
  const workspace = useCell(followedWorkspaces).get(name)
  const address = `${workspacePath(name)}${linkTo('now')}`
  const isShown = workspace?.fleet.isKnown === true
  return (
    <section aria-label={name}>
      <div className="bar section-head">
        <h2>
          <a data-item href={address}>
            {name}
          </a>
        </h2>
        <CountBadge value={isShown ? workspace.needs.length : needs} label="need you" />
        {isShown ? (
          <Facts workspace={workspace} />
        ) : (
          <span className="muted small num">{atRest ? 'at rest' : `${agents.length} here`}</span>
        )}
      </div>
      <FailureText text={workspace?.why} />
      {isShown ? (
        <OtherWorkplace value={workspace.workplace}>
          <NeedRows list={workspace.needs} empty="Nothing waits for you." />
          <Agents workspace={workspace} />
        </OtherWorkplace>
      ) : needs === 0 ? (
        <p className="calm-note muted">Nothing waits for you.</p>
      ) : (
        atRest && (
          <a data-item className="link" href={address}>
            {needs} {needs === 1 ? 'thing waits' : 'things wait'} for you in {name}
          </a>
        )
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
