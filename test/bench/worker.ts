// Workers: the time from a send to the text in an idle worker's terminal, and from a spawn to its program's start against a bare terminal.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RelayClient } from '@agent-relay/sdk'
import { openPty } from 'agent-relay/dist/supervisor/pty.js'
import { temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { type Relay, startRelay } from './relay.ts'
import type { Measure } from './table.ts'

type Row = Omit<Measure, 'lagMs'>

const limits = { submitMs: 250, spawnMs: 50 }
const scriptedAgent = fileURLToPath(new URL('../../agents/scripted-agent.mjs', import.meta.url))
/** A worker without signs counts as idle when it has been quiet for a while. */
const idleMs = 1_000

export async function measureWorkers({ rounds }: { rounds: number }): Promise<Measure[]> {
  const relay = await startRelay()
  try {
    const lead = await relay.client('lead')
    const measures = [
      ...(await measureSubmits(lead, rounds)),
      await measureSpawns(lead, Math.max(5, Math.round(rounds / 2))),
    ]
    return await withLag(relay, measures)
  } finally {
    await relay.stop()
  }
}

async function withLag(relay: Relay, rows: Row[]): Promise<Measure[]> {
  const lagMs = await relay.lagMs()
  return rows.map((row) => ({ ...row, lagMs }))
}

async function measureSubmits(lead: RelayClient, rounds: number): Promise<Row[]> {
  const folder = temporaryFolder()
  const log = join(folder, 'log')
  const command = [process.execPath, scriptedAgent, '--log', log]
  await lead.call('worker.spawn', { name: 'typist', cli: 'plain', command, cwd: folder })
  const small: number[] = []
  const large: number[] = []
  for (let i = 0; i < rounds; i++) {
    small.push(await submitMs(lead, log, 1_024))
    large.push(await submitMs(lead, log, 100 * 1_024))
  }
  await lead.call('worker.release', { name: 'typist' })
  const row = (measure: string, times: number[]): Row => {
    const ms = median(times)
    return { measure, value: `${ms.toFixed(0)} ms`, limit: `<= ${limits.submitMs} ms`, isMet: ms <= limits.submitMs }
  }
  return [row('send to text submitted, 1 KB, p50', small), row('send to text submitted, 100 KB, p50', large)]
}

/** The agent notes when Enter has come and how much it was given. */
async function submitMs(lead: RelayClient, log: string, bytes: number): Promise<number> {
  await sleep(idleMs)
  const body = 'x'.repeat(bytes)
  const from = Date.now()
  const { id } = await lead.call('message.send', { to: 'typist', body })
  for (;;) {
    const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []
    const line = lines.findLast((each) => each.includes(id) && each.includes(body))
    if (line !== undefined) return (JSON.parse(line) as { at: number }).at - from
    await sleep(5)
  }
}

/** The same program in a terminal of our own, in turns; it writes down when it began. */
async function measureSpawns(lead: RelayClient, rounds: number): Promise<Row> {
  const folder = temporaryFolder()
  const bare: number[] = []
  const hired: number[] = []
  for (let i = 0; i < rounds; i++) {
    const [first, second] = [join(folder, `bare-${i}`), join(folder, `worker-${i}`)]
    bare.push(await startMs(first, () => openBare(first, folder)))
    const name = `starter-${i}`
    hired.push(
      await startMs(second, () =>
        lead.call('worker.spawn', { name, cli: 'plain', command: program(second), cwd: folder }),
      ),
    )
    await lead.call('worker.release', { name })
  }
  const [value, floor] = [median(hired), median(bare)]
  return {
    measure: 'spawn call to process start, p50',
    value: `${value.toFixed(1)} ms`,
    floor: `${floor.toFixed(1)} ms`,
    limit: `+ ${limits.spawnMs} ms`,
    isMet: value - floor <= limits.spawnMs,
    note: `${(value - floor).toFixed(1)} ms over a bare terminal`,
  }
}

const program = (path: string) => ['/bin/sh', '-c', 'date +%s%N > "$0.new"; mv "$0.new" "$0"; exec sleep 5', path]

async function openBare(path: string, cwd: string): Promise<void> {
  const [file, ...args] = program(path) as [string, ...string[]]
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color' }
  const terminal = await openPty({ file, args, cwd, env, cols: 120, rows: 40 })
  const exited = new Promise((resolve) => terminal.onExit(resolve))
  await waitFor(path)
  process.kill(terminal.pid, 'SIGKILL')
  await exited
}

async function startMs(path: string, start: () => Promise<unknown>): Promise<number> {
  const from = performance.timeOrigin + performance.now()
  const started = start()
  await waitFor(path)
  const at = Number(readFileSync(path, 'utf8')) / 1e6
  await started
  return at - from
}

async function waitFor(path: string): Promise<void> {
  while (!existsSync(path)) await sleep(2)
}
