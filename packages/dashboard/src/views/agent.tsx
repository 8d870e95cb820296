// Agents: one of them with its inbox, what it sent, its contract and its terminal; and a form that spawns a worker.

import type { Agent, InboxMessage, OutputOf, Worker } from '@agent-relay/sdk/browser'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Count, Empty, Face, Failure, Kind, LongText, State } from '../parts/bits.tsx'
import { Icon } from '../parts/icons.tsx'
import { Receipts } from '../parts/receipts.tsx'
import { Spawn } from '../parts/spawn.tsx'
import { Clock, Since } from '../parts/time.tsx'
import { linkTo, useRoute } from '../route.ts'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { conversationOf, isDirect, titleOf } from '../store/conversations.ts'
import { onEvents } from '../store/events.ts'
import { fleet, hintFleet, stateOf, treeOf } from '../store/fleet.ts'
import { Refresh } from '../store/refresh.ts'
import { AgentRuns } from './runs.tsx'

const TerminalView = lazy(() => import('./terminal.tsx').then(({ TerminalView }) => ({ default: TerminalView })))

const tabs = ['inbox', 'sent', 'contract', 'terminal'] as const
type Tab = (typeof tabs)[number]

export function Agents() {
  const { parts, query } = useRoute()
  const { agents, isKnown, workers } = useCell(fleet)
  const { agent: me } = useCell(connection)
  const [name = '', tab = ''] = parts
  const agent = agents.find((each) => each.name === name)
  const isSpawning = query.has('spawn')
  return (
    <div className={`split ${name !== '' || isSpawning ? 'is-chosen' : ''}`}>
      <nav className="split-list" aria-label="Agents">
        <div className="split-head">
          <h1 className="title">Agents</h1>
          <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
            <Icon name="plus" />
            Spawn
          </a>
        </div>
        <ul>
          {treeOf(agents).map(({ agent: each, depth }) => (
            <li key={each.name}>
              <a
                data-item
                className={`pick depth-${Math.min(depth, 3)}`}
                href={linkTo('agent', [each.name])}
                aria-current={each.name === name ? 'true' : undefined}
              >
                <Face name={each.name} />
                <span className="pick-main">
                  <b className="clip">{each.name}</b>
                  <State state={stateOf(each)} />
                </span>
                <Count value={each.unread} label="unread" isQuiet={each.name !== me} />
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section className="split-main" aria-label={isSpawning ? 'Spawn a worker' : name || 'No agent'}>
        {isSpawning && <Spawn />}
        {!isSpawning && agent && <One agent={agent} worker={workers.get(name)} tab={tabOf(tab)} />}
        {!isSpawning && !agent && isKnown && (
          <Empty
            title={name === '' ? 'Choose an agent' : `No agent is named ${name}`}
            command={agents.length <= 1 ? 'npx agent-relay mcp install' : undefined}
          />
        )}
      </section>
    </div>
  )
}

const tabOf = (text: string): Tab => ((tabs as readonly string[]).includes(text) ? (text as Tab) : 'inbox')

function One({ agent, worker, tab }: { agent: Agent; worker: Worker | undefined; tab: Tab }) {
  const { agent: me } = useCell(connection)
  const state = stateOf(agent)
  return (
    <>
      <header className="agent-head">
        <a className="icon-button only-narrow" href={linkTo('agent')} aria-label="All agents">
          ‹
        </a>
        <Face name={agent.name} />
        <div className="agent-title">
          <h2 className="title clip">{agent.name}</h2>
          <p className="muted small clip">{factsOf(agent)}</p>
        </div>
        <State state={state} since={agent.waitingFor?.since} />
        {agent.name !== me && me !== '' && (
          <a className="quiet" href={linkTo('talk', [`@${[me, agent.name].sort().join(',')}`])}>
            <Icon name="talk" />
            Write
          </a>
        )}
      </header>
      {worker && <Program worker={worker} />}
      <nav className="tabs" aria-label="About this agent">
        {tabs.map((each) => (
          <a key={each} href={linkTo('agent', [agent.name, each])} aria-current={each === tab ? 'page' : undefined}>
            {each}
            {each === 'inbox' && <Count value={agent.unread} label="unread" isQuiet={agent.name !== me} />}
          </a>
        ))}
      </nav>
      <Tabbed agent={agent} worker={worker} tab={tab} />
    </>
  )
}

function factsOf({ type, cli, model, parent, role, handle }: Agent): string {
  const facts = [type === 'human' ? 'a person' : (cli ?? 'agent'), model, role, parent && `worker of ${parent}`, handle]
  return facts.filter(Boolean).join(' · ')
}

function Tabbed({ agent, worker, tab }: { agent: Agent; worker: Worker | undefined; tab: Tab }) {
  if (tab === 'terminal')
    return worker && worker.status !== 'exited' ? (
      <Suspense fallback={<p className="hello muted">Loading the terminal …</p>}>
        <TerminalView key={worker.id} name={agent.name} />
      </Suspense>
    ) : (
      <Empty
        title={worker ? 'Its program has ended' : 'No program of the daemon'}
        command={`agent-relay spawn ${worker ? agent.name : 'NAME'} ${worker?.cli === 'plain' ? '--command LINE' : `--cli ${worker?.cli ?? 'claude'}`}`}
      >
        {worker
          ? (worker.reason ?? '')
          : `${agent.name} was started by somebody else: the daemon has no terminal of it.`}
      </Empty>
    )
  if (tab === 'contract') return <AgentRuns agent={agent.name} />
  return <Mail key={`${agent.name} ${tab}`} agent={agent.name} box={tab} />
}

/** What the daemon runs for it, and what can be done with that. */
function Program({ worker }: { worker: Worker }) {
  const [why, setWhy] = useState<string>()
  const [isSure, setSure] = useState(false)
  const ask = (op: 'worker.pause' | 'worker.resume' | 'worker.release'): void => {
    setWhy(undefined)
    setSure(false)
    client.call(op, { name: worker.name }).then(hintFleet, (error) => setWhy(error.message))
  }
  const isOver = worker.status === 'exited'
  return (
    <div className="program">
      <span className="small muted clip num">
        {worker.cli}
        {worker.pid !== undefined && !isOver && ` · pid ${worker.pid}`} · {worker.cwd} · {isOver ? 'ran' : 'for'}{' '}
        <Since ts={worker.startedAt} until={isOver ? worker.changedAt : undefined} />
      </span>
      {!isOver && (
        <span className="program-tools">
          {worker.status === 'paused' ? (
            <button type="button" className="quiet" onClick={() => ask('worker.resume')}>
              Resume
            </button>
          ) : (
            <button type="button" className="quiet" onClick={() => ask('worker.pause')}>
              Pause
            </button>
          )}
          <button
            type="button"
            className="quiet danger"
            onClick={() => (isSure ? ask('worker.release') : setSure(true))}
          >
            {isSure ? 'Really release?' : 'Release'}
          </button>
        </span>
      )}
      <Failure text={why} />
    </div>
  )
}

/** Not with every message of a rush. */
const askMs = 300

type MailPage = OutputOf<'agent.mail'>

function Mail({ agent, box }: { agent: string; box: 'inbox' | 'sent' }) {
  const [page, setPage] = useState<MailPage>()
  const [why, setWhy] = useState<string>()
  useEffect(() => {
    const refresh = new Refresh(
      () => client.call('agent.mail', { agent, box }).then(setPage, (error) => setWhy(error.message)),
      { minMs: askMs },
    )
    refresh.hint()
    return onEvents((events) => {
      const isAbout = events.some(
        ({ fact, message }) =>
          fact.agent === agent || message?.from === agent || message?.to === agent || message?.channel,
      )
      if (isAbout) refresh.hint()
    })
  }, [agent, box])
  if (why) return <Failure text={why} />
  if (!page) return null
  if (page.messages.length === 0)
    return (
      <Empty title={box === 'inbox' ? 'Nothing waits' : 'Nothing sent lately'}>
        {box === 'inbox' ? `${agent} has read everything.` : undefined}
      </Empty>
    )
  return (
    <ul className="mail">
      {page.messages.map((message) => (
        <Letter key={message.id} message={message} isSent={box === 'sent'} />
      ))}
      {page.more > 0 && <li className="muted small">{page.more} more</li>}
    </ul>
  )
}

function toText({ to, channel }: InboxMessage): string {
  if (channel !== undefined) return channel
  return to === '*' ? 'everyone' : [to].flat().join(', ')
}

function Letter({ message, isSent }: { message: InboxMessage; isSent: boolean }) {
  const { agent: me } = useCell(connection)
  const [isOpen, setOpen] = useState(false)
  const place = conversationOf(message)
  return (
    <li className="letter">
      <div className="letter-head">
        {!isSent && <b className="clip">{message.from}</b>}
        {isSent && <b className="clip">to {toText(message)}</b>}
        {!isSent && !isDirect(place) && <span className="muted small clip">{titleOf(place, me)}</span>}
        <Kind kind={message.kind} />
        <button
          type="button"
          className={`fate ${message.receipt}`}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {message.receipt}
          {message.route && ` (${message.route})`}
        </button>
        <a className="muted small" href={linkTo('talk', [place, message.id])} title="In its conversation">
          <Clock ts={message.ts} />
        </a>
      </div>
      <LongText text={message.body} />
      {isOpen && <Receipts id={message.id} />}
    </li>
  )
}
