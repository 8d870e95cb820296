// The person's needs (things that wait for the person) in every workspace that this login opens, over one connection to each while the view is open.

import { type Need, WorkspaceClient, websocketConnector } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { connection } from './connection.ts'

export interface OtherWorkspace {
  name: string
  /** The number of agents that are present; undefined until the workspace has answered. */
  present?: number
  needs: readonly Need[]
  /** The number of further needs that are not listed. */
  more: number
  why?: string
}

export const everywhere = new Cell<readonly OtherWorkspace[]>([])

/** The most workspaces that are followed: looking at an idle workspace makes the daemon open it. */
const workspacesMax = 20
const lookMs = 3_000

/** Follows all workspaces of the login while the view "Everywhere" is open. */
export function followEverywhere(): () => void {
  const names = connection.value.workspaces.slice(0, workspacesMax)
  everywhere.set(names.map((name) => ({ name, needs: [], more: 0 })))
  const stops = names.map(followOne)
  return () => {
    for (const stop of stops) stop()
  }
}

function followOne(name: string): () => void {
  const address = `${location.origin}/ws?page=1&workspace=${encodeURIComponent(name)}`
  const client = new WorkspaceClient(websocketConnector(address), { autoConnect: false })
  const put = (found: Omit<OtherWorkspace, 'name'>): void =>
    everywhere.update((all) => all.map((each) => (each.name === name ? { name, ...found } : each)))
  const look = async (): Promise<void> => {
    if (document.hidden) return
    try {
      await client.connect()
      put(await waitingIn(client))
    } catch (error) {
      put({ needs: [], more: 0, why: (error as Error).message })
    }
  }
  client.on('error', () => {})
  void look()
  const timer = setInterval(() => void look(), lookMs)
  return () => {
    clearInterval(timer)
    void client.disconnect()
  }
}

async function waitingIn(client: WorkspaceClient): Promise<Omit<OtherWorkspace, 'name'>> {
  const [{ agents }, waiting] = await Promise.all([client.call('agent.list', {}), client.call('need.list', {})])
  return { present: agents.length, ...waiting }
}
