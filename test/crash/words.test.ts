// Three machines that share a workspace, each in a network of its own, of which one after the other is cut off, killed, stopped or started, while
// PostgreSQL is killed, restarted and replaced by a copy that is behind: all presence information is true within 20 s, each acknowledged or
// queued message comes once and in its order, and no read message is shown again. EVENTS=20 lets fewer happen.

import { Random } from '@agent-relay/prove/harness/random'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { isFull } from '../size.ts'
import { until } from '../until.ts'
import { seeded } from './harness/seeded.ts'
import { type Member, type Said, SharedTeam, verbs } from './harness/shared-team.ts'

const events = Number(process.env.EVENTS ?? 100)
/** One in each part of so many events, wherever the dice put it. */
const failoverEvery = 25
const wordMs = 20_000

let team: SharedTeam
let random: Random
/** How often something is said depends on time, and must not change what happens. */
let talkers: Random
let longestMs = 0
const counts = new Map<string, number>()

beforeAll(async () => {
  if (isFull) team = await SharedTeam.gather(['one', 'two', 'three'])
})
afterAll(() => team?.end())

/** What may be said of the agent on one machine by another, which is up. */
function truths(by: Member, of: Member): string[] {
  if (by === of) return ['there']
  if (team.isDown || by.cut) return ['unreachable']
  // One that was killed or cut off before it stopped could tell nobody.
  if (!of.isUp) return ['offline', 'unreachable']
  return of.cut ? ['unreachable'] : ['there']
}

const up = () => team.members.filter(({ isUp }) => isUp)

async function falseWords(): Promise<string[]> {
  const all = await Promise.all(up().map(falseWordsOf))
  return all.flat()
}

async function falseWordsOf(by: Member): Promise<string[]> {
  const { agents } = await by.actor.call('agent.list', { includeOffline: true })
  return team.members.flatMap((of) => {
    const status = agents.find(({ name }) => name === of.agent)?.status ?? 'unknown'
    const word = status === 'active' || status === 'idle' ? 'there' : status
    return truths(by, of).includes(word) ? [] : [`${by.name} says that ${of.agent} is ${word}`]
  })
}

/** What each daemon says of its own way to the server, in the list of its workspaces. */
async function falseTroubles(among = up(), wanted?: string): Promise<string[]> {
  const all = await Promise.all(
    among.map(async (by) => {
      const trouble = await by.trouble()
      const truth = wanted ?? (team.isDown || by.cut ? 'cut off' : 'none')
      return trouble === truth ? [] : [`${by.name} says of itself: ${trouble}`]
    }),
  )
  return all.flat()
}

/** Each that is up says something to another. */
function talk(): Promise<[Member, Said][]> {
  const pairs = up().map(
    (from) => [from, talkers.pick(team.members.filter((each) => each !== from)), talkers.pick(verbs)] as const,
  )
  return Promise.all(pairs.map(async ([from, to, verb]) => [from, await team.says(from, to, verb)] as [Member, Said]))
}

/** That it is not known is always true. */
const isTrue = ([from, { to, seen }]: [Member, Said]) =>
  seen === undefined ||
  (team.isDown || from.cut ? ['refused', 'queued'].includes(seen) : truths(from, to).includes(seen))

async function falseAnswers(): Promise<string[]> {
  const said = await talk()
  return said.filter((each) => !isTrue(each)).map(([from, { to, seen }]) => `${from.name} is told: ${to.agent} ${seen}`)
}

/** Answers how long it took. */
async function soon(untrue: () => Promise<string[]>): Promise<number> {
  let left: string[] = []
  const areTrue = async () => {
    left = await untrue()
    return left.length === 0
  }
  const ms = await until(areTrue, wordMs).catch(() => expect(left).toEqual([]) as never)
  longestMs = Math.max(longestMs, ms)
  return ms
}

const tenths = (ms: number) => (ms / 1_000).toFixed(1)

async function take(): Promise<void> {
  for (const each of team.members) await each.takes()
}

/** It answers what has happened. */
type Happening = (one: Member) => Promise<string>

const cutOrRestore: Happening = async (one) => {
  if (one.cut) {
    one.isRestored()
    return 'way restored'
  }
  const how = random.pick(team.ground.cuts)
  one.isCut(how)
  return `cut, ${how}`
}

const endOrStart: Happening = async (one) => {
  if (!one.isUp) {
    await one.starts()
    return 'started'
  }
  const signal = random.pick(['SIGKILL', 'SIGKILL', 'SIGTERM'] as const)
  await one.ends(signal)
  return signal === 'SIGKILL' ? 'killed' : 'stopped'
}

