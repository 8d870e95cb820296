// Login, and the page's one connection to the daemon: the one-time code of a printed link, the session cookie, the client over WebSocket.

import { type RelayError, WorkspaceClient, websocketConnector, withOwnName } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { chosenWorkspace, workspacePath } from './workspace-storage.ts'

/** locked: no valid login session. away: the connection is lost, and the page reconnects. */
export type Phase = 'entering' | 'locked' | 'up' | 'away'

export interface ConnectionState {
  phase: Phase
  workspace: string
  /** The workspaces that this login may open. */
  workspaces: readonly string[]
  /** Why other workspaces cannot be opened, one text for each. */
  faults: readonly string[]
  /** The name of the agent as which the person on this page acts; empty if the person can only look. */
  agent: string
  version: string
  isOpen: boolean
  /** The agent CLIs that the daemon can start. */
  clis: readonly string[]
  /** The directory where a worker starts if none is named. Unset if the workspace has none. */
  directory?: string
  /** Whether this login may start the demo. */
  hasDemo: boolean
  /** When the connection was lost. Unset while connected. */
  since?: number
  why?: string
  /** The CLI command that prints a login link for this page. */
  linkCommand: string
  /** The command name under which the person can run the CLI in any directory, such as `agent-relay`. */
  ownName: string
}

export const connection = new Cell<ConnectionState>({
  phase: 'entering',
  workspace: '',
  workspaces: [],
  faults: [],
  agent: '',
  version: '',
  isOpen: false,
  clis: [],
  hasDemo: false,
  linkCommand: 'agent-relay dashboard',
  ownName: 'agent-relay',
})

/** A text for the person, with CLI commands in it as they can be typed. */
export function withCommandsAsTyped(text: string): string {
  return withOwnName(text, connection.value.ownName)
}

/** CLI commands that are for no workspace, so `--project` is not added to them. */
const workspaceless = /^agent-relay (?:mcp|demo)\b/

/** A CLI command as the person can type it in any directory, for the workspace of this page. */
export function commandForThisWorkspace(command: string): string {
  return withCommandsAsTyped(
    workspaceless.test(command) ? command : `${command} --project ${connection.value.workspace}`,
  )
}

function inWorkspace(sign: '?' | '&'): string {
  return chosenWorkspace === undefined ? '' : `${sign}workspace=${encodeURIComponent(chosenWorkspace)}`
}

/** The client of this page. The cookie carries the login session, so the HELLO frame contains no credential. */
export const client = new WorkspaceClient(websocketConnector(`${location.origin}/ws?page=1${inWorkspace('&')}`), {
  autoConnect: false,
})

const againMs = 1_000
const change = (part: Partial<ConnectionState>): void => connection.update((before) => ({ ...before, ...part }))

export async function startConnection(): Promise<void> {
  client.on('ready', ({ workspace, agent = '', version }) =>
    change({ phase: 'up', workspace, agent, version, since: undefined, why: undefined }),
  )
  client.on('disconnect', () => {
    change({ phase: 'away', since: Date.now() })
    void lockIfOut()
  })
  // Handles a login session that ended while the daemon was away: the person has to log in again.
  client.on('error', (error) => {
    if (!client.connected) void open(error)
  })
  const why = await redeem()
  if (why !== undefined) return change({ phase: 'locked', why })
  await open()
}

/**
 * Shows the login if the session has ended. A refused WebSocket looks the same as an unreachable one; only `/session` tells whether the daemon is away or the
 * login has ended.
 */
async function lockIfOut(): Promise<void> {
  while (connection.value.phase === 'away') {
    const answer = await session()
    if (answer?.status === 401 && connection.value.phase === 'away') {
      change({ phase: 'locked', why: 'This login has ended.' })
      return await client.disconnect()
    }
    await rest()
  }
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, againMs))

const session = (place = inWorkspace('?')): Promise<Response | undefined> =>
  fetch(`/session${place}`, { headers }).catch(() => undefined)

/** If the login is valid, but not for this workspace, returns a text that says which workspace the login opens. */
async function onlyOther(): Promise<string | undefined> {
  const answer = chosenWorkspace === undefined ? undefined : await session('')
  if (!answer?.ok) return undefined
  const { workspace } = await answer.json()
  return `This login opens ${location.origin}${workspacePath(workspace)}, and not ${chosenWorkspace}.`
}

