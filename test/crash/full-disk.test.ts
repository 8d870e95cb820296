// A full disk: clear refusals, reads that go on, nothing lost, and writing again once there is space.

import { fillDisk, howToMount } from '@agent-relay/prove/scenarios/full-disk'
import { expect, test } from 'vitest'
import { installedRelay } from '../../packages/relay/src/cli/own-relay.ts'
import { sized } from '../size.ts'

const how = howToMount()
if ('reason' in how) process.stdout.write(`full disk: skipped, ${how.reason}\n`)

test.skipIf('reason' in how).for(sized([6], [6, 12, 32]))('a disk of %i MB is full', async (sizeMb) => {
  if ('reason' in how) return
  const { faults, failedReads, ...figures } = await fillDisk(how.unshare, sizeMb, { relay: installedRelay })
  process.stdout.write(`full disk: ${JSON.stringify(figures)}\n`)
  expect([...faults, ...failedReads]).toEqual([])
  expect(figures).toMatchObject({ refusedWhileFull: 20, integrity: 'ok', daemonErrors: '' })
  expect(figures.refusal).toBe('store.full: The disk is full: nothing was stored. Free some space and try again.')
  expect(figures.resumedMs).toBeTypeOf('number')
  expect(figures.ackedAfter).toBeGreaterThanOrEqual(20)
})
