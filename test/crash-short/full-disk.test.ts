// The short form of the full disk: one of 6 MB.

import { expect, test } from 'vitest'
import { fillDisk, howToMount } from '../crash/scenarios/full-disk.ts'

const how = howToMount()
if ('reason' in how) process.stdout.write(`full disk: skipped, ${how.reason}\n`)

test.skipIf('reason' in how)('a disk of 6 MB is full', async () => {
  if ('reason' in how) return
  const { faults, failedReads, ...figures } = await fillDisk(how.unshare, 6)
  process.stdout.write(`full disk: ${JSON.stringify(figures)}\n`)
  expect([...faults, ...failedReads]).toEqual([])
  expect(figures).toMatchObject({ refusedWhileFull: 20, integrity: 'ok', daemonErrors: '' })
  expect(figures.refusal).toBe('store.full: The disk is full: nothing was stored. Free some space and try again.')
  expect(figures.resumedMs).toBeLessThan(5_000)
})
