// An MCP client of the official SDK that times its calls: over a pipe process, or over a pair in memory with the relay in the same process.

import { join } from 'node:path'
import { createServer } from '@agent-relay/mcp'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { Daemon } from 'agent-relay/dist/daemon/daemon.js'
import { openMcpSession } from 'agent-relay/dist/wires/mcp-session.js'
import { serve } from './serve.ts'

export interface McpQuestion {
  /** Opens the client, and must come first. */
  open?: { dataDir: string } | { launcher: string; env: Record<string, string> }
  /** So many calls, one after the other. */
  calls?: number
}

let client: Client | undefined

async function answer({ open, calls = 0 }: McpQuestion): Promise<number[]> {
  if (open) {
    client = new Client({ name: 'bench', version: '1' })
    await client.connect('dataDir' in open ? await inMemory(open.dataDir) : overPipe(open))
  }
  const times: number[] = []
  for (let i = 0; i < calls; i++) {
    const from = performance.now()
    await client?.callTool({ name: 'relay_status', arguments: {} })
    times.push(performance.now() - from)
  }
  return times
}

function overPipe({ launcher, env }: { launcher: string; env: Record<string, string> }): StdioClientTransport {
  return new StdioClientTransport({ command: process.execPath, args: [launcher, 'serve'], env })
}

async function inMemory(dataDir: string): Promise<InMemoryTransport> {
  const daemon = await Daemon.start({
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    onTrouble: (error) => process.stderr.write(`${error.message}\n`),
    onStop: () => process.exit(1),
  })
  if (!daemon) throw new Error('another daemon has this folder')
  const { dispatch } = await daemon.open('bench')
  const session = await openMcpSession(dispatch, { door: 'owner' }, { name: 'bench' })
  const [near, far] = InMemoryTransport.createLinkedPair()
  const turn = (id: string | number) => session.link.turn(`p_bench/${id}`)
  await createServer(session.client, { ...session.options, openTurn: turn }).connect(far)
  return near
}

process.once('SIGTERM', () => void (client?.close() ?? Promise.resolve()).then(() => process.exit(0)))
serve(answer)
