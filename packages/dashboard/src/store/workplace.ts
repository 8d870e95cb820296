// The workspace that a part of the page shows: the page's own, or, in the view of all workspaces, another one, so that the same rows and buttons serve both.

import type { WorkspaceClient } from '@agent-relay/sdk/internal/page'
import { createContext, useContext, useMemo } from 'react'
import { useCell } from './cell.ts'
import { client, connection } from './connection.ts'
import { hintFleet } from './fleet.ts'
import { hintNeeds } from './needs.ts'

export interface Workplace {
  client: Pick<WorkspaceClient, 'call'>
  /** The name of the agent as which the person acts there. */
  me: string
  /** The path of that workspace's page, before the `#` of a link; empty for this page. */
  path: string
  /** The name under which the browser keeps texts and snoozes of that workspace. */
  name: string
  /** Requests that workspace's lists again, after the person has changed something. */
  hint(): void
}

/** Set around the rows of another workspace. */
export const OtherWorkplace = createContext<Workplace | undefined>(undefined)

export function useWorkplace(): Workplace {
  const other = useContext(OtherWorkplace)
  const { agent: me, workspace: name } = useCell(connection)
  return useMemo(() => other ?? { client, me, path: '', name, hint: hintOwn }, [other, me, name])
}

function hintOwn(): void {
  hintFleet()
  hintNeeds()
}
