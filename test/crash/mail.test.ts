// A thousand messages typed into workers that print and open dialogs.

import { expect, test } from 'vitest'
import { typeMail } from './scenarios/mail.ts'

test('1,000 messages, each submitted once, whole and unmixed', async () => {
  const { faults, ...figures } = await typeMail(1_000)
  process.stdout.write(`mail: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.dialogs).toBeGreaterThan(10)
})
