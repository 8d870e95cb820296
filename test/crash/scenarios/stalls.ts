// Readers that stop reading while far more is offered than memory should hold: cut off with a reason, and finding everything on return.

import { bodyOf, parseBody } from '../harness/history.ts'
import { type DaemonProcess, inScene, sleep } from '../harness/processes.ts'
import { frameOf, Raw } from '../harness/raw.ts'
import { type Testimony, Witness } from '../harness/witness.ts'

export interface StallReport {
  offeredMb: number
  seconds: number
  rssMbBefore: number
  rssMbMax: number
  /** Seconds until each reader was cut off. */
  cutOff: Record<string, number>
  /** The code of each goodbye, as far as it was still to be read. */
  goodbyes: Record<string, string | undefined>
  /** What each found missing, twice or out of order when it came back. */
  missed: Record<string, string | undefined>
  /** What another session felt: without a stalled reader, and with them. */
  quiet: Testimony
  busy: Testimony
}

const bodyBytes = 100_000
/** Twice as long as the daemon waits for a reader that takes nothing. */
const cutOffMsMax = 20_000
const all = ['inbox', 'events', 'calls', 'pings', 'away'] as const

/** All at once on one daemon: each may cost it only a little. `away` stays away longer than the daemon waits with its goodbye. */
export function stall(offeredMb: number, readers: readonly Reader[] = all): Promise<StallReport> {
  return inScene(async (scene) => {
    const daemon = await scene.startDaemon()
    const witness = await Witness.start(scene.socketPath)
    const sender = await Raw.as(scene.socketPath, 'sender')
    const count = Math.ceil((offeredMb * 1e6) / bodyBytes)
    const quiet = await calmly(scene.socketPath, sender, witness, Math.max(300, Math.min(1_000, count)))
    const meter = new Meter(daemon)
    const rssMbBefore = daemon.rssMb()
    const stalled = await Promise.all(readers.map((name) => Raw.as(scene.socketPath, name)))
    await Promise.all(stalled.map((raw) => raw.call('channel.join', { channel: '#flood' })))
    const from = performance.now()
    for (const [i, raw] of stalled.entries()) stopReading(raw, readers[i] as Reader, count)
    await offer(sender, '#flood', count)
    const busy = witness.testify()
    const cutOff = await waitForCutOff(sender, readers, from)
    const goodbyes = await readOn(stalled, readers)
    const rssMbMax = meter.stop()
    const missed = await comeBack(scene.socketPath, readers, count)
    const { failures } = await witness.end()
    const seconds = (performance.now() - from) / 1000
    return { offeredMb, seconds, rssMbBefore, rssMbMax, cutOff, goodbyes, missed, quiet, busy: { ...busy, failures } }
  })
}

type Reader = (typeof all)[number]

/** The same traffic with a reader that reads: what the daemon needs and the witness feels then is the measure for later. */
async function calmly(socketPath: string, sender: Raw, witness: Witness, count: number): Promise<Testimony> {
  const reader = await Raw.as(socketPath, 'calm')
  reader.onFrame = () => {}
  await reader.call('channel.join', { channel: '#quiet' })
  await Promise.all([reader.call('inbox.follow', {}), reader.call('event.follow', { since: 0 })])
  await offer(sender, '#quiet', count)
  await takeInbox(reader)
  await reader.end()
  return witness.testify()
}

/** Each asks for a lot in its own way, and takes nothing of it. */
function stopReading(raw: Raw, reader: Reader, count: number): void {
  raw.socket.pause()
  if (reader === 'inbox' || reader === 'away') raw.write(frameOf('CALL', 'f', { op: 'inbox.follow', input: {} }))
  if (reader === 'events') raw.write(frameOf('CALL', 'f', { op: 'event.follow', input: { since: 0 } }))
  if (reader === 'calls') {
    const asking = setInterval(() => {
      if (raw.isClosed || count-- <= 0) return clearInterval(asking)
      if (raw.socket.writableLength < 1e6)
        raw.write(frameOf('CALL', `c${count}`, { op: 'inbox.peek', input: { limit: 500 } }))
    }, 5)
  }
  // Small questions with small answers: what is unread by us must stop the daemon from reading more of them.
  if (reader === 'pings') raw.write(frameOf('PING', 'p', {}).repeat(100_000))
}

