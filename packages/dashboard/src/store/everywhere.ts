// All workspaces that this login opens, each with its needs and agents, over one connection to each while the view is open.

import { WorkspaceClient, websocketConnector } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { connection } from './connection.ts'
import { lastWords } from './conversations.ts'
import { type Fleet, joinedFleet, unknownFleet } from './fleet.ts'
import { joinedNeeds, type ShownNeed } from './needs.ts'
import { pathOf } from './own-place.ts'
import { keepSame } from './refresh.ts'
import type { Workplace } from './workplace.ts'

export interface OtherWorkspace {
  fleet: Fleet
  needs: readonly ShownNeed[]
  /** The last words of agents, by name. */
  words: ReadonlyMap<string, string>
  /** The number of further needs that the daemon does not list. */
  more: number
  snoozed: number
  workplace: Workplace
  why?: string
}

/** The workspaces that are followed, by name. */
export const everywhere = new Cell<ReadonlyMap<string, OtherWorkspace>>(new Map())

/** How many more workspaces are followed at each press: looking at an idle workspace makes the daemon open it. */
export const workspacesStep = 20
const lookMs = 3_000
/** How many conversations of a workspace are searched for last words. */
const wordsMax = 100

/** Follows the first `count` workspaces of the login until the returned function is called. */
export function followEverywhere(count: number): () => void {
  const stops = connection.value.workspaces.slice(0, count).map(follow)
  return () => {
    for (const stop of stops) stop()
  }
}

function follow(name: string): () => void {
  const address = `${location.origin}/ws?page=1&workspace=${encodeURIComponent(name)}`
  const client = new WorkspaceClient(websocketConnector(address), { autoConnect: false })
  let [isFollowed, isAsking] = [true, false]
  const workplace: Workplace = { client, me: '', name, path: pathOf(name), hint: () => void look() }
  let shown: OtherWorkspace = { fleet: unknownFleet, needs: [], words: new Map(), more: 0, snoozed: 0, workplace }
  // An answer that comes after the view was left changes nothing.
  const put = (part: Partial<OtherWorkspace>): void => {
    if (!isFollowed) return
    shown = { ...shown, why: undefined, ...part }
    everywhere.update((all) => new Map([...all, [name, shown]]))
  }
  const look = async (): Promise<void> => {
    if (document.hidden || isAsking) return
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
  void look()
  const timer = setInterval(() => void look(), lookMs)
  return () => {
    isFollowed = false
    clearInterval(timer)
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
  const needs = keepSame(before.needs, found.needs, ({ key }) => key)
  const words = lastWords(conversations)
  return { fleet: joinedFleet(before.fleet, listed, workers), needs, words, snoozed: found.snoozed, more: waiting.more }
}
