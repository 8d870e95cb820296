// What waits for the person in every workspace that this login opens: one connection to each, as long as the view is open.

import { type Message, WorkspaceClient, websocketConnector } from '@agent-relay/sdk/internal/page'
import type { Approval } from './approvals.ts'
import { Cell } from './cell.ts'
import { connection } from './connection.ts'
import type { ListedWorker } from './fleet.ts'

export interface OtherWorkspace {
  name: string
  /** How many agents are there now; undefined until its first answer. */
  present?: number
  approvals: readonly Approval[]
  blocked: readonly ListedWorker[]
  owed: readonly Message[]
  why?: string
}

export const everywhere = new Cell<readonly OtherWorkspace[]>([])

/** Each one that is at rest is opened by being looked at. */
const workspacesMax = 20
const lookMs = 3_000

/** Follows while the view is open. */
export function followEverywhere(): () => void {
  const names = connection.value.workspaces.slice(0, workspacesMax)
  everywhere.set(names.map((name) => ({ name, approvals: [], blocked: [], owed: [] })))
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
      put({ approvals: [], blocked: [], owed: [], why: (error as Error).message })
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
  const [{ agents }, { workers }, { messages: owed }, { approvals }] = await Promise.all([
    client.call('agent.list', {}),
    client.call('worker.list', {}),
    client.call('inbox.owed', {}),
    client.call('approval.list', {}),
  ])
  const asking = new Set(approvals.map(({ agent }) => agent))
  const blocked = workers.filter(({ name, status }) => status === 'blocked' && !asking.has(name))
  return { present: agents.length, approvals, blocked, owed }
}
