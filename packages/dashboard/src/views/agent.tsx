// Agents: the list, and one agent with its inbox, sent messages, contract and terminal; and a form that spawns a worker.

import { type Agent, type InboxMessage, type OutputOf, permissionPhrase } from '@agent-relay/sdk/internal/page'
import { lazy, Suspense, useEffect, useState } from 'react'
import { AgentPick } from '../parts/agent-pick.tsx'
import { ApprovalText, ApprovalTools } from '../parts/approval.tsx'
import { Avatar, Button, CountBadge, EmptyList, FailureText, MessageKindTag, StateBadge } from '../parts/bits.tsx'
import { Icon } from '../parts/icons.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { previewOf } from '../parts/markdown-tree.ts'
import { Receipts } from '../parts/receipts.tsx'
import { WorkerScreen } from '../parts/screen.tsx'
import { SpawnForm } from '../parts/spawn.tsx'
import { Spent } from '../parts/spent.tsx'
import { ElapsedTime, TimeOfDay } from '../parts/time.tsx'
import { WorkDiff } from '../parts/work-diff.tsx'
import { WorkerTools } from '../parts/worker-tools.tsx'
import { approvals } from '../store/approvals.ts'
import { useCell } from '../store/cell.ts'
import { factFields } from '../store/concerns.ts'
import { client, connection } from '../store/connection.ts'
import { conversationOf, conversationTitle, isDirect } from '../store/conversations.ts'
import { useDefaultSelection } from '../store/default-selection.ts'
import { onEvents } from '../store/events.ts'
import {
  agentStateText,
  agentTree,
  fleet,
  isAgentPresent,
  type ListedWorker,
  stateSince,
  withLeads,
} from '../store/fleet.ts'
import { linkTo, usePageAddress } from '../store/page-address.ts'
import { ListRefresher } from '../store/refresh.ts'
import { AgentRuns } from './runs.tsx'
import '../parts/split.css'
import './agent.css'

const TerminalView = lazy(() => import('../parts/terminal.tsx').then(({ TerminalView }) => ({ default: TerminalView })))

const tabs = ['inbox', 'sent', 'contract', 'terminal', 'diff'] as const
type Tab = (typeof tabs)[number]

export default function Agents() {
  const { parts, query } = usePageAddress()
  const { agents, isKnown, workers } = useCell(fleet)
  const { agent: me } = useCell(connection)
  const [name = '', tab = ''] = parts
  const agent = agents.find((each) => each.name === name)
  const isSpawning = query.has('spawn')
  const [isAll, setAll] = useState(false)
  // The chosen agent stays in the list even when it is away.
  const present = withLeads(agents, (each) => isAgentPresent(each) || each.name === name)
  const shown = agentTree(isAll ? agents : agents.filter((each) => present.has(each.name)))
  const away = agents.length - present.size
  const others = shown.map((branch) => branch.agent).filter((each) => each.name !== me)
  const first = others.find((each) => agentStateText(each).needsYou) ?? others.find((each) => each.worker) ?? others[0]
  useDefaultSelection('agent', name !== '' || isSpawning, first?.name)
  return (
    <div className={`split ${name !== '' || isSpawning ? 'is-chosen' : ''}`}>
      <nav className="split-list" aria-label="Agents">
        <div className="bar split-head">
          <h1 className="title">Agents</h1>
          <a className="quiet" href={linkTo('agent', [], { spawn: '1' })}>
            <Icon name="plus" />
            Spawn
          </a>
        </div>
        <ul>
          {shown.map((branch) => (
            <AgentPick key={branch.agent.name} branch={branch} chosen={name} me={me} workers={workers} />
          ))}
        </ul>
        {away > 0 && (
          <Button className="link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? 'Hide those that are away' : `${away} finished or away`}
          </Button>
        )}
      </nav>
      <section className="split-main" aria-label={isSpawning ? 'Spawn a worker' : name || 'No agent'}>
        {isSpawning && <SpawnForm />}
        {!isSpawning && agent && <One agent={agent} worker={workers.get(name)} tab={tabOf(tab, workers.get(name))} />}
        {!isSpawning && !agent && isKnown && <Nobody name={name} isAlone={agents.every((each) => each.name === me)} />}
      </section>
    </div>
  )
}

function Nobody({ name, isAlone }: { name: string; isAlone: boolean }) {
  if (isAlone)
    return (
      <EmptyList title="No agent has come yet" command="agent-relay mcp install">
        This command connects your editors and CLIs. Or start a worker with “Spawn”.
      </EmptyList>
    )
  return <EmptyList title={name === '' ? 'Nobody is here now' : `No agent is named ${name}`} />
}

/** The default tab of a worker is its terminal, with its dialog and its last screen. */
const tabOf = (text: string, worker: ListedWorker | undefined): Tab =>
  tabs.find((each) => each === text) ?? (worker ? 'terminal' : 'inbox')

