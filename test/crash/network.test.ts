// Mutated frames over /ws, mutated requests, abandoned sessions of both MCP eras, and the connections of a slow-loris: no crash, no effect on
// another session, and a minute later the memory is back. A million of each take a quarter of an hour; FRAMES=50000 sends fewer.

import { expect, test } from 'vitest'
import { expectNoLeak } from '../guard.ts'
import { isFull, sized } from '../size.ts'
import { descriptorsMoreMax, hostileNetwork } from './scenarios/network.ts'

const frames = Number(process.env.FRAMES ?? 1_000_000)
const sizes = sized(
  { frames: 1_000, requests: 500, sessions: 30, connections: 200, isToTheEnd: false, idleMs: 0 },
  { frames, requests: frames, sessions: 10_000, connections: 2_100, isToTheEnd: true, idleMs: 60_000 },
)

test('a hostile network', async () => {
  const report = await hostileNetwork(sizes)
  process.stdout.write(`network: ${JSON.stringify(report)}\n`)
  const { faults, abandoned, loris, witness, exit, daemonErrors, descriptors } = report
  expect(faults).toEqual([])
  expect(daemonErrors).toBe('')
  expect(exit).toBe(0)
  expect(witness.failures).toEqual([])
  expect(abandoned.agentsLeft).toBe(0)
  expect(abandoned.doubled).toEqual([])
  expect(abandoned.lateName).toMatch(/^agent(-\d+)?$/)
  expect(Object.keys(abandoned.statuses.sessions).sort()).toEqual(['200', '202'])
  expect(Object.keys(abandoned.statuses.stateless)).toEqual(['200'])
  expect(loris.failures).toEqual([])
  expect(descriptors.after - descriptors.warm).toBeLessThan(descriptorsMoreMax)
  // The daemon comes to rest in a minute. Against one that keeps as many sessions: what lives is as much (69 MB both times).
  if (isFull) expectNoLeak(report.rssMb.after - report.rssMb.full, 20)
})
