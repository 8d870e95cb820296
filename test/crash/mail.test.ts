// Messages typed into workers that print and open dialogs.

import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { typeMail } from './scenarios/mail.ts'

const count = sized(50, 1_000)

test(`${count} messages, each submitted once, whole and unmixed`, async () => {
  const { faults, ...figures } = await typeMail(count)
  process.stdout.write(`mail: ${JSON.stringify(figures)}\n`)
  expect(faults).toEqual([])
  expect(figures.dialogs).toBeGreaterThan(sized(0, 10))
})
