// Everywhere: what waits for the person in all workspaces, each with the way into it.

import { cleanLine, wishOf } from '@agent-relay/sdk/internal/page'
import { useEffect } from 'react'
import { Count, Failure } from '../parts/bits.tsx'
import { Faults } from '../parts/faults.tsx'
import { Icon } from '../parts/icons.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { Ago } from '../parts/time.tsx'
import { useCell } from '../store/cell.ts'
import { conversationOf } from '../store/conversations.ts'
import { everywhere, followEverywhere, type OtherWorkspace } from '../store/everywhere.ts'
import { pathOf } from '../store/own-place.ts'
import { linkTo } from '../store/page-address.ts'

export function Everywhere() {
  useEffect(() => followEverywhere(), [])
  const all = useCell(everywhere)
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

function One({ workspace: { name, present, approvals, blocked, owed, why } }: { workspace: OtherWorkspace }) {
  const count = approvals.length + blocked.length + owed.length
  const isCalm = present !== undefined && count === 0
  return (
    <section aria-label={name}>
      <div className="section-head">
        <h2>
          <a data-item href={`${pathOf(name)}${linkTo('now')}`}>
            {name}
          </a>
        </h2>
        <Count value={count} label="need you" />
        {present !== undefined && (
          <span className="muted small num">
            {present} agent{present === 1 ? '' : 's'} here
          </span>
        )}
      </div>
      <Failure text={why} />
      {isCalm && <p className="calm-note muted">Nothing waits for you.</p>}
      <ul className="needs">
        {approvals.map((approval) => (
          <Asked key={approval.id} workspace={name} approval={approval} />
        ))}
        {blocked.map(({ id, name: who, reason, changedAt }) => (
          <li key={id} className="need need-blocked">
            <a data-item className="need-head" href={`${pathOf(name)}${linkTo('agent', [who, 'terminal'])}`}>
              <Icon name="alert" />
              <b>{who}</b>
              <span className="muted need-what clip">
                is blocked · <Ago ts={changedAt} />
              </span>
            </a>
            <p className="need-text">{reason ?? 'a dialog is open'}</p>
          </li>
        ))}
        {owed.map((message) => (
          <li key={message.id} className="need need-question">
            <a
              data-item
              className="need-head"
              href={`${pathOf(name)}${linkTo('talk', [conversationOf(message), message.id])}`}
            >
              <Icon name="talk" />
              <b>{message.from}</b>
              <span className="muted need-what clip">
                asks · <Ago ts={message.ts} />
              </span>
            </a>
            <bdi className="need-text">{previewOf(message.body)}</bdi>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Answered where it is shown as a whole. */
function Asked({ workspace, approval }: { workspace: string; approval: OtherWorkspace['approvals'][number] }) {
  const { agent, tool, input, since } = approval
  return (
    <li className="need need-approval">
      <a data-item className="need-head" href={`${pathOf(workspace)}${linkTo('now')}`}>
        <Icon name="alert" />
        <b>{agent}</b>
        <span className="muted need-what clip">
          {wishOf({ tool, input }).wants} · <Ago ts={since} />
        </span>
      </a>
      <p className="need-text mono clip">{cleanLine(input)}</p>
    </li>
  )
}
