// The frame around every view: the menu, what needs the person, the state of the connection, and the overlays.

import { lazy, Suspense } from 'react'
import { Count, Empty, IconButton } from './parts/bits.tsx'
import { Boundary } from './parts/boundary.tsx'
import { Help } from './parts/help.tsx'
import { Icon } from './parts/icons.tsx'
import { Line } from './parts/line.tsx'
import { Palette } from './parts/palette.tsx'
import { Search } from './parts/search.tsx'
import { useCell } from './store/cell.ts'
import { connection, findWorkspaces, logOut } from './store/connection.ts'
import { conversations } from './store/conversations.ts'
import { isHelpOpen, isPaletteOpen, isSearchOpen, places } from './store/keys.ts'
import { needs } from './store/needs.ts'
import { pathOf } from './store/own-place.ts'
import { go, linkTo, type PageAddress, usePageAddress, type ViewName } from './store/page-address.ts'
import { isDark, nextTheme } from './store/theme.ts'
import { Login } from './views/login.tsx'
import { Now } from './views/now.tsx'
import { Talk } from './views/talk.tsx'

const Agents = lazy(() => import('./views/agent.tsx').then(({ Agents }) => ({ default: Agents })))
const Runs = lazy(() => import('./views/runs.tsx').then(({ Runs }) => ({ default: Runs })))
const Actions = lazy(() => import('./views/actions.tsx').then(({ Actions }) => ({ default: Actions })))
const Everywhere = lazy(() => import('./views/everywhere.tsx').then(({ Everywhere }) => ({ default: Everywhere })))
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
  const { view } = usePageAddress()
  const help = useCell(isHelpOpen)
  const search = useCell(isSearchOpen)
  const palette = useCell(isPaletteOpen)
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Rail view={view} />
      <main id="main" tabIndex={-1} className={`view view-${view}`}>
        <Boundary key={view} name="This view">
          <Suspense fallback={<p className="hello muted">Loading …</p>}>
            <Shown view={view} />
          </Suspense>
        </Boundary>
      </main>
      <Boundary key={`${help} ${search} ${palette}`} name="This window">
        {help && <Help />}
        {search && <Search />}
        {palette && <Palette />}
      </Boundary>
    </div>
  )
}

function Shown({ view }: { view: PageAddress['view'] }) {
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
    case 'everywhere':
      return <Everywhere />
    case 'nowhere':
      return (
        <Empty title="There is nothing at this address">
          The views are in the menu; begin with <a href={linkTo('now')}>Now</a>.
        </Empty>
      )
  }
}

/** Each workspace has its own address: choosing one goes there. */
function Workspaces() {
  const { workspace, workspaces } = useCell(connection)
  const { view } = usePageAddress()
  if (workspaces.length < 2)
    return (
      <span className="brand-name clip" title={workspace}>
        {workspace}
      </span>
    )
  return (
    <select
      className="brand-name"
      aria-label="Workspace"
      value={view === 'everywhere' ? '' : workspace}
      onFocus={() => void findWorkspaces()}
      onChange={({ target }) => (target.value === '' ? go('everywhere') : location.assign(pathOf(target.value)))}
    >
      {[...new Set([workspace, ...workspaces])].sort().map((name) => (
        <option key={name}>{name}</option>
      ))}
      <option value="">All workspaces</option>
    </select>
  )
}

function Rail({ view }: { view: PageAddress['view'] }) {
  const { isOpen } = useCell(connection)
  const dark = useCell(isDark)
  const waiting = useCell(needs).length
  const unread = (useCell(conversations) ?? []).reduce((sum, each) => sum + each.unread, 0)
  const counts: Partial<Record<ViewName, number>> = { now: waiting, talk: unread }
  return (
    <header className="rail">
      <div className="brand">
        <Workspaces />
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
          <IconButton icon="palette" label="Go or do ( Ctrl K )" onClick={() => isPaletteOpen.set(true)} />
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
