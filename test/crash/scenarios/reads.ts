// Reads of a caller who may see little, or everything, in a workspace of a million messages: their cost, and the effect on another session.

import { readFileSync } from 'node:fs'
import { type DaemonProcess, inTrial, sleep, type Trial } from '@agent-relay/prove/harness/processes'
import { type Frame, RawConnection } from '@agent-relay/prove/harness/raw'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { fill, overseer, recluse, roomOf, smallRoom } from '../harness/million.ts'

/** From one call of another session to the next; how soon somebody leaves, and how long the daemon is watched then. */
const [betweenMs, leaveMs, watchedMs] = [1, 50, 1_000]

export interface ReadReport {
  messages: number
  fillSeconds: number
  /** Ten newcomers at once, who see nothing: at the beginning, after the hard reads, and at the end. */
  rounds: Round[]
  /** How long calls of another session took while each of the hard reads ran. */
  stalls: Record<string, Stall>
  /** Milliseconds of one whole answer, asked on until it was complete, and in how many calls. */
  hard: Record<string, { ms: number; calls: number; found: number }>
  /** Of a second after somebody asked for much and left, how much the daemon worked. */
  workAfterLeaving: number
}

export interface Round {
  /** Milliseconds of each operation: half of the calls, and all but one in a hundred. */
  took: Record<string, { p50: number; p99: number; calls: number }>
  /** How long calls of another session took before the newcomers came, and beside them. */
  calm: Stall
  beside: Stall
}

export interface Stall {
  calls: number
  p99: number
  longest: number
}

type Ask = [op: string, input: Record<string, unknown>]

const asked: Record<string, Ask> = {
  search: ['message.search', { text: 'common' }],
  'event.list': ['event.list', {}],
  'event.list since 0': ['event.list', { since: 0, types: ['message.*', 'delivery.*'] }],
  'message.list': ['message.list', { conversation: roomOf(1) }],
  'conversation.list': ['conversation.list', {}],
  'agent.mail': ['agent.mail', { box: 'sent' }],
  thread: ['message.thread', { thread: 'nothing' }],
}

export function reads(messages: number, conversations: number, ms: number): Promise<ReadReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    await (await scene.startDaemon()).end('SIGTERM')
    const from = performance.now()
    fill(scene.databasePath, messages, conversations)
    const fillSeconds = Math.round((performance.now() - from) / 1000)
    const daemon = await scene.startDaemon()
    const names = Array.from({ length: 10 }, (_, i) => `newcomer-${i}`)
    const newcomers = await Promise.all(names.map((name) => RawConnection.connectAs(scene.socketPath, name)))
    const other = new Other(await RawConnection.connectAs(scene.socketPath, 'other'))
    const stalls: ReadReport['stalls'] = {}
    const during = async <T>(what: string, work: Promise<T>): Promise<T> => {
      other.took()
      const result = await work
      stalls[what] = other.took()
      return result
    }
    const rounds: Round[] = []
    const round = async () => {
      other.took()
      await sleep(ms / 4)
      const calm = other.took()
      const took = await newcomersAt(newcomers, names, ms)
      rounds.push({ took, calm, beside: other.took() })
    }
    await round()
    const one = async (name: string) => await RawConnection.connectAs(scene.socketPath, name)
    const holder = await holderOf(scene)
    const [little, much] = [await one(recluse), await one(overseer)]
    const hard: ReadReport['hard'] = {}
    const hardOnes: Record<string, [RawConnection, Ask]> = {
      'first search, which fills the index': [holder, ['message.search', { text: 'heron nowhere' }]],
      'little seen, common word': [little, ['message.search', { text: 'common', limit: 500 }]],
      'all seen, common word': [much, ['message.search', { text: 'common', limit: 100 }]],
      'all seen, rare word': [much, ['message.search', { text: 'heron', limit: 100 }]],
      'all seen, beginning of one letter': [much, ['message.search', { text: 'z*', limit: 100 }]],
      'holder, from nobody': [holder, ['message.search', { text: 'common', from: 'ghost' }]],
      'holder, a small room': [holder, ['message.search', { text: 'common', channel: smallRoom }]],
      'holder, events of a kind that never was': [holder, ['event.list', { since: 0, types: ['run.*'], limit: 1_000 }]],
      'all seen, 2,000 events from the first': [much, ['event.list', { since: 0, limit: 1_000 }]],
      'unread from nobody': [much, ['inbox.peek', { from: 'ghost' }]],
      'take from nobody': [much, ['inbox.take', { from: 'ghost' }]],
      'take from a thread that never was': [much, ['inbox.take', { thread: 'nothing' }]],
      'mark a thread that never was as read': [much, ['inbox.read', { thread: 'nothing' }]],
      'take the oldest of a thousand rooms': [much, ['inbox.take', {}]],
    }
    for (const [what, [raw, ask]] of Object.entries(hardOnes)) hard[what] = await during(what, whole(raw, ask))
    await round()
    const ten = Promise.all(
      Array.from({ length: 10 }, () => whole(much, ['message.search', { text: 'heron nowhere' }])),
    )
    await during('ten long searches at once', ten)
    await round()
    const workAfterLeaving = await leave(scene, daemon)
    other.stop()
    return { messages, fillSeconds, rounds, stalls, hard, workAfterLeaving }
  })
}

