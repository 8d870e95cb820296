// Contract agents as MCP clients over HTTP use them while twenty runs are active: starting, asking, handing over, and the effect on others.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Child } from './child.ts'
import { median, quantile } from './figures.ts'
import { type Relay, startRelay } from './relay.ts'
import type { LoadAnswer } from './roles/load.ts'
import { ms } from './sends.ts'
import type { Measure } from './table.ts'

const activeRuns = 20
/** On average; hosted models are slower. */
const thinksMs = 1_000
const [startLimitMs, statusLimitMs, payloadLimitMs, stallLimitMs] = [100, 50, 300, 50]
const asked = 100
const MiB = 1024 * 1024

export interface RunRounds {
  rounds: number
  /** Of each kind, in each round. */
  calls: number
  /** Of sends, idle and active in turn. */
  ms: number
}

type Called = Record<string, unknown>

export async function measureRuns({ rounds, calls, ms: sendMs }: RunRounds): Promise<Measure[]> {
  const [model, load] = [new Child('model'), new Child('load')]
  const env = await model.ask<Record<string, string>>({ thinksMs })
  const relay = await startRelay([], { hasHttp: true, env })
  await relay.client('Bob')
  const host = await hostOf(relay)
  const send = () =>
    load.ask<LoadAnswer>({ to: 'Bob', inFlight: 1, ms: sendMs, bodyBytes: 1024, path: relay.socketPath, name: 'Alice' })
  // Loads what the first run loads.
  await host.end(await host.begin(1))
  await send()
  const took = { start: [] as number[][], status: [] as number[][], idle: [] as number[], active: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    took.idle.push((await send()).p99Ms)
    const active = await host.begin(activeRuns)
    took.active.push((await send()).p99Ms)
    const { start, status } = await host.calls(calls)
    took.start.push(start)
    took.status.push(status)
    await host.end(active)
  }
  const active = await host.begin(activeRuns)
  const whole: number[] = []
  const stalls: number[] = []
  for (let round = 0; round < rounds; round++) {
    whole.push(await host.handsOver(payloadOf(5 * MiB)))
    stalls.push(await stallOf(relay, host, payloadOf(8 * MiB)))
  }
  await host.end(active)
  const lagMs = await relay.lagMs()
  await host.close()
  await Promise.all([load.stop(), relay.stop()])
  const cold = await coldRows(env, rounds, lagMs)
  await model.stop()
  return [...rowsOf(took, lagMs), ...cold, ...payloadRows(whole, stalls, lagMs)]
}

/** The first call that a daemon gets, in a session that is open; each in a daemon of its own. */
async function coldRows(env: Record<string, string>, rounds: number, lagMs: number): Promise<Measure[]> {
  const first = async (name: string, args: Called): Promise<number> => {
    const relay = await startRelay([], { hasHttp: true, env })
    const host = await hostOf(relay)
    const took = await timed(() => host.call(name, args))
    await host.close()
    await relay.stop()
    return took
  }
  const took = { start: [] as number[], status: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    took.start.push(await first('agent_start', { contract: 'Look around.' }))
    took.status.push(await first('agent_status', { agent_ids: ['run_none'] }))
  }
  return [
    row('agent_start, the first call after a start', [took.start], startLimitMs, lagMs),
    row('agent_status, the first call after a start', [took.status], statusLimitMs, lagMs),
  ]
}

interface Host {
  call(name: string, args: Called): Promise<Called>
  begin(count: number): Promise<string[]>
  end(ids: string[]): Promise<void>
  calls(count: number): Promise<{ start: number[]; status: number[] }>
  /** Stored and fetched, in ms. */
  handsOver(payload: string): Promise<number>
  close(): Promise<void>
}