/** Requests again what the daemon told the page at login: since then a workspace may have been created, or a CLI installed. */
export async function reloadLoginData(): Promise<void> {
  const answer = await session()
  if (!answer?.ok) return
  const { workspaces, faults = [], clis = [], directory } = await answer.json()
  change({ workspaces, faults, clis, directory })
}

/** A workspace in the list of workspaces: who is connected and how much waits, without any messages. */
export interface WorkspaceSummary {
  name: string
  /** Whether nobody uses the workspace, so that the daemon has closed its database. */
  atRest?: boolean
  /** The agents that are connected, without people. */
  agents: readonly string[]
  /** How many things wait for the person. */
  needs: number
}

/** Requests what happens in all workspaces of this login; undefined while the daemon does not answer. */
export async function findOverview(): Promise<readonly WorkspaceSummary[] | undefined> {
  if (connection.value.phase !== 'up') return undefined
  const answer = await fetch(`/overview${inWorkspace('?')}`, { headers }).catch(() => undefined)
  return answer?.ok ? (await answer.json()).workspaces : undefined
}

async function open(after?: RelayError): Promise<void> {
  for (;;) {
    const answer = await session()
    if (answer?.status === 401) {
      await learnCommand(answer)
      return change({ phase: 'locked', why: (await onlyOther()) ?? after?.message })
    }
    if (answer?.ok) {
      const told = await answer.json()
      const { workspace, workspaces, faults = [], agent = '', isOpen = false, hasDemo = false } = told
      const { clis = [], directory, ownName } = told
      // The browser stores values by the page's path, so the page is loaded again at the path of the workspace.
      if (chosenWorkspace === undefined) return location.replace(`${workspacePath(workspace)}${location.hash}`)
      change({ workspace, workspaces, faults, agent, isOpen, hasDemo, clis, directory, ownName })
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

/**
 * Takes over the command that prints a login link, as the daemon's refusal gives it: a daemon of a lift (a shared piece of work with its own relay) has its own
 * command.
 */
async function learnCommand(refused: Response): Promise<string> {
  const told = await refused.json().catch(() => undefined)
  const { linkCommand } = connection.value
  const { command = linkCommand } = told?.error?.details ?? {}
  if (command !== linkCommand) change({ linkCommand: command })
  return command
}

/** Proves that the page itself makes the request: a page of another origin cannot send this header without a CORS preflight. */
const headers = { 'X-Relay-Page': '1' }

function post(path: string, value: object): Promise<Response | undefined> {
  const json = { ...headers, 'Content-Type': 'application/json' }
  return fetch(path, { method: 'POST', headers: json, body: JSON.stringify(value) }).catch(() => undefined)
}

/** Exchanges the one-time code in the page's address for the session cookie, and removes the code from the address. Returns why the code was refused. */
async function redeem(): Promise<string | undefined> {
  const address = new URL(location.href)
  const code = address.searchParams.get('code')
  if (code === null) return undefined
  address.searchParams.delete('code')
  history.replaceState(null, '', address.pathname + address.search + address.hash)
  return await logInWithCode(code)
}

export async function logInWithCode(code: string): Promise<string | undefined> {
  const answer = await post('/session', { code })
  if (answer?.ok) return undefined
  // The daemon's own text for a refused code is not shown: it is for people who have no code at all.
  if (answer?.status === 401) return `This code was used or is too old. For a new one: ${await learnCommand(answer)}`
  const told = await answer?.json().catch(() => undefined)
  return told?.error?.message ?? 'The daemon does not answer.'
}

/** Starts the demo in a workspace of its own, and opens that workspace. */
export async function playDemo(): Promise<void> {
  location.assign(workspacePath(await startDemo({})))
}

/** Starts the demo in the workspace of this page. */
export async function playDemoHere(): Promise<void> {
  await startDemo({ here: connection.value.workspace })
}

async function startDemo(where: { here?: string }): Promise<string> {
  const answer = await post('/demo', where)
  const told = await answer?.json().catch(() => undefined)
  if (!answer?.ok) throw new Error(told?.error?.message ?? 'The daemon does not answer.')
  return told.workspace
}

export async function logOut(): Promise<void> {
  await fetch('/session', { method: 'DELETE', headers }).catch(() => undefined)
  location.reload()
}
