// What `/metrics` says of a shared workspace: how old this machine's copy may be, and how many messages wait for the database.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { LaptopAndBox, workspace } from './laptop-and-box.ts'

let place: LaptopAndBox
beforeAll(async () => {
  place = await LaptopAndBox.start(() => {}, { http: { host: '127.0.0.1', port: 0 } })
  await place.laptop.open('alone')
})
afterAll(() => place?.close())

/** The samples of both metrics, by the workspace's name. */
async function figures(): Promise<{ lag: Record<string, number>; outbox: Record<string, number> }> {
  const key = readFileSync(join(place.laptop.dataDir, 'metrics-key'), 'utf8').trim()
  const answer = await fetch(`${place.laptop.url}/metrics`, { headers: { authorization: `Bearer ${key}` } })
  const text = await answer.text()
  const samples = (name: string) =>
    Object.fromEntries(
      [...text.matchAll(new RegExp(`^agent_relay_${name}\\{workspace="(\\w+)"\\} (\\S+)$`, 'gm'))].map(
        ([, where, value]) => [where as string, Number(value)],
      ),
    )
  return { lag: samples('replica_lag_seconds'), outbox: samples('outbox_messages') }
}

const secondsSince = (from: number) => (performance.now() - from) / 1_000

test('while the database answers, nothing waits; a workspace of one machine has neither figure', async () => {
  const { lag, outbox } = await figures()
  expect(Object.keys(lag)).toEqual([workspace])
  expect(lag[workspace]).toBeGreaterThanOrEqual(0)
  expect(outbox).toEqual({ [workspace]: 0 })
})

test('the lag counts from before the database went, also over messages that wait, until the copy is complete again', async () => {
  const alice = await place.enter(place.laptop, 'alice')
  const engine = async () => (await place.laptop.open(workspace)).workspace.engine
  place.server.kill()
  const killed = performance.now()
  await until(async () => (await engine()).trouble)
  for (const body of ['one', 'two']) await alice.call('message.queue', { to: '#general', body })
  const atLeast = secondsSince(killed)
  const cut = await figures()
  expect(cut.lag[workspace]).toBeGreaterThanOrEqual(atLeast)
  expect(cut.outbox).toEqual({ [workspace]: 2 })

  await place.server.resume()
  const resumed = performance.now()
  await until(async () => {
    const { lag, outbox } = await figures()
    return (lag[workspace] as number) < secondsSince(resumed) && outbox[workspace] === 0
  })
})
