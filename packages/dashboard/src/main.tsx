// Entry point of the dashboard: starts the stores, which hold the page's state, and then draws the views.

import './style/base.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { followApprovals } from './store/approvals.ts'
import { connection, startConnection } from './store/connection.ts'
import { followConversations } from './store/conversations.ts'
import { followEvents, followLastSeq } from './store/events.ts'
import { followFleet } from './store/fleet.ts'
import { followHistories } from './store/history.ts'
import { followKeys } from './store/keys.ts'
import { followNeeds } from './store/needs.ts'
import { followTheme } from './store/theme.ts'

followTheme()
followKeys()
followFleet()
followConversations()
followHistories()
followApprovals()
followNeeds()
followLastSeq()
createRoot(document.getElementById('page') as HTMLElement).render(
  <ErrorBoundary name="The page">
    <App />
  </ErrorBoundary>,
)
void startConnection().then(() => connection.value.phase === 'up' && followEvents())
