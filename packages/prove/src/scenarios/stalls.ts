// Readers stop reading while the daemon offers far more than its memory should hold: the daemon must cut them off with a reason, and they must find every
// message when they come back.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { messageBody, parseBody } from '../harness/history.ts'
import { LatencyProbe, type LatencyReport } from '../harness/latency-probe.ts'
import { MemoryMeter } from '../harness/meter.ts'
import { inTrial, settlesWithin, sleep, type Trial, type TrialOptions } from '../harness/processes.ts'
import { frameOf, RawConnection } from '../harness/raw.ts'

const bodyBytes = 100_000
/**
 * How long cutting off a reader may take before the trial fails: the daemon waits ten seconds for a reader that takes nothing, and a busy machine adds to that.
 */
const cutOffMsMax = waitLimitMs('prove')
export const stalledReaders = ['inbox', 'events', 'calls', 'pings', 'away'] as const

/**
 * Stalls all readers at once on one daemon, since each may cost the daemon only a little memory. The reader `away` stays away longer than the daemon waits with
 * its goodbye.
 */
export function stallReaders(offeredMb: number, readers: readonly Reader[], options: TrialOptions) {
  return inTrial(options, async (trial) => {
    const daemon = await trial.startDaemon()
    const probe = await LatencyProbe.start(trial)
    const sender = await RawConnection.connectAs(trial.socketPath, 'sender')
    const count = Math.ceil((offeredMb * 1e6) / bodyBytes)
    const calm = new MemoryMeter(daemon)
    const quiet = await measureQuietTraffic(trial, sender, probe, Math.max(300, Math.min(1_000, count)))
    // The peak memory, which is compared with the peak of the stalled phase: a single reading would depend on when memory was last collected.
    const rssMbBefore = calm.stop()
    const meter = new MemoryMeter(daemon)
    const stalled = await Promise.all(readers.map((name) => RawConnection.connectAs(trial.socketPath, name)))
    await Promise.all(stalled.map((raw) => raw.call('channel.join', { channel: '#flood', create: true })))
    const from = performance.now()
    for (const [i, raw] of stalled.entries()) stopReading(raw, readers[i] as Reader, count)
    // The readers may be cut off long before a slow machine has offered all.
    const offered = offer(trial, sender, '#flood', count).then(() => probe.report())
    const [busy, { cutOffSeconds, goodbyes }] = await Promise.all([
      offered,
      waitForCutOff(trial, offered, stalled, readers, from),
    ])
    const rssMbMax = meter.stop()
    const missed = await findMissed(trial, readers, count)
    const { failures } = await probe.end()
    const seconds = (performance.now() - from) / 1000
    return {
      offeredMb,
      seconds,
      // The daemon's peak memory: first with the same traffic and readers that read, then while the readers stall.
      rssMbBefore,
      rssMbMax,
      cutOffSeconds,
      goodbyes,
      missed,
      // The calls of an independent session: first without stalled readers, then with them.
      quiet,
      busy: { ...busy, failures },
    }
  })
}

type Reader = (typeof stalledReaders)[number]

/** Sends the same traffic to a reader that does read. The daemon's memory and the speed of the probe's calls are then the measure for the stalled phase. */
async function measureQuietTraffic(
  trial: Trial,
  sender: RawConnection,
  probe: LatencyProbe,
  count: number,
): Promise<LatencyReport> {
  const reader = await RawConnection.connectAs(trial.socketPath, 'calm')
  reader.onFrame = () => {}
  await reader.call('channel.join', { channel: '#quiet', create: true })
  await Promise.all([reader.call('inbox.follow', {}), reader.call('event.follow', { since: 0 })])
  await offer(trial, sender, '#quiet', count)
  await takeInbox(reader)
  await reader.end()
  return probe.report()
}

/** Makes a reader request a lot of data, each reader by different operations, and read none of it. */
function stopReading(raw: RawConnection, reader: Reader, count: number): void {
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
  // Small requests with small answers: since we do not read the answers, the daemon must stop reading further requests.
  if (reader === 'pings') raw.write(frameOf('PING', 'p', {}).repeat(100_000))
}

