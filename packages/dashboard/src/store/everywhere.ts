// What happens in every workspace that this login opens, as the daemon tells it without opening one that is at rest; and the needs (things that wait for the
// person) and agents of those that are in use, over one connection to each while the view "All workspaces" is open.

import { WorkspaceClient, websocketConnector } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { connection, findOverview, type WorkspaceSummary } from './connection.ts'
import { lastMessageOfAgents } from './conversations.ts'
import { type Fleet, joinedFleet, unknownFleet } from './fleet.ts'
import { joinedNeeds, type ShownNeed } from './needs.ts'
import { reuseUnchanged } from './refresh.ts'
import type { Workplace } from './workplace.ts'
import { workspacePath } from './workspace-storage.ts'

export interface OtherWorkspace {
  fleet: Fleet
  needs: readonly ShownNeed[]
  /** The beginning of each agent's last message, by the agent's name. */
  words: ReadonlyMap<string, string>
  /** The number of further needs that the daemon does not list. */
  more: number
  snoozed: number
  workplace: Workplace
  why?: string
}

export const overview = new Cell<readonly WorkspaceSummary[]>([])

/** The workspaces that are followed, by name. */
export const followedWorkspaces = new Cell<ReadonlyMap<string, OtherWorkspace>>(new Map())

/** How many more workspaces are followed each time the person presses the button for more. */
export const workspacesStep = 20
const lookMs = 3_000
/** How many conversations of a workspace are searched for the last messages of its agents. */
const wordsMax = 100

/** Repeats `look` while the page is visible, until the returned function is called. */
function repeat(look: () => Promise<void>): () => void {
  const lookIfSeen = (): void => {
    if (!document.hidden) void look()
  }
  lookIfSeen()
  const timer = setInterval(lookIfSeen, lookMs)
  return () => clearInterval(timer)
}

/** Follows what happens in all workspaces, as long as a view shows it. */
export function followOverview(): () => void {
  return repeat(async () => {
    const found = await findOverview()
    if (found) overview.set(found)
  })
}

/** Whether somebody is connected, or something waits for the person. */
export const isInUse = ({ atRest, agents, needs }: WorkspaceSummary): boolean =>
  atRest !== true && (agents.length > 0 || needs > 0)

/** The other workspaces where somebody is connected, or something waits for the person. */
export function busyOtherWorkspaces(all: readonly WorkspaceSummary[]): readonly WorkspaceSummary[] {
  const { workspace } = connection.value
  return all.filter(({ name, agents, needs }) => name !== workspace && (agents.length > 0 || needs > 0))
}

/** Follows the overview, and the first `count` workspaces in use, until the returned function is called. */
export function followEverywhere(count: number): () => void {
  const followed = new Map<string, () => void>()
  const followUsed = (): void => {
    const wanted = overview.value.filter(isInUse).slice(0, count)
    for (const [name, stop] of followed) {
      if (wanted.some((each) => each.name === name)) continue
      stop()
      followed.delete(name)
    }
    for (const { name } of wanted) if (!followed.has(name)) followed.set(name, follow(name))
  }
  followUsed()
  const ends = [overview.listen(followUsed), followOverview()]
  return () => {
    for (const end of [...ends, ...followed.values()]) end()
  }
}

function follow(name: string): () => void {
  const address = `${location.origin}/ws?page=1&workspace=${encodeURIComponent(name)}`
  const client = new WorkspaceClient(websocketConnector(address), { autoConnect: false })
  let [isFollowed, isAsking] = [true, false]
  const workplace: Workplace = { client, me: '', name, path: workspacePath(name), hint: () => void look() }
  let shown: OtherWorkspace = { fleet: unknownFleet, needs: [], words: new Map(), more: 0, snoozed: 0, workplace }
  // An answer that comes after the view was left changes nothing.
  const put = (part: Partial<OtherWorkspace>): void => {
    if (!isFollowed) return
    shown = { ...shown, why: undefined, ...part }
    followedWorkspaces.update((all) => new Map([...all, [name, shown]]))
  }
  const look = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    try {
      await client.connect()
      put(await stateOf(shown, client))
    } catch (error) {
      put({ why: (error as Error).message })
    }
    isAsking = false
  }
  client.on('error', () => {})
  client.on('ready', ({ agent = '' }) => put({ workplace: { ...workplace, me: agent } }))
  const stop = repeat(look)
  return () => {
    isFollowed = false
    stop()
    followedWorkspaces.update((all) => new Map([...all].filter(([other]) => other !== name)))
    void client.disconnect()
  }
}

async function stateOf(before: OtherWorkspace, client: WorkspaceClient): Promise<Partial<OtherWorkspace>> {
  const [listed, { workers }, waiting, { approvals }, { conversations }] = await Promise.all([
    client.call('agent.list', { includeOffline: true }),
    client.call('worker.list', { all: true }),
    client.call('need.list', {}),
    client.call('approval.list', {}),
    client.call('conversation.list', { limit: wordsMax }),
  ])
  const found = joinedNeeds(before.workplace.name, waiting.needs, approvals)
  const needs = reuseUnchanged(before.needs, found.needs, ({ key }) => key)
  const words = lastMessageOfAgents(conversations)
  return { fleet: joinedFleet(before.fleet, listed, workers), needs, words, snoozed: found.snoozed, more: waiting.more }
}
