// The frame around every view: menu, state of the connection, and overlays.

import { type ComponentType, lazy, Suspense } from 'react'
import { Login } from './login.tsx'
import { Button, CountBadge, EmptyList, IconButton } from './parts/bits.tsx'
import { ConnectionStatus } from './parts/connection-status.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { Help } from './parts/help.tsx'
import { Icon } from './parts/icons.tsx'
import { Palette } from './parts/palette.tsx'
import { Search } from './parts/search.tsx'
import { useCell } from './store/cell.ts'
import { connection, logOut, reloadLoginData, withCommandsAsTyped } from './store/connection.ts'
import { isHelpOpen, isPaletteOpen, isSearchOpen } from './store/keys.ts'
import { goToView, linkTo, type PageAddress, usePageAddress } from './store/page-address.ts'
import { isDark, nextTheme } from './store/theme.ts'
import { menu } from './store/views.ts'
import { workspacePath } from './store/workspace-storage.ts'
import Now from './views/now.tsx'
import Talk from './views/talk.tsx'
import './app.css'

/** The views "Now" and "Talk" are part of the first download; the code of every other view is fetched when that view is first opened. */
const shown = new Map<string, ComponentType>(Object.entries({ now: Now, talk: Talk }))
const others = import.meta.glob<{ default: ComponentType }>(['./views/*.tsx', '!./views/{now,talk}.tsx'])
for (const [path, load] of Object.entries(others)) shown.set(path.slice('./views/'.length, -'.tsx'.length), lazy(load))

export function App() {
  const { phase } = useCell(connection)
  const { workspace } = useCell(connection)
  if (phase === 'locked') return <Login />
  if (workspace === '')
    return (
      <p className="hello muted">
        {phase === 'away'
          ? withCommandsAsTyped('The daemon does not answer. Start it with: agent-relay up')
          : 'Connecting …'}
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
      <Button className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </Button>
      <Rail view={view} />
      <main id="main" tabIndex={-1} className={`view view-${view}`}>
        <ErrorBoundary key={view} name="This view">
          <Suspense fallback={<p className="hello muted">Loading …</p>}>
            <Shown view={view} />
          </Suspense>
        </ErrorBoundary>
      </main>
      <ErrorBoundary key={`${help} ${search} ${palette}`} name="This window">
        {help && <Help />}
        {search && <Search />}
        {palette && <Palette />}
      </ErrorBoundary>
    </div>
  )
}

function Shown({ view }: { view: PageAddress['view'] }) {
  const View = shown.get(view)
  if (View) return <View />
  return (
    <EmptyList title="There is nothing at this address">
      The views are in the menu; begin with <a href={linkTo('now')}>Now</a>.
    </EmptyList>
  )
}

/** The menu of workspaces. Each workspace has its own address, so choosing a workspace loads that page. */
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
      onFocus={() => void reloadLoginData()}
      onChange={({ target }) =>
        target.value === '' ? goToView('everywhere') : location.assign(workspacePath(target.value))
      }
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
  return (
    <header className="rail">
      <div className="brand">
        <Workspaces />
        <span className="muted brand-sub wide-only">Agent Relay</span>
      </div>
      <nav aria-label="Views">
        {menu.map((each) => (
          <ViewLink key={each.name} view={each} isCurrent={each.name === view} />
        ))}
      </nav>
      <div className="rail-end">
        <ConnectionStatus />
        <div className="rail-tools">
          <IconButton icon="palette" label="Go or do ( Ctrl K )" onClick={() => isPaletteOpen.set(true)} />
          <IconButton icon="search" label="Search ( / )" onClick={() => isSearchOpen.set(true)} />
          <IconButton icon={dark ? 'sun' : 'moon'} label={dark ? 'Light' : 'Dark'} onClick={nextTheme} />
          <Button
            className="icon-button"
            aria-label="Keys ( ? )"
            title="Keys ( ? )"
            onClick={() => isHelpOpen.set(true)}
          >
            ?
          </Button>
          {!isOpen && (
            <Button className="link muted log-out wide-only" onClick={() => void logOut()}>
              log out
            </Button>
          )}
        </div>
      </div>
    </header>
  )
}

function ViewLink({
  view: { name, title, key, count },
  isCurrent,
}: {
  view: (typeof menu)[number]
  isCurrent: boolean
}) {
  return (
    <a href={linkTo(name)} className="nav" aria-current={isCurrent ? 'page' : undefined}>
      <Icon name={name} />
      <span className="nav-name">{title}</span>
      <CountBadge value={count?.use() ?? 0} label={count?.label ?? ''} />
      <kbd className="wide-only">g {key}</kbd>
    </a>
  )
}
