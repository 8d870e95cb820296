// A daemon under hardship, by the scenarios of test/crash and of `agent-relay prove`: the effect on other callers, against the same
// without it.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LatencyProbe } from '@agent-relay/prove/harness/latency-probe'
import { inTrial, type Trial } from '@agent-relay/prove/harness/processes'
import { Random } from '@agent-relay/prove/harness/random'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { fillDisk, howToMount } from '@agent-relay/prove/scenarios/full-disk'
import { hostileFrames } from '@agent-relay/prove/scenarios/fuzz'
import { stalledReaders, stallReaders } from '@agent-relay/prove/scenarios/stalls'
import { installedRelay } from 'agent-relay/dist/cli/own-relay.js'
import { Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { withSource } from './sources.ts'
import { against, type Measure } from './table.ts'

const many = 1_000
const few = 50
const restMs = 2_000

interface Stops {
  stopWithCallsInFlight(inFlight: number, waiting: number): Promise<{ seconds: number }>
  connectAtOnce(sessions: number): Promise<{ connectSeconds: number; stopSeconds: number }>
}

export function measureStops(rounds: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/stops.ts', async (stops: Stops) => {
    const [idle, busy, full, connects, bare]: number[][] = [[], [], [], [], []]
    for (let i = 0; i < rounds; i++) {
      idle?.push((await stops.stopWithCallsInFlight(1, 0)).seconds)
      busy?.push((await stops.stopWithCallsInFlight(many, many / 10)).seconds)
      const { connectSeconds, stopSeconds } = await stops.connectAtOnce(many)
      connects?.push(connectSeconds)
      full?.push(stopSeconds)
      bare?.push(await bareConnects(many))
    }
    const row = (measure: string, values: number[] = [], floors: number[] = [], max = 1) =>
      against(measure, { value: 1_000 * median(values), floor: 1_000 * median(floors), unit: 'ms', max })
    return [
      row('SIGTERM to the end, 1,000 requests in flight', busy, idle, 40),
      row('SIGTERM to the end, 1,000 sessions', full, idle, 40),
      row('1,000 sessions connect at once', connects, bare, 30),
    ]
  })
}

/** The floor: as many connections to a server that only answers a line. */
async function bareConnects(count: number): Promise<number> {
  const echo = new Child('echo')
  const path = join(temporaryFolder(), 'echo.sock')
  await echo.ask({ path })
  const from = performance.now()
  const sockets = await Promise.all(Array.from({ length: count }, () => bareConnect(path)))
  const seconds = (performance.now() - from) / 1_000
  for (const socket of sockets) socket.destroy()
  await echo.stop()
  return seconds
}

/** Tries again while the server's queue of connections is full, as our client does: Linux lets a few hundred wait, and refuses others with EAGAIN. */
async function bareConnect(path: string): Promise<Socket> {
  for (;;) {
    const socket = connect(path)
    socket.write('{}\n')
    const error = await once(socket, 'data').then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    )
    if (error === undefined) return socket
    if (error.code !== 'EAGAIN') throw error
    await nextTurn()
  }
}

interface Busy {
  rounds: { duringMs: number; withoutMs: number }[]
}

/** The longest that a question waited. A stall of ours comes in each round, one of somebody else on this machine does not. */
function besides(measure: string, { rounds }: Busy, max: number): Measure {
  const values = rounds.map(({ duringMs, withoutMs }) => ({ value: duringMs, floor: withoutMs, unit: 'ms', max }))
  return against(measure, values.sort((a, b) => a.value / a.floor - b.value / b.floor)[0] ?? { ...none, max })
}
const none = { value: Number.NaN, floor: 1, unit: 'ms' }

interface Backups {
  backUpUnderLoad(messages: number, rounds: number): Promise<Busy & { lagMsMax: number; backupMs: number }>
}

export function measureBackup(messages: number, rounds: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/backups.ts', async ({ backUpUnderLoad }: Backups) => {
    const report = await backUpUnderLoad(messages, rounds)
    const [value, floor] = [report.lagMsMax, report.backupMs]
    return [
      besides('a question during a backup, longest', report, 5),
      against("the event loop's longest lag, against the time of a backup", { value, floor, unit: 'ms', max: 0.25 }),
    ]
  })
}

