// The short form of the releases: ten of them.

import { expect, test } from 'vitest'
import { releaseStubborn } from '../crash/scenarios/releases.ts'

test('10 releases, nothing survives, nothing else is touched', async () => {
  const { faults, ...figures } = await releaseStubborn(10)
  process.stdout.write(`releases: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.processes).toBe(30)
}, 60_000)