async function offer(trial: Trial, sender: RawConnection, channel: string, count: number): Promise<void> {
  await sender.call('channel.join', { channel, create: true })
  const padding = 'x'.repeat(bodyBytes)
  let next = 1
  const lane = async () => {
    while (next <= count) {
      const n = next++
      const body = messageBody('sender', channel, n, padding)
      const { type, payload } = await sender.call('message.send', { to: channel, body })
      if (type !== 'ACK') throw new Error(`${channel} ${n}: ${JSON.stringify(payload)}`)
      if (n % 10 === 0) trial.reportProgress(`${n} of ${count} messages of 100 KB offered in ${channel}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}

/** Asks the daemon who is online: a reader that it has cut off is not. Such a reader then reads on, because the daemon waits some seconds with its goodbye. */
async function waitForCutOff(
  trial: Trial,
  offered: Promise<unknown>,
  stalled: RawConnection[],
  readers: readonly Reader[],
  from: number,
) {
  // Seconds until the daemon cut off each reader, and the refusal code in its goodbye, as far as the reader could still read it.
  const cutOffSeconds: Record<string, number> = {}
  const goodbyes: Record<string, string | undefined> = {}
  const reading: Promise<void>[] = []
  const asker = await RawConnection.connectAs(trial.socketPath, 'asker')
  let deadline = Number.POSITIVE_INFINITY
  offered.then(
    () => {
      deadline = performance.now() + cutOffMsMax
    },
    () => {
      deadline = 0
    },
  )
  while (reading.length < readers.length && performance.now() < deadline) {
    const { payload } = await asker.call('agent.list', {})
    const there = new Set((payload.agents as { name: string }[]).map(({ name }) => name))
    for (const [i, name] of readers.entries()) {
      if (there.has(name) || cutOffSeconds[name] !== undefined) continue
      cutOffSeconds[name] = Math.round((performance.now() - from) / 100) / 10
      reading.push(readOn(stalled[i] as RawConnection, name, goodbyes))
      trial.reportProgress(`${reading.length} of ${readers.length} who do not read are cut off`)
    }
    await sleep(50)
  }
  await Promise.all(reading)
  await asker.end()
  return { cutOffSeconds, goodbyes }
}

/**
 * Lets a reader continue reading. A reader that comes in time receives the reason why it was cut off; the reader `away` comes too late, and finds its
 * connection ended.
 */
async function readOn(raw: RawConnection, reader: Reader, goodbyes: Record<string, string | undefined>): Promise<void> {
  if (reader === 'away') await sleep(7_000)
  raw.onFrame = ({ type, payload }) => {
    if (type === 'BYE' && payload.watch === undefined) goodbyes[reader] = payload.refusal.code
  }
  raw.socket.resume()
  if (!(await settlesWithin(waitLimitMs('prove'), raw.closed))) goodbyes[reader] = 'the connection stays open'
  await raw.end()
}

/** Returns, per reader, the messages that were missing, doubled or out of order when the reader came back. */
async function findMissed(
  trial: Trial,
  readers: readonly Reader[],
  count: number,
): Promise<Record<string, string | undefined>> {
  const missed: Record<string, string | undefined> = {}
  for (const reader of readers) {
    trial.reportProgress(`${reader} comes back`)
    const raw = await RawConnection.connectAs(trial.socketPath, reader)
    const found = reader === 'events' ? await takeEvents(raw) : await takeInbox(raw)
    const wrong = found.findIndex((n, i) => n !== i + 1)
    if (found.length !== count || wrong >= 0)
      missed[reader] = `${found.length} of ${count}; at ${wrong}: ${found.slice(wrong, wrong + 3)}`
    await raw.end()
  }
  return missed
}

async function takeInbox(raw: RawConnection): Promise<number[]> {
  const found: number[] = []
  raw.onFrame = () => {}
  for (;;) {
    const { type, payload } = await raw.call('inbox.take', { limit: 100 })
    if (type !== 'ACK') throw new Error(`the inbox was not handed out: ${type} ${JSON.stringify(payload)}`)
    const messages = payload.messages as { body: string }[]
    if (messages.length === 0) return found
    for (const { body } of messages) found.push(parseBody(body.slice(0, 100)).n)
  }
}

async function takeEvents(raw: RawConnection): Promise<number[]> {
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