async function hostOf({ url, key }: Relay): Promise<Host> {
  const headers = { authorization: `Bearer ${key}`, 'x-relay-agent': 'boss' }
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  const call = async (name: string, args: Called): Promise<Called> => {
    const { isError, content } = await client.callTool({ name, arguments: args })
    const text = (content as { text: string }[])[0]?.text ?? ''
    if (isError) throw new Error(text)
    return JSON.parse(text) as Called
  }
  const start = async (more: Called = {}) =>
    (await call('agent_start', { contract: 'Look around.', ...more })).agent_id as string
  const stop = (agent_id: string) => call('agent_stop', { agent_id })
  return {
    call,
    begin: (count) => Promise.all(Array.from({ length: count }, () => start())),
    end: async (ids) => void (await Promise.all(ids.map(stop))),
    calls: async (count) => {
      const took = { start: [] as number[], status: [] as number[] }
      const known = await Promise.all(Array.from({ length: asked }, () => start({ harness: 'external' })))
      for (let i = 0; i < count; i++) {
        let id = ''
        took.start.push(
          await timed(async () => {
            id = await start()
          }),
        )
        await stop(id)
        took.status.push(await timed(() => call('agent_status', { agent_ids: known })))
      }
      return took
    },
    handsOver: async (payload) => {
      const agent_id = await start({ harness: 'external' })
      return timed(async () => {
        await call('agent_complete', { agent_id, summary: 'done', payload })
        const fetched = await fetch(`${url}/api/agents/${agent_id}/payload`, { headers })
        if ((await fetched.text()) !== payload) throw new Error('the payload came back changed')
      })
    },
    close: () => client.close(),
  }
}

/** How long the daemon's event loop stood still while it took the payload in, whatever else the twenty runs did meanwhile. */
async function stallOf(relay: Relay, host: Host, payload: string): Promise<number> {
  const { agent_id } = await host.call('agent_start', { contract: 'Hand over.', harness: 'external' })
  await relay.stallMs()
  await host.call('agent_complete', { agent_id, summary: 'done', payload })
  return relay.stallMs()
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** Lines of words and numbers, as a report has them: gzip makes about a third of it. */
function payloadOf(bytes: number): string {
  const lines: string[] = []
  for (let size = 0, n = 0; size < bytes; n++) {
    const line = `test ${n} "parser/${(n * 7919) % 9973}" passed in ${((n * 104_729) % 99_991) / 100} ms\n`
    lines.push(line)
    size += line.length
  }
  return lines.join('').slice(0, bytes)
}

function rowsOf(
  took: { start: number[][]; status: number[][]; idle: number[]; active: number[] },
  lagMs: number,
): Measure[] {
  const [idle, active] = [median(took.idle), median(took.active)]
  const ratio = median(took.active.map((each, round) => each / (took.idle[round] as number)))
  return [
    row(`agent_start over HTTP, ${activeRuns} runs active, p99`, took.start, startLimitMs, lagMs),
    row(`agent_status of ${asked} runs over HTTP, ${activeRuns} runs active, p99`, took.status, statusLimitMs, lagMs),
    {
      measure: `a send with ${activeRuns} runs active, p99`,
      value: ms(active),
      floor: ms(idle),
      ratio,
      limit: '<= 2.00',
      isMet: ratio <= 2,
      lagMs,
      note: `a model that answers in ${thinksMs} ms on average; the floor is the same relay without runs`,
    },
  ]
}

function row(measure: string, rounds: number[][], limitMs: number, lagMs: number): Measure {
  const p99 = median(rounds.map((took) => quantile(took, 0.99)))
  const p50 = median(rounds.map((took) => quantile(took, 0.5)))
  return { measure, value: ms(p99), limit: `<= ${limitMs} ms`, isMet: p99 <= limitMs, lagMs, note: `p50 ${ms(p50)}` }
}

function payloadRows(whole: number[], stalls: number[], lagMs: number): Measure[] {
  const [wholeMs, stallMs] = [median(whole), median(stalls)]
  const most = `at most ${ms(Math.max(...stalls))} in ${stalls.length} rounds`
  return [
    {
      measure: 'a payload of 5 MiB stored and fetched',
      value: ms(wholeMs),
      limit: `< ${payloadLimitMs} ms`,
      isMet: wholeMs < payloadLimitMs,
      lagMs,
    },
    {
      measure: 'event loop stall while 8 MiB are taken in',
      value: ms(stallMs),
      limit: `<= ${stallLimitMs} ms`,
      isMet: stallMs <= stallLimitMs,
      lagMs,
      note: most,
    },
  ]
}
