// The page's calls to the daemon while a person has it open: every event, and the list of agents, asked again as news come.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { websocketConnector } from '@agent-relay/sdk/wire'
import { serve } from './serve.ts'

export interface PageQuestion {
  url: string
  dataDir: string
  project: string
}

/** As in the page's store/fleet.ts. */
const refreshMs = 750

async function open({ url, dataDir, project }: PageQuestion): Promise<true> {
  const { workspaces } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  const { key } = Object.values<{ name: string; key: string }>(workspaces).find(({ name }) => name === project) ?? {}
  const client = new RelayClient({ connect: websocketConnector(url), key, autoConnect: false })
  await client.connect()
  let isNew = true
  await client.watch({}, () => (isNew = true)).ready
  setInterval(async () => {
    if (!isNew) return
    isNew = false
    await client.call('agent.list', { includeOffline: true })
    await client.call('worker.list', { all: true })
  }, refreshMs)
  return true
}

serve(open)
