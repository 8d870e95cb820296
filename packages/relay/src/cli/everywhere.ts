// What happens in all workspaces of this machine, for a person at a terminal who has named none. An agent, a pipe and --json get the one workspace that is meant.

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

/** Variables that say which workspace or agent a command means. */
const naming = ['RELAY_PROJECT', 'RELAY_SOCKET', 'RELAY_AGENT_NAME', 'RELAY_AGENT_TOKEN'] as const

/** Whether the command shows all workspaces: a person reads it at a terminal, and no workspace and no agent was named. */
export function showsEverything({ print, options, env }: CommandContext<{ here: typeof hereOption }>): boolean {
  const isNamed =
    (options.project ?? options.as) !== undefined || naming.some((name) => setting(env, name) !== undefined)
  return print.isForPerson && !options.here && !isNamed
}

/** The same for a feed, which also asks the daemon whether a person reads it. */
export async function followsEverything(context: CommandContext<{ here: typeof hereOption }>): Promise<boolean> {
  if (!showsEverything(context)) return false
  return requirePerson(context.env, { script: true }).then(
    () => true,
    () => false,
  )
}

/** Asks what happens in the other workspaces. Empty where an agent asks, and where the daemon is of a version that cannot say. */
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

/** Says in which other workspaces something waits for the person, with the command that lists it. */
export function needsElsewhereText(others: Overview): string | undefined {
  const waiting = others.filter(({ needs }) => needs > 0)
  if (waiting.length === 0) return undefined
  const [first] = waiting
  const counts = waiting.map(({ name, needs }) => `${needs} in ${name}`).join(', ')
  return `What needs you in other workspaces: ${counts}. To see it: agent-relay needs --project ${first?.name}`
}

/** The time between two looks at which workspaces are in use. What is said in one that is followed is shown at once. */
const lookMs = 2_000

interface Followed {
  stop: AbortController
  /** The last entry at the look before. While it stays the same and nobody is connected, there is nothing more to show. */
  seq: number
}

/** Shows the events of all other workspaces, as long as somebody is connected there. A workspace at rest is left alone. */
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
  /** The last entry of each workspace up to which events were shown. */
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

/** Follows one workspace until `until`. One that cannot be reached or read is tried again at the next look. */
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

/** The workspaces of the daemon; undefined while it cannot be reached. */
async function openEntries(link: Link | undefined): Promise<WorkspaceEntry[] | undefined> {
  const answer = await link?.call('daemon.status', {}, nextCommandId('c')).catch(() => undefined)
  return answer?.workspaces.filter(({ open }) => open)
}
