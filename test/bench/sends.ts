// The cost of a durable send beside its floors: a bare echo over a Unix socket and a bare commit of the same driver.

import { join } from 'node:path'
import { Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { startRelay } from './relay.ts'
import type { DriverAnswer } from './roles/driver.ts'
import type { LoadAnswer } from './roles/load.ts'
import type { Measure } from './table.ts'
import { measureTruth } from './truth.ts'

export interface Rounds {
  rounds: number
  /** Each part of a round. */
  ms: number
}

const bodyBytes = 1024
const inFlightMany = 64

interface Round {
  echo: LoadAnswer
  driver: DriverAnswer
  relay: LoadAnswer
}

/** Both measures share their processes: echo, driver and relay take turns, so that a noisy neighbour disturbs all of them alike. */
export async function measureSends({ rounds, ms }: Rounds): Promise<Measure[]> {
  const [echo, driver, load, relay] = [new Child('echo'), new Child('driver'), new Child('load'), await startRelay()]
  const folder = temporaryFolder()
  const echoPath = join(folder, 'echo.sock')
  await echo.ask({ path: echoPath })
  await relay.client('Bob')
  const round = async (inFlight: number): Promise<Round> => {
    const client = { to: 'Bob', inFlight, ms, bodyBytes }
    return {
      echo: await load.ask({ ...client, path: echoPath }),
      driver: await driver.ask({ path: join(folder, 'bare.db'), perCommit: inFlight, ms, bodyBytes }),
      relay: await load.ask({ ...client, path: relay.socketPath, name: 'Alice' }),
    }
  }
  await round(inFlightMany) // Warm: compiled, and the files have some size.
  const many: Round[] = []
  const single: Round[] = []
  for (let i = 0; i < rounds; i++) {
    many.push(await round(inFlightMany))
    single.push(await round(1))
  }
  const lagMs = await relay.lagMs()
  await Promise.all([echo.stop(), driver.stop(), load.stop(), relay.stop()])
  const truth = measureTruth(median(single.map(floorOf)), bodyBytes, lagMs)
  return [...manyInFlight(many, lagMs), oneAtATime(single, lagMs), ...truth]
}

/** Two rows of the same sends: against both floors in turn, and against the slower of the two alone. */
function manyInFlight(rounds: Round[], lagMs: number): Measure[] {
  const value = median(rounds.map(({ relay }) => relay.perSecond))
  const [echo, driver] = [median(rounds.map((r) => r.echo.perSecond)), median(rounds.map((r) => r.driver.perSecond))]
  const p99 = ms(median(rounds.map(({ relay }) => relay.p99Ms)))
  const row = (what: string, floorOf: (round: Round) => number, least: number): Measure => {
    const ratio = median(rounds.map((round) => round.relay.perSecond / floorOf(round)))
    return {
      measure: `durable sends of 1 KB, 64 in flight${what}`,
      value: `${Math.round(value)}/s`,
      floor: `${Math.round(median(rounds.map(floorOf)))}/s`,
      ratio,
      limit: `>= ${least.toFixed(2)}`,
      isMet: ratio >= least,
      lagMs,
    }
  }
  const note = `echo ${Math.round(echo)}/s, bare driver at 64 a commit ${Math.round(driver)}/s; p99 of a send ${p99}`
  return [{ ...row('', inTurn, 0.5), note }, row(', to the slower floor', slower, 0.42)]
}

function slower({ echo, driver }: Round): number {
  return Math.min(echo.perSecond, driver.perSecond)
}

/** One thread does both for each send: it takes in the message, and writes it. */
function inTurn({ echo, driver }: Round): number {
  return 1 / (1 / echo.perSecond + 1 / driver.perSecond)
}

function oneAtATime(rounds: Round[], lagMs: number): Measure {
  const value = median(rounds.map(({ relay }) => relay.p50Ms))
  const ratio = median(rounds.map((round) => round.relay.p50Ms / floorOf(round)))
  const [echo, commit] = [median(rounds.map((r) => r.echo.p50Ms)), median(rounds.map((r) => r.driver.commitP50Ms))]
  return {
    measure: 'one send acknowledged, p50',
    value: ms(value),
    floor: ms(median(rounds.map(floorOf))),
    ratio,
    limit: '<= 1.70',
    isMet: ratio <= 1.7,
    lagMs,
    note: `echo ${ms(echo)} + one commit ${ms(commit)}; p99 ${ms(median(rounds.map(({ relay }) => relay.p99Ms)))}`,
  }
}

function floorOf({ echo, driver }: Round): number {
  return echo.p50Ms + driver.commitP50Ms
}

export function ms(value: number): string {
  return `${value.toFixed(value < 1 ? 3 : 1)} ms`
}
