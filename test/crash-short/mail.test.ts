// The short form of the mail: fifty messages.

import { expect, test } from 'vitest'
import { typeMail } from '../crash/scenarios/mail.ts'

test('50 messages, each submitted once, whole and unmixed', async () => {
  const { faults, ...figures } = await typeMail(50)
  process.stdout.write(`mail: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.dialogs).toBeGreaterThan(0)
}, 60_000)