function One({ agent, worker, tab }: { agent: Agent; worker: ListedWorker | undefined; tab: Tab }) {
  const { agent: me } = useCell(connection)
  return (
    <>
      <header className="bar agent-head">
        <a className="icon-button only-narrow" href={linkTo('agent')} aria-label="All agents">
          ‹
        </a>
        <Avatar name={agent.name} />
        <div className="agent-title">
          <h2 className="title clip">{agent.name}</h2>
          <p className="muted small clip">{factsOf(agent)}</p>
        </div>
        <span className="muted small">
          <Spent spend={agent.spend} />
        </span>
        <StateBadge state={agentStateText(agent, worker)} since={stateSince(agent, worker)} />
        {agent.name !== me && me !== '' && (
          <a className="quiet" href={linkTo('talk', [`@${[me, agent.name].sort().join(',')}`])}>
            <Icon name="talk" />
            Write
          </a>
        )}
      </header>
      <Program agent={agent} worker={worker} />
      <Asked agent={agent.name} />
      <nav className="tabs" aria-label="About this agent">
        {tabs
          .filter((each) => each !== 'diff' || worker?.worktree)
          .map((each) => (
            <a key={each} href={linkTo('agent', [agent.name, each])} aria-current={each === tab ? 'page' : undefined}>
              {each}
              {each === 'inbox' && <CountBadge value={agent.unread} label="unread" isQuiet={agent.name !== me} />}
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

function Tabbed({ agent, worker, tab }: { agent: Agent; worker: ListedWorker | undefined; tab: Tab }) {
  if (tab === 'terminal')
    return worker && worker.status !== 'exited' ? (
      <Suspense fallback={<p className="hello muted">Loading the terminal …</p>}>
        <TerminalView key={worker.id} name={agent.name} />
      </Suspense>
    ) : (
      <Ended agent={agent.name} worker={worker} />
    )
  if (tab === 'diff')
    return worker?.worktree ? <WorkDiff key={worker.id} worker={worker} /> : <EmptyList title="It has no worktree" />
  if (tab === 'contract') return <AgentRuns agent={agent.name} />
  return <Mail key={`${agent.name} ${tab}`} agent={agent.name} box={tab} />
}

/** Shown in place of the terminal of an ended program: why it ended, and its last screen. */
function Ended({ agent, worker }: { agent: string; worker: ListedWorker | undefined }) {
  return (
    <>
      <EmptyList
        title={worker ? 'Its program has ended' : 'No program of the daemon'}
        command={worker && worker.cli !== 'plain' ? `agent-relay spawn ${agent} --cli ${worker.cli}` : undefined}
      >
        {worker ? (worker.reason ?? '') : `${agent} was started by somebody else: the daemon has no terminal of it.`}
      </EmptyList>
      {worker && <WorkerScreen key={worker.id} name={agent} />}
    </>
  )
}

/** The agent's open approvals, above everything else. */
function Asked({ agent }: { agent: string }) {
  const asked = useCell(approvals).filter((each) => each.agent === agent)
  return asked.map((approval) => (
    <section
      key={approval.id}
      className="panel stack need need-approval"
      aria-label={`${agent} ${permissionPhrase(approval).wants}`}
    >
      <p className="need-what">
        {agent} {permissionPhrase(approval).wants} · <ElapsedTime ts={approval.since} />
      </p>
      <ApprovalText approval={approval} />
      <div className="bar need-tools">
        <ApprovalTools approval={approval} />
      </div>
    </section>
  ))
}

/** The agent's program, with the buttons for agent and program. */
function Program({ agent, worker }: { agent: Agent; worker: ListedWorker | undefined }) {
  const [why, setWhy] = useState<string>()
  const { agent: me } = useCell(connection)
  if (agent.name === me || (!worker && agent.status !== 'offline')) return null
  const isOver = worker?.status === 'exited'
  return (
    <div className="bar panel program">
      {worker?.task && (
        <bdi className="program-task clip" title={worker.task}>
          {previewOf(worker.task)}
        </bdi>
      )}
      {worker && (
        <span className="small muted clip num">
          {worker.cli}
          {worker.pid !== undefined && !isOver && ` · pid ${worker.pid}`} · {worker.cwd} · {isOver ? 'ran' : 'for'}{' '}
          <ElapsedTime ts={worker.startedAt} until={isOver ? worker.changedAt : undefined} />
          {worker.worktree && ` · ${worker.worktree.branch}`}
        </span>
      )}
      {/* The spend of this program alone; the agent's total stands above. */}
      <span className="small muted">
        <Spent spend={worker?.spend} />
      </span>
      <WorkerTools agent={agent} worker={worker} onFailure={setWhy} />
      <FailureText text={why} />
    </div>
  )
}

/** The shortest time in ms between two requests for an agent's messages, however many messages arrive. */
const askMs = 300

type MailPage = OutputOf<'agent.mail'>

function Mail({ agent, box }: { agent: string; box: 'inbox' | 'sent' }) {
  const [page, setPage] = useState<MailPage>()
  const [why, setWhy] = useState<string>()
  useEffect(() => {
    const refresh = new ListRefresher(
      () => client.call('agent.mail', { agent, box }).then(setPage, (error) => setWhy(error.message)),
      { minMs: askMs },
    )
    refresh.hint()
    return onEvents((events) => {
      const isAbout = events.some(
        ({ fact, message }) =>
          factFields({ fact }).agent === agent || message?.from === agent || message?.to === agent || message?.channel,
      )
      if (isAbout) refresh.hint()
    })
  }, [agent, box])
  if (why) return <FailureText text={why} />
  if (!page) return null
  if (page.messages.length === 0)
    return (
      <EmptyList title={box === 'inbox' ? 'Nothing waits' : 'Nothing sent lately'}>
        {box === 'inbox' ? `${agent} has read everything.` : undefined}
      </EmptyList>
    )
  return (
    <ul className="panel mail">
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
    <li className="stack letter">
      <div className="letter-head">
        {!isSent && <b className="clip">{message.from}</b>}
        {isSent && <b className="clip">to {toText(message)}</b>}
        {!isSent && !isDirect(place) && <span className="muted small clip">{conversationTitle(place, me)}</span>}
        <MessageKindTag kind={message.kind} />
        <Button
          className={`link muted fate ${message.receipt}`}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {message.receipt}
          {message.route && ` (${message.route})`}
        </Button>
        <a className="muted small" href={linkTo('talk', [place, message.id])} title="In its conversation">
          <TimeOfDay ts={message.ts} />
        </a>
      </div>
      <Markdown text={message.body} />
      {isOpen && <Receipts id={message.id} />}
    </li>
  )
}
