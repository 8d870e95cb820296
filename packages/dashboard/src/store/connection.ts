// The way in and the one line to the daemon: the code of a printed link, the session behind the cookie, the client over its WebSocket.

import { type RelayError, WorkspaceClient, websocketConnector } from '@agent-relay/sdk/browser'
import { Cell } from './cell.ts'

/** locked: no valid session. away: the line is lost and being taken up again. */
export type Phase = 'entering' | 'locked' | 'up' | 'away'

export interface Connection {
  phase: Phase
  workspace: string
  /** The person's agent. */
  agent: string
  version: string
  isOpen: boolean
  /** When the line was lost. */
  since?: number
  why?: string
}

export const connection = new Cell<Connection>({
  phase: 'entering',
  workspace: '',
  agent: '',
  version: '',
  isOpen: false,
})

/** Its session is the cookie's: it says nothing of itself in HELLO. */
export const client = new WorkspaceClient(websocketConnector(`${location.origin}/ws?page=1`), { autoConnect: false })

const againMs = 1_000
const change = (part: Partial<Connection>): void => connection.update((before) => ({ ...before, ...part }))

export async function enter(): Promise<void> {
  client.on('ready', ({ workspace, agent = '', version }) =>
    change({ phase: 'up', workspace, agent, version, since: undefined, why: undefined }),
  )
  client.on('disconnect', () => {
    change({ phase: 'away', since: Date.now() })
    void lockIfOut()
  })
  // A session that ended while the daemon was away: the same way in again.
  client.on('error', (error) => {
    if (!client.connected) void open(error)
  })
  const why = await redeem()
  if (why !== undefined) return change({ phase: 'locked', why })
  await open()
}

/** A refused WebSocket looks like an unreachable one: only the session tells a daemon that is away from a login that has ended. */
async function lockIfOut(): Promise<void> {
  while (connection.value.phase === 'away') {
    const answer = await fetch('/session', { headers }).catch(() => undefined)
    if (answer?.status === 401 && connection.value.phase === 'away') {
      change({ phase: 'locked', why: 'This login has ended.' })
      return await client.disconnect()
    }
    await rest()
  }
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, againMs))

async function open(after?: RelayError): Promise<void> {
  for (;;) {
    const answer = await fetch('/session', { headers }).catch(() => undefined)
    if (answer?.status === 401) return change({ phase: 'locked', why: after?.message })
    if (answer?.ok) {
      const { workspace, agent = '', isOpen = false } = await answer.json()
      change({ workspace, agent, isOpen })
      try {
        await client.connect()
        return
      } catch (error) {
        change({ phase: 'away', since: connection.value.since ?? Date.now(), why: (error as Error).message })
      }
    } else change({ phase: 'away', since: connection.value.since ?? Date.now() })
    await rest()
  }
}

/** A page of another origin cannot send it without asking first. */
const headers = { 'X-Relay-Page': '1' }

/** The one-time code of the link, exchanged for the cookie and taken out of the address. Answers why not. */
async function redeem(): Promise<string | undefined> {
  const address = new URL(location.href)
  const code = address.searchParams.get('code')
  if (code === null) return undefined
  address.searchParams.delete('code')
  history.replaceState(null, '', address.pathname + address.search + address.hash)
  return await show(code)
}

export async function show(code: string): Promise<string | undefined> {
  const answer = await fetch('/session', {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  }).catch(() => undefined)
  if (answer?.ok) return undefined
  // The daemon's own words are those for whoever has no code at all.
  if (answer?.status === 401) return 'This code was used or is too old. For a new one: agent-relay dashboard'
  const told = await answer?.json().catch(() => undefined)
  return told?.error?.message ?? 'The daemon does not answer.'
}

export async function logOut(): Promise<void> {
  await fetch('/session', { method: 'DELETE', headers }).catch(() => undefined)
  location.reload()
}
