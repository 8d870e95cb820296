// The view "Runs": contracts given to agents, with status and results, and a form that starts a run.

import { clean, type Run } from '@agent-relay/sdk/internal/page'
import { useEffect } from 'react'
import { useAsyncAction, useAsyncResult } from '../parts/async-action.ts'
import { Button, EmptyList, FailureText, StateBadge } from '../parts/bits.tsx'
import { Icon } from '../parts/icons.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { RunPayload } from '../parts/payload.tsx'
import { Spent } from '../parts/spent.tsx'
import { StartRunForm } from '../parts/start-run.tsx'
import { ElapsedTime, TimeOfDay } from '../parts/time.tsx'
import { useCell } from '../store/cell.ts'
import { client } from '../store/connection.ts'
import { useDefaultSelection } from '../store/default-selection.ts'
import type { StateText } from '../store/fleet.ts'
import { linkTo, usePageAddress } from '../store/page-address.ts'
import { followRuns, retryRun, runs, type TitledRun } from '../store/runs.ts'
import '../parts/split.css'
import './runs.css'

const tones: Record<Run['status'], StateText['tone']> = {
  ready: 'calm',
  running: 'busy',
  completed: 'good',
  stopped: 'off',
}

function stateOfRun({ status, stopReason, blocked }: Run): StateText {
  if (blocked !== undefined) return { tone: 'bad', text: `blocked: ${blocked}`, needsYou: true }
  return { tone: tones[status], text: stopReason ? `${status}: ${stopReason}` : status, needsYou: false }
}

const endOf = ({ completedAt, stoppedAt }: Run): string | undefined => completedAt ?? stoppedAt

