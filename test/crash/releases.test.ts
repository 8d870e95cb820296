// Releases of programs that ignore signals, fork and leave their session.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { releaseStubborn } from './scenarios/releases.ts'

const count = sized(3, 200)

test(`${count} releases, nothing survives, nothing else is touched`, async () => {
  const { faults, ...figures } = await releaseStubborn(count)
  process.stdout.write(`releases: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.processes).toBe(3 * count)
})
