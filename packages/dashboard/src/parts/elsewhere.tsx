// The list "In other workspaces": where else on this machine somebody is connected or something waits for the person, each one click away.

import { useEffect } from 'react'
import { useCell } from '../store/cell.ts'
import type { WorkspaceSummary } from '../store/connection.ts'
import { busyOtherWorkspaces, followOverview, overview } from '../store/everywhere.ts'
import { linkTo } from '../store/page-address.ts'
import { workspacePath } from '../store/workspace-storage.ts'
import { CountBadge } from './bits.tsx'
import './elsewhere.css'

const namesShown = 4
const workspacesShown = 8

export function BusyOtherWorkspaces() {
  useEffect(() => followOverview(), [])
  const others = busyOtherWorkspaces(useCell(overview))
  if (others.length === 0) return null
  const hidden = others.length - workspacesShown
  return (
    <section aria-labelledby="elsewhere">
      <div className="bar section-head">
        <h2 id="elsewhere">In other workspaces</h2>
        <a data-item className="quiet" href={linkTo('everywhere')}>
          {hidden > 0 ? `All workspaces, ${hidden} more` : 'All workspaces'}
        </a>
      </div>
      <ul className="panel elsewhere">
        {others.slice(0, workspacesShown).map((each) => (
          <li key={each.name}>
            <a data-item className="bar elsewhere-row" href={`${workspacePath(each.name)}${linkTo('now')}`}>
              <b className="clip">{each.name}</b>
              <CountBadge value={each.needs} label="need you" />
              <bdi className="muted small clip elsewhere-who">{whoText(each)}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function whoText({ agents }: WorkspaceSummary): string {
  if (agents.length === 0) return 'nobody is connected'
  const more = agents.length - namesShown
  return `${agents.slice(0, namesShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
