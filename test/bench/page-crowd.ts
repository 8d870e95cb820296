// The page of a large workspace in a real browser, while messages come at a steady pace: its longest task, and whether its memory grows. The floor is
// the same page before anybody and anything was there. Without Chromium there are no such rows.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RelayClient } from '@agent-relay/sdk'
import { median } from './figures.ts'
import type { Relay } from './relay.ts'
import { against, type Measure } from './table.ts'
import { type Page, withPage } from './with-page.ts'

const [agents, perSecond, batch] = [100, 50, 500]
const channel = '#many'
const views = [`#/talk/${encodeURIComponent(channel)}`, '#/now']
const text = 'A line of some words, as agents write them to each other while they work.'
/** Rounds whose median is the memory at the beginning, and at the end. */
const heapRounds = 3
/** The longest task that nobody notices. */
const taskMsMax = 50

export interface CrowdSize {
  messages: number
  /** Each has both views, one after the other. */
  rounds: number
  seconds: number
}

interface Strain {
  longestMs: number
  heapMb: number
}

interface Strains {
  strain(page: Page, hash: string, flood: (seconds: number) => Promise<void>, seconds: number): Promise<Strain>
}

export function measurePageCrowd(size: CrowdSize): Promise<Measure[]> {
  return withPage<Strains>(async (relay, page, { strain }) => {
    const crowd = [await newcomer(relay, 0), await newcomer(relay, 1)]
    const round = async () => {
      const strains: Strain[] = []
      for (const hash of views) strains.push(await strain(page, hash, (s) => flood(crowd, s), size.seconds))
      return strains
    }
    const empty = [await round(), await round()]
    for (let n = 2; n < agents; n++) crowd.push(await newcomer(relay, n))
    await fill(crowd, size.messages)
    const full: Strain[][] = []
    for (let n = 0; n < size.rounds; n++) full.push(await round())
    const lagMs = await relay.lagMs()
    return rowsOf(empty, full, size).map((row) => ({ ...row, lagMs }))
  })
}

function rowsOf(empty: Strain[][], full: Strain[][], { messages, rounds, seconds }: CrowdSize): Measure[] {
  const longest = (strains: Strain[][]) => strains.flat().map(({ longestMs }) => longestMs)
  // After both views of a round, so that samples are of the same view.
  const heaps = full.map((strains) => strains.at(-1)?.heapMb ?? 0)
  const where = `the page with ${agents} agents and ${messages.toLocaleString('en')} messages at ${perSecond}/s`
  const [most, usual] = [Math.max(...longest(full)), median(longest(full))]
  const minutes = ((rounds * views.length * seconds) / 60).toFixed(0)
  return [
    against(`${where}, longest task in ten seconds`, {
      ...{ value: usual, floor: median(longest(empty)), unit: 'ms', max: 3 },
      note: `the longest of ${longest(full).length} times ten seconds: ${most.toFixed(1)} ms, where ${taskMsMax} ms would be noticed`,
    }),
    against(`${where}, memory after ${minutes} minutes`, {
      ...{ value: median(heaps.slice(-heapRounds)), floor: median(heaps.slice(0, heapRounds)), unit: 'MB', max: 1.25 },
      note: `after each round: ${heaps.map((mb) => mb.toFixed(1)).join(', ')} MB; the floor is its beginning`,
    }),
  ]
}

const nameOf = (n: number) => `Agent${String(n).padStart(3, '0')}`

async function newcomer(relay: Relay, n: number): Promise<RelayClient> {
  const client = await relay.client(nameOf(n))
  await client.call('channel.join', { channel, create: true })
  return client
}

async function fill([writer]: RelayClient[], messages: number): Promise<void> {
  for (let n = 0; n < messages; n += batch)
    await Promise.all(Array.from({ length: batch }, (_, i) => writer?.send(channel, `${n + i} ${text}`)))
}

/** Every second message goes to the channel, the others from one agent to another. */
async function flood(crowd: RelayClient[], seconds: number): Promise<void> {
  const start = performance.now()
  const sending: Promise<unknown>[] = []
  for (let i = 0; i < seconds * perSecond; i++) {
    const at = i % crowd.length
    const to = i % 2 === 0 ? channel : nameOf((at + 1) % crowd.length)
    const sender = crowd[at] as RelayClient
    sending.push(sender.send(to, `${i} ${text}`))
    await sleep(Math.max(0, start + ((i + 1) * 1000) / perSecond - performance.now()))
  }
  await Promise.all(sending)
}