const killOrResume: Happening = async () => {
  if (team.isDown) {
    await team.resume()
    return 'PostgreSQL started'
  }
  team.kill()
  return 'PostgreSQL killed'
}

const restart: Happening = async () => {
  if (!team.isDown) team.kill()
  await team.resume()
  return 'PostgreSQL restarted'
}

const failover: Happening = async () => {
  await team.fallsBehind()
  for (let n = 0; n < 3; n++) {
    await talk()
    await take()
  }
  await team.failsOver()
  const lost = team.members.filter(({ hasLost, isReached }) => hasLost && isReached)
  await soon(() => falseTroubles(lost, 'cluster.diverged'))
  const said = await talk()
  for (const [from, { seen }] of said) if (lost.includes(from)) expect(['refused', 'queued']).toContain(seen)
  await take()
  await reconcile()
  await team.getsCopy()
  return 'failover'
}

async function reconcile(): Promise<void> {
  const first = random.below(team.members.length)
  for (const one of [...team.members.slice(first), ...team.members.slice(0, first)]) await team.reconciles(one)
}

/** Whatever is broken is more often put right than joined by more: where all are away, nothing can be lost. */
function next(one: Member): Happening {
  if (random.below(team.isDown ? 2 : 4) === 0) return random.pick([killOrResume, killOrResume, restart])
  const others = one.isUp ? [cutOrRestore, endOrStart] : [endOrStart, cutOrRestore]
  if (one.isUp && !one.cut) return random.pick(others)
  const [likely, unlikely] = others as [Happening, Happening]
  return random.below(4) === 0 ? unlikely : likely
}

async function happen(n: number, isFailover: boolean): Promise<void> {
  const one = random.pick(team.members)
  const happening = isFailover ? failover : next(one)
  const meanwhile = isFailover ? undefined : talk()
  const what = await happening(one)
  await reconcile()
  process.stdout.write(`words: event ${n}, ${one.name}: ${what}`)
  const wordsMs = Math.max(...(await Promise.all([soon(falseWords), soon(() => falseTroubles())])))
  await meanwhile
  const answersMs = await soon(falseAnswers)
  process.stdout.write(`; true after ${tenths(wordsMs)} s, answers after ${tenths(answersMs)} s more\n`)
  await take()
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

async function everythingComes(): Promise<void> {
  await team.resume()
  for (const one of team.members) {
    one.isRestored()
    if (!one.isUp) await one.starts()
  }
  await reconcile()
  // Once more, as the words of the first time say, for what had to wait for another machine.
  for (const one of team.members) one.owes = team.count.failovers > 0
  await reconcile()
  const acknowledged = [...team.acknowledged.values()].flat()
  await until(async () => {
    await take()
    const read = new Set(team.members.flatMap((each) => each.read))
    return acknowledged.every((body) => read.has(body))
  }, 4 * wordMs).catch(() => {})
}

/** Everything against the journal. */
async function audit(): Promise<void> {
  const journal = await team.journal()
  expect(journal.filter((body, n) => journal.indexOf(body) !== n)).toEqual([])
  expect(journal.filter((body) => team.refused.has(body))).toEqual([])
  for (const [sender, bodies] of team.acknowledged) {
    const isOf = (body: string) => body.startsWith(`${sender}: `) && !team.unsure.has(body)
    expect(journal.filter(isOf)).toEqual(bodies)
    expect(team.members.flatMap(({ read }) => read.filter(isOf))).toEqual(bodies)
  }
  for (const { agent, read } of team.members) {
    expect(read.toSorted()).toEqual(journal.filter((body) => body.includes(` to ${agent} by `)).toSorted())
  }
}

test.runIf(isFull)('words are true, and messages come once', { timeout: 200 * guardMs }, async () => {
  random = seeded('words')
  talkers = new Random(random.seed)
  await soon(falseWords)
  let failoverAt = 0
  for (let n = 0; n < events; n++) {
    if (n % failoverEvery === 0) failoverAt = n + random.below(Math.min(failoverEvery, events - n))
    await happen(n, n === failoverAt)
  }
  await everythingComes()
  await audit()
  const acknowledged = [...team.acknowledged.values()].flat().length
  const figures = { ...Object.fromEntries(counts), said: team.said, acknowledged, ...team.count }
  const others = {
    unsure: team.unsure.size,
    refused: team.refused.size,
    read: team.members.flatMap((m) => m.read).length,
  }
  process.stdout.write(`words: ${JSON.stringify({ ...figures, ...others })}\n`)
  process.stdout.write(`words: all true after ${tenths(longestMs)} s at the latest\n`)
})