async function offer(sender: Raw, channel: string, count: number): Promise<void> {
  await sender.call('channel.join', { channel })
  const padding = 'x'.repeat(bodyBytes)
  let next = 1
  const lane = async () => {
    while (next <= count) {
      const n = next++
      const body = bodyOf('sender', channel, n, padding)
      const { type, payload } = await sender.call('message.send', { to: channel, body })
      if (type !== 'ACK') throw new Error(`${channel} ${n}: ${JSON.stringify(payload)}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}

/** The daemon tells who is there: whom it has cut off is not. */
async function waitForCutOff(asker: Raw, readers: readonly Reader[], from: number): Promise<Record<string, number>> {
  const cutOff: Record<string, number> = {}
  const deadline = performance.now() + cutOffMsMax
  while (Object.keys(cutOff).length < readers.length && performance.now() < deadline) {
    const { payload } = await asker.call('agent.list', {})
    const there = new Set((payload.agents as { name: string }[]).map(({ name }) => name))
    for (const name of readers) if (!there.has(name)) cutOff[name] ??= Math.round((performance.now() - from) / 100) / 10
    await sleep(50)
  }
  return cutOff
}

/** Those who read on in time hear why; the one that stays away finds its connection ended. */
async function readOn(stalled: Raw[], readers: readonly Reader[]): Promise<Record<string, string | undefined>> {
  const goodbyes: Record<string, string | undefined> = {}
  const heard = async (raw: Raw, reader: Reader) => {
    if (reader === 'away') await sleep(7_000)
    raw.onFrame = ({ type, payload }) => {
      if (type === 'BYE' && payload.watch === undefined) goodbyes[reader] = payload.refusal.code
    }
    raw.socket.resume()
    await Promise.race([raw.closed, sleep(10_000)])
    if (!raw.isClosed) goodbyes[reader] = 'the connection stays open'
    await raw.end()
  }
  await Promise.all(stalled.map((raw, i) => heard(raw, readers[i] as Reader)))
  return goodbyes
}

async function comeBack(
  socketPath: string,
  readers: readonly Reader[],
  count: number,
): Promise<Record<string, string | undefined>> {
  const missed: Record<string, string | undefined> = {}
  for (const reader of readers) {
    const raw = await Raw.as(socketPath, reader)
    const found = reader === 'events' ? await takeEvents(raw) : await takeInbox(raw)
    const wrong = found.findIndex((n, i) => n !== i + 1)
    if (found.length !== count || wrong >= 0)
      missed[reader] = `${found.length} of ${count}; at ${wrong}: ${found.slice(wrong, wrong + 3)}`
    await raw.end()
  }
  return missed
}

async function takeInbox(raw: Raw): Promise<number[]> {
  const found: number[] = []
  raw.onFrame = () => {}
  for (;;) {
    const { payload } = await raw.call('inbox.take', { limit: 100 })
    const messages = payload.messages as { body: string }[]
    if (messages.length === 0) return found
    for (const { body } of messages) found.push(parseBody(body.slice(0, 100)).n)
  }
}

async function takeEvents(raw: Raw): Promise<number[]> {
  const found: number[] = []
  raw.onFrame = () => {}
  for (let since = 0; ; ) {
    const { payload } = await raw.call('event.list', { since, types: ['message.created'], limit: 500 })
    for (const { message } of payload.events as { message: { channel?: string; body: string } }[])
      if (message.channel === '#flood') found.push(parseBody(message.body.slice(0, 100)).n)
    if (payload.next === since) return found
    since = payload.next
  }
}

/** Looks twenty times a second. */
class Meter {
  readonly #timer: NodeJS.Timeout
  readonly #daemon: DaemonProcess
  #max = 0

  constructor(daemon: DaemonProcess) {
    this.#daemon = daemon
    this.#timer = setInterval(() => this.#look(), 50)
  }

  stop(): number {
    this.#look()
    clearInterval(this.#timer)
    return this.#max
  }

  #look(): void {
    this.#max = Math.max(this.#max, this.#daemon.rssMb())
  }
}
