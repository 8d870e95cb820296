// The frame around every view: where one is, what needs the person, how the line to the daemon is, and the two overlays.

import { lazy, Suspense } from 'react'
import { isHelpOpen, isSearchOpen, places } from './keys.ts'
import { Count, Empty, IconButton } from './parts/bits.tsx'
import { Help } from './parts/help.tsx'
import { Icon } from './parts/icons.tsx'
import { Line } from './parts/line.tsx'
import { Search } from './parts/search.tsx'
import { linkTo, type Route, useRoute, type View } from './route.ts'
import { useCell } from './store/cell.ts'
import { connection, logOut } from './store/connection.ts'
import { conversations } from './store/conversations.ts'
import { needs } from './store/needs.ts'
import { isDark, nextTheme } from './theme.ts'
import { Login } from './views/login.tsx'
import { Now } from './views/now.tsx'
import { Talk } from './views/talk.tsx'

const Agents = lazy(() => import('./views/agent.tsx').then(({ Agents }) => ({ default: Agents })))
const Runs = lazy(() => import('./views/runs.tsx').then(({ Runs }) => ({ default: Runs })))
const Actions = lazy(() => import('./views/actions.tsx').then(({ Actions }) => ({ default: Actions })))
const Recorder = lazy(() => import('./views/recorder.tsx').then(({ Recorder }) => ({ default: Recorder })))

export function App() {
  const { phase } = useCell(connection)
  const { workspace } = useCell(connection)
  if (phase === 'locked') return <Login />
  if (workspace === '')
    return (
      <p className="hello muted">
        {phase === 'away' ? 'The daemon does not answer. Start it with: agent-relay up' : 'Connecting …'}
      </p>
    )
  return <Frame />
}

function Frame() {
  const { view } = useRoute()
  const help = useCell(isHelpOpen)
  const search = useCell(isSearchOpen)
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Rail view={view} />
      <main id="main" tabIndex={-1} className={`view view-${view}`}>
        <Suspense fallback={<p className="hello muted">Loading …</p>}>
          <Shown view={view} />
        </Suspense>
      </main>
      {help && <Help />}
      {search && <Search />}
    </div>
  )
}

function Shown({ view }: { view: Route['view'] }) {
  switch (view) {
    case 'now':
      return <Now />
    case 'talk':
      return <Talk />
    case 'agent':
      return <Agents />
    case 'runs':
      return <Runs />
    case 'actions':
      return <Actions />
    case 'recorder':
      return <Recorder />
    case 'nowhere':
      return (
        <Empty title="There is nothing at this address">
          The views are in the menu; begin with <a href={linkTo('now')}>Now</a>.
        </Empty>
      )
  }
}

function Rail({ view }: { view: Route['view'] }) {
  const { workspace, isOpen } = useCell(connection)
  const dark = useCell(isDark)
  const waiting = useCell(needs).length
  const unread = (useCell(conversations) ?? []).reduce((sum, each) => sum + each.unread, 0)
  const counts: Partial<Record<View, number>> = { now: waiting, talk: unread }
  return (
    <header className="rail">
      <div className="brand">
        <span className="brand-name clip" title={workspace}>
          {workspace}
        </span>
        <span className="muted brand-sub">Agent Relay</span>
      </div>
      <nav aria-label="Views">
        {Object.entries(places).map(([key, { view: each, name }]) => (
          <a key={each} href={linkTo(each)} className="nav" aria-current={each === view ? 'page' : undefined}>
            <Icon name={each} />
            <span className="nav-name">{name}</span>
            <Count value={counts[each] ?? 0} label={each === 'now' ? 'need you' : 'unread'} />
            <kbd>g {key}</kbd>
          </a>
        ))}
      </nav>
      <div className="rail-end">
        <Line />
        <div className="rail-tools">
          <IconButton icon="search" label="Search ( / )" onClick={() => isSearchOpen.set(true)} />
          <IconButton icon={dark ? 'sun' : 'moon'} label={dark ? 'Light' : 'Dark'} onClick={nextTheme} />
          <button
            type="button"
            className="icon-button"
            aria-label="Keys ( ? )"
            title="Keys ( ? )"
            onClick={() => isHelpOpen.set(true)}
          >
            ?
          </button>
          {!isOpen && (
            <button type="button" className="link muted log-out" onClick={() => void logOut()}>
              log out
            </button>
          )}
        </div>
      </div>
    </header>
  )
}
