// Three machines that share a workspace, of which one after the other is cut off, stopped or started, and the database is killed: every word about who
// is there is true within 20 s, everything acknowledged or queued comes once and in its order, and nothing that was read is shown again.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Machine } from '../../packages/relay/tests/cluster/machine.ts'
import { PostgresServer } from '../../packages/relay/tests/cluster/postgres-server.ts'
import { guardMs } from '../guard.ts'
import { Actor } from '../plays/play.ts'
import { isFull } from '../size.ts'
import { until } from '../until.ts'
import { seeded } from './harness/seeded.ts'
import { Way } from './harness/way.ts'

const events = 100
const wordMs = 20_000

type State = 'up' | 'cut' | 'stopped'

class Member {
  readonly machine: Machine
  readonly way: Way
  readonly actor: Actor
  state: State = 'up'
  /** What others were told is stored or kept for this agent, by sender. */
  readonly due = new Map<string, string[]>()
  /** Whether these were stored is not known. */
  readonly unsure = new Set<string>()
  readonly read: string[] = []

  constructor(machine: Machine, way: Way) {
    this.machine = machine
    this.way = way
    this.actor = new Actor(machine.connector('team'), { name: this.name })
  }

  /** Its client has noticed, too. */
  async starts(): Promise<void> {
    await this.machine.start()
    await until(() => this.actor.client.connected)
  }

  get name(): string {
    return `on-${this.machine.name}`
  }

  /** What was shown is marked as read at once: from then on it must not be shown again. */
  async takes(): Promise<void> {
    if (this.state === 'stopped') return
    const { messages } = await this.actor.call('inbox.take', { limit: 100 })
    if (messages.length === 0) return
    for (const { body } of messages) expect(this.read).not.toContain(body)
    await this.actor.call('inbox.read', { messages: messages.map(({ id }) => id) })
    this.read.push(...messages.map(({ body }) => body))
  }
}

let server: PostgresServer
let isDown = false
const members: Member[] = []

beforeAll(async () => {
  if (!isFull) return
  server = await PostgresServer.start()
  const world = await server.cluster('words')
  for (const name of ['one', 'two', 'three']) {
    const way = new Way(server.folder)
    members.push(new Member(await Machine.start(name, world, { host: way.folder, onTrouble: () => {} }), way))
  }
  const [first, ...others] = members as [Member, ...Member[]]
  await first.machine.open('team')
  await first.machine.control('workspace.share', { workspace: 'team' })
  for (const { machine } of others) await machine.control('workspace.open', { workspace: 'team', mustExist: true })
  for (const { actor } of members) await actor.client.connect()
})
afterAll(async () => {
  for (const { actor } of members) await actor.leaves().catch(() => {})
  for (const { machine, way } of members) {
    await machine.close()
    way.end()
  }
  server?.end()
})

/** What may be said of the agent on one machine by another, which is up or cut off. */
function truths(by: Member, of: Member): string[] {
  if (by === of) return ['there']
  if (isDown || by.state === 'cut') return ['unreachable']
  // One that was cut off before it stopped could tell nobody.
  if (of.state === 'stopped') return ['offline', 'unreachable']
  return of.state === 'cut' ? ['unreachable'] : ['there']
}

async function falseWords(): Promise<string[]> {
  const found: string[] = []
  for (const by of members) {
    if (by.state === 'stopped') continue
    const { agents } = await by.actor.call('agent.list', { includeOffline: true })
    for (const of of members) {
      const status = agents.find(({ name }) => name === of.name)?.status ?? 'unknown'
      const word = status === 'active' || status === 'idle' ? 'there' : status
      if (!truths(by, of).includes(word)) found.push(`${by.machine.name} says that ${of.name} is ${word}`)
    }
  }
  return found
}

let said = 0
/** Each that is up says something to another, and lets it wait where it cannot be sent. */
async function talk(pick: <T>(from: readonly T[]) => T): Promise<void> {
  for (const from of members) {
    if (from.state === 'stopped') continue
    const to = pick(members.filter((each) => each !== from))
    const body = `${from.name} ${++said}`
    const kept = await from.actor.call('message.queue', { to: to.name, body }).catch(({ code }) => {
      expect(['connection.lost', 'daemon.stopping', 'cluster.unknown']).toContain(code)
      to.unsure.add(body)
      return undefined
    })
    if (kept) to.due.set(from.name, [...(to.due.get(from.name) ?? []), body])
  }
}

test.runIf(isFull)('words are true, and messages come once', { timeout: 200 * guardMs }, async () => {
  const random = seeded('words')
  const happens = [
    async (one: Member) => {
      if (one.state === 'stopped') return
      one.state = one.state === 'cut' ? 'up' : 'cut'
      one.way.loses = one.state === 'cut' ? 'all' : 'nothing'
      if (one.state === 'up') one.way.hangUp()
    },
    async (one: Member) => {
      if (one.state === 'cut') return
      if (one.state === 'up') await one.machine.stop()
      else await one.starts()
      one.state = one.state === 'up' ? 'stopped' : 'up'
    },
    async () => {
      if (isDown) await server.resume()
      else server.kill()
      isDown = !isDown
    },
  ]
  await until(async () => (await falseWords()).length === 0)
  let longestMs = 0
  for (let n = 0; n < events; n++) {
    await random.pick(happens)(random.pick(members))
    await talk((from) => random.pick(from))
    let left: string[] = []
    const areTrue = async () => {
      left = await falseWords()
      return left.length === 0
    }
    longestMs = Math.max(longestMs, await until(areTrue, wordMs).catch(() => expect(left).toEqual([]) as never))
    for (const each of members) await each.takes()
  }
  if (isDown) await server.resume()
  isDown = false
  for (const one of members) {
    one.way.loses = 'nothing'
    one.way.hangUp()
    if (one.state === 'stopped') await one.starts()
    one.state = 'up'
  }
  const isAll = (one: Member) => [...one.due.values()].flat().every((body) => one.read.includes(body))
  await until(async () => {
    for (const one of members) await one.takes()
    return members.every(isAll)
  }, 4 * wordMs)
  for (const one of members) {
    expect(new Set(one.read).size).toBe(one.read.length)
    for (const [from, bodies] of one.due)
      expect(one.read.filter((body) => body.startsWith(`${from} `) && !one.unsure.has(body))).toEqual(bodies)
  }
  process.stdout.write(
    `words: ${events} events, ${said} messages, all words true after ${Math.round(longestMs / 100) / 10} s at the latest\n`,
  )
})
