// Shows a person at a terminal what happens in all workspaces of this machine, if they named none. Agents, pipes and --json get only the workspace of the
// directory.

import { setTimeout as sleep } from 'node:timers/promises'
import { RelayClient, RelayError } from '@agent-relay/sdk'
import { setting } from '@agent-relay/sdk/internal/discover'
import type { OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import type { Link } from '@agent-relay/sdk/wire'
import type { CliOption, CommandContext } from './command.ts'
import { ownerConnector, workspaceKeyOf } from './connection.ts'
import { connectControl, nextCommandId } from './control-socket.ts'
import { followForPerson } from './feed.ts'
import { controlAsPerson, requirePerson } from './person.ts'

export const hereOption = {
  flags: '--here',
  text: 'only what happens in the workspace of this directory',
} satisfies CliOption

type Overview = OutputOf<'workspace.overview'>['workspaces']

/** Environment variables that choose a workspace or an agent for a command. */
const naming = ['RELAY_PROJECT', 'RELAY_SOCKET', 'RELAY_AGENT_NAME', 'RELAY_AGENT_TOKEN'] as const

/** Whether the command shows all workspaces: its output is for a person at a terminal, and no workspace or agent was named. */
export function showsAllWorkspaces({ print, options, env }: CommandContext<{ here: typeof hereOption }>): boolean {
  const isNamed =
    (options.project ?? options.as) !== undefined || naming.some((name) => setting(env, name) !== undefined)
  return print.isForPerson && !options.here && !isNamed
}

/** Whether a command that follows events shows all workspaces. It also asks the daemon whether a person has started it. */
export async function followsAllWorkspaces(context: CommandContext<{ here: typeof hereOption }>): Promise<boolean> {
  if (!showsAllWorkspaces(context)) return false
  return requirePerson(context.env, { script: true }).then(
    () => true,
    () => false,
  )
}

/** Returns an overview of the other workspaces. Empty if an agent asks, or if the daemon is of a version without this operation. */
export async function otherWorkspaces({ env }: Pick<CommandContext, 'env'>, own: string): Promise<Overview> {
  try {
    const { workspaces } = await controlAsPerson(env, (link) => link.call('workspace.overview', {}, nextCommandId('c')))
    return workspaces.filter(({ name }) => name !== own)
  } catch (error) {
    const isTold = error instanceof RelayError && /^(?:person\.required|operation\.unknown)$/.test(error.code ?? '')
    if (isTold) return []
    throw error
  }
}

/** Returns the text that names the other workspaces in which something waits for the person, with the command that lists it. */
export function needsElsewhereText(others: Overview): string | undefined {
  const waiting = others.filter(({ needs }) => needs > 0)
  if (waiting.length === 0) return undefined
  const [first] = waiting
  const counts = waiting.map(({ name, needs }) => `${needs} in ${name}`).join(', ')
  return `What needs you in other workspaces: ${counts}. To see it: agent-relay needs --project ${first?.name}`
}

/** Interval in ms between two checks which workspaces are in use. Messages in a workspace that is followed are printed at once. */
const lookMs = 2_000

interface Followed {
  stop: AbortController
  /** The number of the last journal entry at the last check. If it has not changed and nobody is connected, following ends. */
  seq: number
}

/** Prints the events of all other workspaces while somebody is connected there. A workspace that is closed for lack of use is not opened. */
export async function followOtherWorkspaces(
  context: CommandContext,
  own: string,
  types: string[] | undefined,
  ending: AbortSignal,
): Promise<void> {
  const followed = new Map<string, Followed>()
  let shown: Map<string, number> | undefined
  let link: Link | undefined
  while (!ending.aborted) {
    link ??= await connectControl(context.env).catch(() => undefined)
    const entries = await openEntries(link)
    if (!entries) {
      void link?.close()
      link = undefined
    } else {
      const others = entries.filter(({ name }) => name !== own)
      shown ??= new Map(others.map(({ name, seq = 0 }) => [name, seq]))
      for (const entry of others) look(context, entry, { shown, followed, types, ending })
    }
    await sleep(lookMs, undefined, { signal: ending }).catch(() => {})
  }
  await link?.close()
}

interface Following {
  /** For each workspace, the number of the last journal entry whose events were printed. */
  shown: Map<string, number>
  followed: Map<string, Followed>
  types: string[] | undefined
  ending: AbortSignal
}

function look(context: CommandContext, entry: WorkspaceEntry, { shown, followed, types, ending }: Following): void {
  const { name, users = [], seq = 0, atRest = false } = entry
  const now = followed.get(name)
  if (!now) {
    const since = shown.get(name) ?? 0
    if (atRest || (users.length === 0 && seq <= since)) return
    const stop = new AbortController()
    const own = { stop, seq }
    followed.set(name, own)
    const until = AbortSignal.any([ending, stop.signal])
    void followOne(context, entry, { types, since }, until).finally(() => {
      if (followed.get(name) === own) followed.delete(name)
    })
    return
  }
  shown.set(name, now.seq)
  if (users.length === 0 && seq === now.seq) now.stop.abort()
  now.seq = seq
}

/** Follows one workspace until `until` is aborted. If it cannot be reached or read, the next check tries again. */
async function followOne(
  { env, print }: CommandContext,
  { name, id = '', socketPath }: WorkspaceEntry,
  { types, since }: { types: string[] | undefined; since: number },
  until: AbortSignal,
): Promise<void> {
  const key = workspaceKeyOf(id, socketPath, env)
  if (key === undefined) return
  const client = new RelayClient({ connect: ownerConnector(socketPath, id, env), key, autoConnect: false })
  client.on('error', () => {})
  try {
    await client.connect()
    await followForPerson(client, { types, since }, print, until, name)
  } catch {
  } finally {
    await client.disconnect()
  }
}

/** Returns the open workspaces of the daemon; undefined if it cannot be reached. */
async function openEntries(link: Link | undefined): Promise<WorkspaceEntry[] | undefined> {
  const answer = await link?.call('daemon.status', {}, nextCommandId('c')).catch(() => undefined)
  return answer?.workspaces.filter(({ open }) => open)
}
