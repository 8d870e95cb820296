// What happens in every workspace that this login opens, as the daemon tells it without opening one that is at rest, and the needs (things that wait for the
// person) of those that are in use, over one connection to each while the view "All workspaces" is open.

import { type Need, WorkspaceClient, websocketConnector } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { connection, findOverview, type WorkspaceGlance } from './connection.ts'

export const overview = new Cell<readonly WorkspaceGlance[]>([])

/** The needs of other workspaces, by the workspace's name. */
export const needsElsewhere = new Cell<ReadonlyMap<string, NeedList>>(new Map())

interface NeedList {
  needs: readonly Need[]
  /** The number of further needs that are not listed. */
  more: number
  why?: string
}

const lookMs = 3_000
/** The most workspaces whose needs are listed. */
const listedMax = 20

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

/** Follows also the needs of each workspace that is in use. */
export function followEverywhere(): () => void {
  const followed = new Map<string, () => void>()
  const follow = (all: readonly WorkspaceGlance[]): void => {
    const wanted = all.filter(({ atRest, needs }) => !atRest && needs > 0).slice(0, listedMax)
    for (const [name, stop] of followed) {
      if (wanted.some((each) => each.name === name)) continue
      stop()
      followed.delete(name)
    }
    for (const { name } of wanted) if (!followed.has(name)) followed.set(name, followNeeds(name))
  }
  follow(overview.value)
  const stopLooking = overview.listen(() => follow(overview.value))
  const stopOverview = followOverview()
  return () => {
    stopOverview()
    stopLooking()
    for (const stop of followed.values()) stop()
  }
}

function followNeeds(name: string): () => void {
  const address = `${location.origin}/ws?page=1&workspace=${encodeURIComponent(name)}`
  const client = new WorkspaceClient(websocketConnector(address), { autoConnect: false })
  const put = (list?: NeedList): void =>
    needsElsewhere.update((all) => {
      const others = new Map(all)
      if (list) others.set(name, list)
      else others.delete(name)
      return others
    })
  client.on('error', () => {})
  const stop = repeat(async () => {
    try {
      await client.connect()
      put(await client.call('need.list', {}))
    } catch (error) {
      put({ needs: [], more: 0, why: (error as Error).message })
    }
  })
  return () => {
    stop()
    put()
    void client.disconnect()
  }
}

/** The other workspaces where somebody is connected, or something waits for the person. */
export function busyElsewhere(all: readonly WorkspaceGlance[]): readonly WorkspaceGlance[] {
  const { workspace } = connection.value
  return all.filter(({ name, agents, needs }) => name !== workspace && (agents.length > 0 || needs > 0))
}
