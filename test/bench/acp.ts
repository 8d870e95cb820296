// Workers that speak ACP: the time from a send to the prompt on an idle agent's stdin, and the daemon's cost of many idle ones.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RelayClient } from '@agent-relay/sdk'
import { temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { type Relay, startRelay } from './relay.ts'
import type { Measure } from './table.ts'

type Row = Omit<Measure, 'lagMs'>

const limits = { promptMs: 60, idleShare: 0.01 }
const idleWorkers = 20
const agent = fileURLToPath(new URL('../../agents/scripted-acp-agent.mjs', import.meta.url))

export async function measureAcp({ rounds, ms }: { rounds: number; ms: number }): Promise<Measure[]> {
  const relay = await startRelay()
  try {
    const lead = await relay.client('lead')
    const rows = [await measurePrompts(lead, rounds), await measureIdle(relay, lead, ms)]
    const lagMs = await relay.lagMs()
    return rows.map((row) => ({ ...row, lagMs }))
  } finally {
    await relay.stop()
  }
}

async function hire(lead: RelayClient, name: string, folder: string): Promise<string> {
  const log = join(folder, `${name}.log`)
  await lead.call('worker.spawn', { name, cli: 'acp', command: [process.execPath, agent, '--log', log], cwd: folder })
  for (;;) {
    const { workers } = await lead.call('worker.list', {})
    if (workers.find((worker) => worker.name === name)?.status === 'idle') return log
    await sleep(50)
  }
}

async function measurePrompts(lead: RelayClient, rounds: number): Promise<Row> {
  const log = await hire(lead, 'prompted', temporaryFolder())
  const times: number[] = []
  for (let i = 0; i < rounds; i++) {
    await sleep(200)
    const from = Date.now()
    const { id } = await lead.call('message.send', { to: 'prompted', body: 'x'.repeat(1_024) })
    times.push((await promptedAt(log, id)) - from)
  }
  const ms = median(times)
  await lead.call('worker.release', { name: 'prompted' })
  return {
    measure: "send to prompt on an ACP agent's stdin, p50",
    value: `${ms.toFixed(0)} ms`,
    limit: `<= ${limits.promptMs} ms`,
    isMet: ms <= limits.promptMs,
  }
}

/** The agent notes when it has read the prompt. */
async function promptedAt(log: string, id: string): Promise<number> {
  for (;;) {
    const line = readFileSync(log, 'utf8')
      .split('\n')
      .slice(0, -1)
      .findLast((each) => each.includes(id))
    if (line !== undefined) return (JSON.parse(line) as { at: number }).at
    await sleep(5)
  }
}

async function measureIdle(relay: Relay, lead: RelayClient, ms: number): Promise<Row> {
  const folder = temporaryFolder()
  for (let i = 0; i < idleWorkers; i++) await hire(lead, `idle-${i}`, folder)
  await sleep(2_000)
  const before = cpuMs(relay.pid)
  await sleep(ms)
  const share = (cpuMs(relay.pid) - before) / ms
  return {
    measure: `${idleWorkers} idle ACP workers, the daemon's share of a core`,
    value: `${(share * 100).toFixed(2)} %`,
    limit: `< ${limits.idleShare * 100} %`,
    isMet: share < limits.idleShare,
  }
}

/** User and system time, of which Linux counts hundredths of a second. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
