// The view "Everywhere": all workspaces with everything that waits for the person, and links to each.

import { cleanLine, type Need } from '@agent-relay/sdk/internal/page'
import { useEffect } from 'react'
import { Count, Failure } from '../parts/bits.tsx'
import { Faults } from '../parts/faults.tsx'
import { Icon } from '../parts/icons.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { saying } from '../parts/needs.tsx'
import { Ago } from '../parts/time.tsx'
import { useCell } from '../store/cell.ts'
import type { WorkspaceGlance } from '../store/connection.ts'
import { conversationOf } from '../store/conversations.ts'
import { followEverywhere, needsElsewhere, overview } from '../store/everywhere.ts'
import { pathOf } from '../store/own-place.ts'
import { linkTo } from '../store/page-address.ts'
import './everywhere.css'

export default function Everywhere() {
  useEffect(() => followEverywhere(), [])
  // First those in which something waits, then those in use: many workspaces are calm most of the time.
  const all = useCell(overview).toSorted((a, b) => rankOf(a) - rankOf(b))
  return (
    <div className="everywhere">
      <h1 className="title">All workspaces</h1>
      <Faults />
      {all.map((each) => (
        <One key={each.name} workspace={each} />
      ))}
    </div>
  )
}

const rankOf = ({ needs, agents }: WorkspaceGlance): number => (needs > 0 ? 0 : agents.length > 0 ? 1 : 2)

function One({ workspace: { name, atRest, agents, needs: count } }: { workspace: WorkspaceGlance }) {
  const { needs = [], more = 0, why } = useCell(needsElsewhere).get(name) ?? {}
  const unlisted = atRest ? count : more
  const address = `${pathOf(name)}${linkTo('now')}`
  return (
    <section aria-label={name}>
      <div className="bar section-head">
        <h2>
          <a data-item href={address}>
            {name}
          </a>
        </h2>
        <Count value={count} label="need you" />
        <span className="muted small num">
          {atRest ? 'at rest' : `${agents.length} agent${agents.length === 1 ? '' : 's'} here`}
        </span>
      </div>
      <Failure text={why} />
      {count === 0 && <p className="calm-note muted">Nothing waits for you.</p>}
      <ul className="needs">
        {needs.map((need) => (
          <Row key={need.key} workspace={name} need={need} />
        ))}
      </ul>
      {unlisted > 0 && (
        <a data-item className="link" href={address}>
          {unlisted} {atRest ? (unlisted === 1 ? 'thing waits' : 'things wait') : 'more'} for you in {name}
        </a>
      )}
    </section>
  )
}

function Row({ workspace, need }: { workspace: string; need: Need }) {
  const { kind, who, text, since, message, count = 1 } = need
  return (
    <li className={`need need-${kind}`}>
      <a data-item className="bar need-head" href={`${pathOf(workspace)}${addressOf(need)}`}>
        <Icon name={message ? 'talk' : 'alert'} />
        <b>{who}</b>
        <span className="muted need-what clip">
          {saying[kind]}
          {count > 1 && ` (${count})`} · <Ago ts={since} />
        </span>
      </a>
      <bdi className="need-text">{message ? previewOf(message.body) : cleanLine(text)}</bdi>
    </li>
  )
}

/** Links a need to the place where it is answered. An approval leads to the view "Now", which shows approvals in full. */
function addressOf({ kind, who, message }: Need): string {
  if (message) return linkTo('talk', [conversationOf(message), message.id])
  return kind === 'approval' ? linkTo('now') : linkTo('agent', [who, 'terminal'])
}