/** Makes one call after the other, and keeps how long each took. */
class Other {
  #tookMs: number[] = []
  #isOver = false

  constructor(raw: RawConnection) {
    void this.#go(raw)
  }

  /** The calls since the last report. */
  took(): Stall {
    const sorted = this.#tookMs.sort((a, b) => a - b)
    this.#tookMs = []
    const at = (share: number) =>
      hundredths(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
    return { calls: sorted.length, p99: at(0.99), longest: at(1) }
  }

  stop(): void {
    this.#isOver = true
  }

  async #go(raw: RawConnection): Promise<void> {
    while (!this.#isOver) {
      const from = performance.now()
      await raw.call('inbox.count', {})
      this.#tookMs.push(performance.now() - from)
      await sleep(betweenMs)
    }
  }
}

async function newcomersAt(raws: RawConnection[], names: string[], ms: number): Promise<Round['took']> {
  const took: Record<string, number[]> = Object.fromEntries(Object.keys(asked).map((what) => [what, []]))
  const until = performance.now() + ms
  const go = async (raw: RawConnection, agent: string) => {
    while (performance.now() < until) {
      for (const [what, [op, input]] of Object.entries(asked)) {
        const from = performance.now()
        const answer = await raw.call(op, op === 'agent.mail' ? { ...input, agent } : input)
        if (answer.type !== 'ACK') throw new Error(JSON.stringify(answer.payload))
        took[what]?.push(performance.now() - from)
        const seen = answer.payload.messages?.length ?? 0
        if (seen > 0) throw new Error(`${what} showed ${seen} messages to a newcomer`)
      }
    }
  }
  await Promise.all(raws.map((raw, i) => go(raw, names[i] as string)))
  return Object.fromEntries(
    Object.entries(took).map(([what, times]) => {
      const sorted = times.sort((a, b) => a - b)
      const at = (share: number) =>
        hundredths(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number)
      return [what, { p50: at(0.5), p99: at(0.99), calls: times.length }]
    }),
  )
}

/** Asks for page after page, until the answer is complete or has two thousand rows. */
async function whole(raw: RawConnection, [op, input]: Ask): Promise<{ ms: number; calls: number; found: number }> {
  const from = performance.now()
  let [calls, found] = [0, 0]
  for (let on: Record<string, unknown> | undefined = {}; on !== undefined && found < 2_000; ) {
    const { type, payload }: Frame = await raw.call(op, { ...input, ...on })
    if (type !== 'ACK') throw new Error(JSON.stringify(payload))
    calls++
    found += (payload.messages ?? payload.events ?? []).length
    const limit = (input.limit as number | undefined) ?? 20
    const isFull = op === 'message.search' && found >= limit
    if (op === 'event.list') on = payload.more ? { since: payload.next } : undefined
    else on = payload.next === undefined || isFull ? undefined : { before: payload.next }
  }
  return { ms: hundredths(performance.now() - from), calls, found }
}

/** Asks forty long questions and disconnects. Resolves with the share of the next second in which the daemon worked. */
async function leave(scene: Trial, daemon: DaemonProcess): Promise<number> {
  const leavers = await Promise.all(Array.from({ length: 5 }, () => holderOf(scene)))
  for (const raw of leavers) {
    for (let i = 0; i < 8; i++) void raw.call('event.list', { since: 0, types: ['run.*'], limit: 1_000 })
  }
  await sleep(leaveMs)
  await Promise.all(leavers.map((raw) => raw.end()))
  await sleep(leaveMs)
  const before = workedMs(daemon)
  await sleep(watchedMs)
  return hundredths((workedMs(daemon) - before) / watchedMs)
}

/** In hundredths of a second, as Linux counts. */
function workedMs({ pid }: DaemonProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') as string[]
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function holderOf({ socketPath, key }: Trial): Promise<RawConnection> {
  return RawConnection.connectAs(socketPath, 'owner', { type: 'human', key })
}

const hundredths = (ms: number): number => Math.round(ms * 100) / 100