interface Prunes {
  pruneUnderLoad(
    old: number,
    rounds: number,
    recent?: number,
  ): Promise<Busy & { pruneMs: number; bytes: number; freshBytes: number }>
}

export function measurePrune([few, all]: [number, number], rounds: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/prunes.ts', async ({ pruneUnderLoad }: Prunes) => [
    besides('a question during a pruning, longest', await pruneUnderLoad(few, rounds), 5),
    besides(
      `a question during a pruning of ${all.toLocaleString('en')} messages beside sends, longest`,
      await pruneUnderLoad(all, rounds),
      2.5,
    ),
  ])
}

/** A pruning of nine tenths of a workspace, beside 200 sends a second. */
export function measureLongPrune(messages: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/prunes.ts', async ({ pruneUnderLoad }: Prunes) => {
    const report = await pruneUnderLoad(messages * 0.9, 1, messages * 0.1)
    const what = `a pruning of nine tenths of ${messages.toLocaleString('en')} messages`
    const [value, floor] = [report.bytes / 1e6, report.freshBytes / 1e6]
    const note = `it took ${Math.round(report.pruneMs / 1_000)} s`
    return [
      { ...besides(`a question during ${what} beside sends, longest`, report, 2.5), note },
      against(`the database after ${what}, beside a fresh copy`, { value, floor, unit: 'MB', max: 1.2 }),
    ]
  })
}

interface Flood {
  flood(bytes: number): Promise<{ lagMs: number; grownMb: number; callMs: number }>
}

/** In this process, which is the daemon then. */
export function measureFlood(megabytes: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/flood.ts', async ({ flood }: Flood) => {
    const calm = await flood(1)
    const before = process.memoryUsage.rss() / 1e6
    const { lagMs, grownMb, callMs } = await flood(megabytes * 1e6)
    const what = `while a worker prints ${megabytes} MB`
    return [
      against(`event loop lag ${what}, p99`, { value: lagMs, floor: calm.lagMs, unit: 'ms', max: 10 }),
      against(`a send of another session ${what}, p99`, { value: callMs, floor: calm.callMs, unit: 'ms', max: 25 }),
      against(`resident ${what}`, { value: before + grownMb, floor: before, unit: 'MB', max: 1.7 }),
    ]
  })
}

export async function measureFrames(mutated: number): Promise<Measure[]> {
  const calm = await inTrial({ relay: installedRelay }, calmly)
  const { witness, rssMb } = await hostileFrames(Random.withNewSeed(), { mutated }, { relay: installedRelay })
  const what = `${mutated.toLocaleString('en')} hostile frames`
  return [
    against(`another session's call during ${what}, p99`, {
      ...{ value: witness.p99Ms, floor: calm, unit: 'ms', max: 15 },
      note: `longest ${witness.maxMs.toFixed(0)} ms`,
    }),
    against(`resident after ${what}`, { value: rssMb.after, floor: rssMb.warm, unit: 'MB', max: 1.3 }),
    against('resident after the longest lines', { value: rssMb.unkind, floor: rssMb.before, unit: 'MB', max: 2.3 }),
  ]
}

/** What the witness feels of nothing. */
async function calmly(scene: Trial): Promise<number> {
  await scene.startDaemon()
  const witness = await LatencyProbe.start(scene)
  await new Promise((resolve) => setTimeout(resolve, restMs))
  return (await witness.end()).p99Ms
}

export async function measureStalls(megabytes: number): Promise<Measure[]> {
  const { quiet, busy, rssMbMax, rssMbBefore } = await stallReaders(megabytes, stalledReaders, {
    relay: installedRelay,
  })
  const what = `readers that do not read ${megabytes} MB`
  return [
    against(`another session's call beside ${what}, p99`, {
      ...{ value: busy.p99Ms, floor: quiet.p99Ms, unit: 'ms', max: 5 },
    }),
    against(`resident with ${what}`, { value: rssMbMax, floor: rssMbBefore, unit: 'MB', max: 1.6 }),
  ]
}

