// The workspace that a part of the page shows: the page's own, or, in the view of all workspaces, another one, so that the same rows and buttons serve both.

import { createContext, useContext, useMemo } from 'react'
import { useCell } from './cell.ts'
import { client, connection } from './connection.ts'
import { refreshFleet } from './fleet.ts'
import { refreshNeeds } from './needs.ts'
import type { Workplace } from './workplace.ts'

/** The React context that is set around the rows of another workspace, to that workspace. */
export const OtherWorkplace = createContext<Workplace | undefined>(undefined)

export function useWorkplace(): Workplace {
  const other = useContext(OtherWorkplace)
  const { agent: me, workspace: name } = useCell(connection)
  return useMemo(() => other ?? { client, me, path: '', name, hint: hintOwn }, [other, me, name])
}

function hintOwn(): void {
  refreshFleet()
  refreshNeeds()
}
