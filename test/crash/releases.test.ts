// Two hundred releases of programs that ignore signals, fork and leave their session.

import { expect, test } from 'vitest'
import { releaseStubborn } from './scenarios/releases.ts'

test('200 releases, nothing survives, nothing else is touched', async () => {
  const { faults, ...figures } = await releaseStubborn(200)
  process.stdout.write(`releases: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.processes).toBe(600)
})