/** The floor: a message of as many bytes that is stored. */
export async function measureDisk(): Promise<Measure[]> {
  const how = howToMount()
  if ('reason' in how) return [{ measure: 'a full disk', value: how.reason, lagMs: 0 }]
  const floor = await inTrial({ relay: installedRelay }, storedMs)
  const { refusalMs, resumedMs = Number.NaN } = await fillDisk(how.unshare, 6, { relay: installedRelay })
  return [
    against('a send refused by a full disk', { value: refusalMs, floor, unit: 'ms', max: 20 }),
    against('space freed to the next send stored', { value: resumedMs, floor, unit: 'ms', max: 100 }),
  ]
}

async function storedMs(scene: Trial): Promise<number> {
  await scene.startDaemon()
  const raw = await RawConnection.connectAs(scene.socketPath, 'from')
  const took: number[] = []
  for (let i = 0; i < 100; i++) {
    const from = performance.now()
    await raw.call('message.send', { to: '#general', body: 'x'.repeat(3_000) })
    took.push(performance.now() - from)
  }
  await raw.end()
  return median(took)
}

interface Loris {
  slowLoris(scene: Trial, daemon: object, count: number, isToTheEnd: boolean): Promise<{ p99Ms: number }>
}

export function measurePort(connections: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/loris.ts', ({ slowLoris }: Loris) =>
    inTrial({ relay: installedRelay }, async (scene) => {
      const daemon = await scene.startDaemon({ hasHttp: true })
      // What the first call loads is not counted.
      await slowLoris(scene, daemon, 0, false)
      const calm = await slowLoris(scene, daemon, few, true)
      const { p99Ms } = await slowLoris(scene, daemon, connections, true)
      const measure = `a call over HTTP beside ${connections.toLocaleString('en')} slow connections, p99`
      return [against(measure, { value: p99Ms, floor: calm.p99Ms, unit: 'ms', max: 20 })]
    }),
  )
}

interface Reads {
  reads(messages: number, conversations: number, ms: number): Promise<ReadReport>
}

interface ReadReport {
  rounds: { took: Record<string, { p99: number }>; calm: Stall; beside: Stall }[]
  stalls: Record<string, Stall>
  workAfterLeaving: number
}

interface Stall {
  p99: number
  longest: number
}

export function measureReads(messages: number, conversations: number, ms: number): Promise<Measure[]> {
  return withSource('test/crash/scenarios/reads.ts', async ({ reads }: Reads) => {
    const { rounds, stalls, workAfterLeaving } = await reads(messages, conversations, ms)
    const floor = median(rounds.map(({ calm }) => calm.p99))
    const best = (of: (round: ReadReport['rounds'][number]) => number) => Math.min(...rounds.map(of))
    const [slowest = ''] = Object.keys(stalls).sort((a, b) => longest(stalls, b) - longest(stalls, a))
    const among = `among ${messages.toLocaleString('en')} messages`
    return [
      against(`the slowest read of 10 newcomers ${among}, p99`, {
        ...{ value: best(({ took }) => Math.max(...Object.values(took).map(({ p99 }) => p99))), floor, unit: 'ms' },
        max: 50,
      }),
      against(`another session's call beside them, p99`, {
        ...{ value: best(({ beside }) => beside.p99), floor, unit: 'ms', max: 20 },
      }),
      against(`another session's longest call during a hard read ${among}`, {
        ...{ value: longest(stalls, slowest), floor: Math.max(...rounds.map(({ calm }) => calm.longest)), unit: 'ms' },
        ...{ max: 30, note: `during: ${slowest}` },
      }),
      against("the daemon's work of a second after a client has left", {
        ...{ value: 100 * workAfterLeaving, floor: 100, unit: '%', max: 0.5 },
      }),
    ]
  })
}

function longest(stalls: Record<string, Stall>, what: string): number {
  return stalls[what]?.longest ?? 0
}