export default function Runs() {
  useEffect(() => followRuns(), [])
  const { parts, query } = usePageAddress()
  const list = useCell(runs)
  const [id = ''] = parts
  const run = list?.find((each) => each.id === id)
  const isStarting = query.has('start')
  const first = list?.find(({ blocked }) => blocked) ?? list?.find(({ status }) => status === 'running') ?? list?.[0]
  useDefaultSelection('runs', id !== '' || isStarting, first?.id)
  return (
    <div className={`split ${id !== '' || isStarting ? 'is-chosen' : ''}`}>
      <nav className="split-list" aria-label="Runs">
        <div className="bar split-head">
          <h1 className="title">Runs</h1>
          <a className="quiet" href={linkTo('runs', [], { start: '1' })}>
            <Icon name="plus" />
            Start
          </a>
        </div>
        {list?.length === 0 && <p className="muted split-none">No run yet</p>}
        <ul>
          {list?.map((each) => (
            <li key={each.id}>
              <a
                data-item
                className="list-row pick"
                href={linkTo('runs', [each.id])}
                aria-current={each.id === id ? 'true' : undefined}
              >
                <span className="pick-main">
                  <b className="clip" title={each.title}>
                    {previewOf(each.title)}
                  </b>
                  <span className="muted small clip">{each.agent}</span>
                  <StateBadge state={stateOfRun(each)} />
                  {each.summary && <bdi className="muted small clip">{previewOf(each.summary)}</bdi>}
                </span>
                <span className="muted small pick-end">
                  <ElapsedTime ts={each.startedAt} until={endOf(each)} />
                  <Spent spend={each.spend} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section className="split-main" aria-label={isStarting ? 'Start a run' : id || 'No run'}>
        {isStarting && <StartRunForm />}
        {!isStarting && run && <One key={run.id} run={run} />}
        {!isStarting && !run && list && id !== '' && <EmptyList title={`No run ${id} is known`} />}
        {!isStarting && list?.length === 0 && (
          <EmptyList title="No run yet" command='agent-relay runs start --contract "Count the open TODOs"'>
            A run is a contract that an agent carries out, with one summary at the end.
          </EmptyList>
        )}
      </section>
    </div>
  )
}

function Head({ run, attempt }: { run: TitledRun; attempt: ReturnType<typeof useAsyncAction>['attempt'] }) {
  const stop = () => attempt(() => client.call('run.stop', { run: run.id, reason: 'stopped on the page' }))
  const retry = () => attempt(() => retryRun(run.id))
  return (
    <header className="bar agent-head">
      <a className="icon-button only-narrow" href={linkTo('runs')} aria-label="All runs">
        ‹
      </a>
      <div className="agent-title">
        <h2 className="title clip">{previewOf(run.title)}</h2>
        <p className="muted small clip">
          {run.agent} · <span className="mono">{run.id}</span>
        </p>
      </div>
      <StateBadge state={{ ...stateOfRun(run), text: run.status }} />
      {run.status === 'running' && (
        <Button className="quiet danger" onClick={stop}>
          Stop
        </Button>
      )}
      {endOf(run) !== undefined && (
        <>
          <Button title="Starts at once: the same contract, as it was given, for the agent that asked" onClick={retry}>
            Retry
          </Button>
          <a
            className="quiet"
            title="Opens the form with this contract, to change it first; the new run is yours"
            href={linkTo('runs', [], { start: '1', again: run.id })}
          >
            Change and start …
          </a>
        </>
      )}
    </header>
  )
}

function One({ run }: { run: TitledRun }) {
  const { why, attempt } = useAsyncAction()
  return (
    <>
      <Head run={run} attempt={attempt} />
      <FailureText text={why} />
      {run.stopReason && <p className="note">{run.stopReason}</p>}
      <dl className="facts">
        <dt>Asked by</dt>
        <dd>
          <a href={linkTo('agent', [run.parent])}>{run.parent}</a>
        </dd>
        <dt>Carried out by</dt>
        <dd>
          <a href={linkTo('agent', [run.agent])}>{run.agent}</a>, {run.harness}
          {run.model && `, ${run.model}`}
        </dd>
        <dt>Began</dt>
        <dd>
          <TimeOfDay ts={run.startedAt} isExact />, {run.status === 'running' ? 'for' : 'took'}{' '}
          <ElapsedTime ts={run.startedAt} until={endOf(run)} />
        </dd>
        {run.spend && (
          <>
            <dt>Used</dt>
            <dd>
              <Spent spend={run.spend} />
            </dd>
          </>
        )}
        {run.again && (
          <>
            <dt>Again after</dt>
            <dd>
              <a className="mono" href={linkTo('runs', [run.again])}>
                {run.again}
              </a>
            </dd>
          </>
        )}
      </dl>
      <Contract run={run.id} />
      {run.preview && (
        <section>
          <h3>Output so far</h3>
          <div className="pre text mono">{clean(run.preview)}</div>
        </section>
      )}
      {run.summary !== undefined && (
        <section>
          <h3>Summary</h3>
          <Markdown text={run.summary} />
        </section>
      )}
      {run.payloadSize !== undefined && <RunPayload run={run.id} bytes={run.payloadSize} />}
    </>
  )
}

function Contract({ run }: { run: string }) {
  const { answer, why } = useAsyncResult(() => client.call('run.contract', { run }), [run])
  return (
    <section>
      <h3>Contract</h3>
      <FailureText text={why} />
      {answer && <Markdown className="pre" text={answer.contract} />}
    </section>
  )
}

/** Shows the agent's current run, or its latest run if none is running. */
export function AgentRuns({ agent }: { agent: string }) {
  useEffect(() => followRuns(), [])
  const list = useCell(runs)?.filter((run) => run.agent === agent)
  const current = list?.find(({ status }) => status === 'running') ?? list?.[0]
  if (!list) return null
  if (!current)
    return (
      <EmptyList
        title={`${agent} has no contract`}
        command={`agent-relay runs start --cli external --agent ${agent} --contract "Count the open TODOs"`}
      >
        A run gives it one. Or <a href={linkTo('runs', [], { start: '1', agent })}>write it here</a>.
      </EmptyList>
    )
  return <One key={current.id} run={current} />
}
