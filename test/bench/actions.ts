// Actions as an agent uses them: a call over the pipe to a program and back, and the list of tools when many actions are offered.

import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { bareEnv, Child } from './child.ts'
import { median, quantile } from './figures.ts'
import { startRelay } from './relay.ts'
import { ms } from './sends.ts'
import type { Measure } from './table.ts'

const invokeLimitMs = 3
const listLimitMs = 10
const actionsOffered = 200
const pipeLauncher = fileURLToPath(new URL('../../../packages/mcp/bin/agent-relay-mcp.cjs', import.meta.url))

export interface ActionRounds {
  rounds: number
  /** Of each kind, in each round. */
  calls: number
}

export async function measureActions({ rounds, calls }: ActionRounds): Promise<Measure[]> {
  const relay = await startRelay()
  const provider = new Child('provider')
  await provider.ask({ socketPath: relay.socketPath, count: actionsOffered })
  const { client, arrived } = await hostOf(relay.socketPath)
  const input = { proposalId: 'p1', vote: 'approve' }
  const invoke = () => client.callTool({ name: 'bench_action_7', arguments: input })
  const list = () => client.listTools({}, { cacheMode: 'refresh' })
  // Until the answer is there: what the client then does with the schemas is not measured.
  const listed = async () => {
    await list()
    return arrived()
  }
  await timed(invoke, calls)
  const invoking: number[][] = []
  const listing: number[][] = []
  for (let round = 0; round < rounds; round++) {
    invoking.push(await timed(invoke, calls))
    listing.push(await timed(listed, calls))
  }
  const { content } = await invoke()
  const text = (content as { text: string }[])[0]?.text ?? ''
  if (!(JSON.parse(text) as { ok?: boolean }).ok) throw new Error(`not invoked: ${text}`)
  // So many are not listed one by one: the agent finds and calls them by these two.
  const names = (await list()).tools.map(({ name }) => name)
  for (const name of ['actions_list', 'actions_invoke'])
    if (!names.includes(name)) throw new Error(`${name} is not among the tools: ${names.join(', ')}`)
  const lagMs = await relay.lagMs()
  await client.close()
  await Promise.all([provider.stop(), relay.stop()])
  return [
    row('an action over the pipe and back, p50', invoking, invokeLimitMs, lagMs),
    row(`tools/list with ${actionsOffered} actions, p50`, listing, listLimitMs, lagMs),
  ]
}

interface Host {
  client: Client
  /** When its last message came. */
  arrived(): number
}

async function hostOf(socketPath: string): Promise<Host> {
  const env = bareEnv({ RELAY_SOCKET: socketPath, RELAY_TOOLS: 'workspace', RELAY_AGENT_NAME: 'caller' })
  const args = [pipeLauncher, 'serve']
  const transport = new StdioClientTransport({ command: process.execPath, args, env: env as Record<string, string> })
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(transport)
  const receive = transport.onmessage
  let arrivedAt = 0
  transport.onmessage = (message) => {
    arrivedAt = performance.now()
    receive?.(message)
  }
  return { client, arrived: () => arrivedAt }
}

/** `work` may answer when it was done; else it is done when it has answered. */
async function timed(work: () => Promise<unknown>, times: number): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const from = performance.now()
    const done = await work()
    took.push((typeof done === 'number' ? done : performance.now()) - from)
  }
  return took
}

function row(measure: string, rounds: number[][], limitMs: number, lagMs: number): Measure {
  const p50 = median(rounds.map((took) => quantile(took, 0.5)))
  const p99 = median(rounds.map((took) => quantile(took, 0.99)))
  return { measure, value: ms(p50), limit: `<= ${limitMs} ms`, isMet: p50 <= limitMs, lagMs, note: `p99 ${ms(p99)}` }
}
