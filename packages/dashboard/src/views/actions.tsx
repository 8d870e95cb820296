// The view "Actions": the actions (typed functions) that programs offer, a form for each, made from its schema, the result of a call, and the latest calls.

import {
  type ActionEnvelope,
  type ActionInfo,
  clean,
  cleanLine,
  daemonName,
  sizeText,
} from '@agent-relay/sdk/internal/page'
import { type FormEvent, useEffect, useState } from 'react'
import { useAsyncAction } from '../parts/async-action.ts'
import { Button, EmptyList, FailureText, StateBadge } from '../parts/bits.tsx'
import { Json } from '../parts/json.tsx'
import { type Draft, draftOf, readDraft, SchemaForm } from '../parts/schema-form.tsx'
import { TimeOfDay } from '../parts/time.tsx'
import { type ActionCall, actions, followActions, latestActionCalls } from '../store/actions.ts'
import { useCell } from '../store/cell.ts'
import { client } from '../store/connection.ts'
import { useDefaultSelection } from '../store/default-selection.ts'
import type { StateText } from '../store/fleet.ts'
import { linkTo, usePageAddress } from '../store/page-address.ts'
import '../parts/form.css'
import '../parts/split.css'
import './actions.css'

export default function Actions() {
  useEffect(() => followActions(), [])
  const { parts } = usePageAddress()
  const list = useCell(actions)
  const [name = ''] = parts
  const action = list?.find((each) => each.name === name)
  const called = useCell(latestActionCalls).find((call) => list?.some((each) => each.name === call.action))
  // By default the view opens on an action of a program: it says more about this workspace than the daemon's own actions.
  const first = list?.find(({ provider }) => provider !== daemonName) ?? list?.[0]
  useDefaultSelection('actions', name !== '', called?.action ?? first?.name)
  return (
    <div className={`split ${name === '' ? '' : 'is-chosen'}`}>
      <nav className="split-list" aria-label="Actions">
        <div className="bar split-head">
          <h1 className="title">Actions</h1>
        </div>
        {list?.length === 0 && <p className="muted split-none">No action is offered</p>}
        <ul>
          {list?.map((each) => (
            <li key={each.name}>
              <a
                data-item
                className="list-row pick"
                href={linkTo('actions', [each.name])}
                aria-current={each.name === name ? 'true' : undefined}
              >
                <span className="pick-main">
                  <b className="clip mono">{each.name}</b>
                  <span className="muted small clip">{cleanLine(each.description)}</span>
                </span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section className="split-main" aria-label={name || undefined}>
        {action && <Call key={action.name} action={action} />}
        {!action && name !== '' && list && <EmptyList title={`${name} is not offered any more`} />}
        {name === '' && list?.length === 0 && (
          <EmptyList title="No action is offered" command="agent-relay demo">
            A program offers one with relay.actions.register of @agent-relay/sdk. This command shows one that does.
          </EmptyList>
        )}
        <Calls key={`calls of ${name}`} name={name} />
      </section>
    </div>
  )
}

function Call({ action }: { action: ActionInfo }) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(action.inputSchema))
  const [result, setResult] = useState<ActionEnvelope>()
  const { why, isBusy, attempt } = useAsyncAction()
  const invoke = (event: FormEvent): void => {
    event.preventDefault()
    void attempt(async () => {
      const input = readDraft(action.inputSchema, draft)
      setResult(await client.call('action.invoke', { name: action.name, input }))
    })
  }
  return (
    <form className="form" onSubmit={invoke}>
      <div className="bar form-head">
        <a className="icon-button only-narrow" href={linkTo('actions')} aria-label="All actions">
          ‹
        </a>
        <h2 className="title mono clip">{action.name}</h2>
      </div>
      <p className="muted">{clean(action.description)}</p>
      <p className="muted small">
        offered by {action.provider}, as the tool <code>{action.tool}</code>, answers within {action.timeoutMs / 1000} s
      </p>
      <SchemaForm schema={action.inputSchema} draft={draft} onChange={setDraft} />
      <FailureText text={why} />
      <div className="form-end">
        <button type="submit" className="main-button" disabled={isBusy}>
          {isBusy ? 'Calling …' : 'Call'}
        </button>
      </div>
      {result && (
        <div className={`result-box ${result.ok ? 'good' : 'bad'}`} role="status">
          <p>
            <b>{result.ok ? 'Done' : result.error.code}</b> <code className="muted small">{result.invocationId}</code>
          </p>
          {result.ok ? <Json value={result.output} /> : <p>{result.error.message}</p>}
        </div>
      )}
    </form>
  )
}

function Calls({ name: chosen }: { name: string }) {
  const [isAll, setAll] = useState(false)
  const name = isAll ? '' : chosen
  const list = useCell(latestActionCalls).filter(({ action }) => name === '' || action === name)
  return (
    <section className="audit" aria-labelledby="audit">
      <div className="bar section-head">
        <h2 id="audit">Calls</h2>
        {chosen !== '' && (
          <Button className="link" aria-pressed={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? `Only of ${chosen}` : 'Of all actions'}
          </Button>
        )}
      </div>
      {list.length === 0 ? (
        <p className="muted">{name === '' ? 'No action was called lately.' : 'Nobody has called it lately.'}</p>
      ) : (
        <table className="table calls">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {name === '' && <th scope="col">Action</th>}
              <th scope="col">Called by</th>
              <th scope="col">Outcome</th>
              <th scope="col" className="right">
                Took
              </th>
              <th scope="col" className="right wide-only">
                In / out
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((call) => (
              <CallRow key={call.id} call={call} isNamed={name === ''} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function CallRow({ call: { seq, ts, action, caller, inputBytes, outcome }, isNamed }: CallRowProps) {
  return (
    <tr>
      <td className="num">
        <a href={linkTo('recorder', [seq])}>
          <TimeOfDay ts={ts} isExact />
        </a>
      </td>
      {isNamed && <td className="mono">{action}</td>}
      <td>{caller}</td>
      <td>
        <StateBadge state={stateOfCall(outcome)} />
      </td>
      <td className="num right">{outcome ? `${outcome.durationMs.toLocaleString()} ms` : '–'}</td>
      <td className="num right muted wide-only">
        {sizeText(inputBytes)} / {outcome ? sizeText(outcome.outputBytes) : '–'}
      </td>
    </tr>
  )
}

interface CallRowProps {
  call: ActionCall
  isNamed: boolean
}

function stateOfCall(outcome: ActionCall['outcome']): StateText {
  if (!outcome) return { tone: 'busy', text: 'under way', needsYou: false }
  if (outcome.isOk) return { tone: 'good', text: 'done', needsYou: false }
  return { tone: 'bad', text: `${outcome.code}: ${outcome.message}`, needsYou: false }
}
