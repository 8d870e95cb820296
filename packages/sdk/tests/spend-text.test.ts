// Spend as people read it.

import { expect, test } from 'vitest'
import { countText, spendText, usdText } from '../src/internal/spend-text.ts'

test.each([
  [0, '0'],
  [812, '812'],
  [1_000, '1k'],
  [1_249, '1.2k'],
  [9_949, '9.9k'],
  [9_951, '10k'],
  [12_345, '12k'],
  [999_499, '999k'],
  [999_500, '1M'],
  [1_240_000, '1.2M'],
  [3_400_000_000, '3.4G'],
])('%d tokens are %s', (count, text) => {
  expect(countText(count)).toBe(text)
})

test.each([
  [0, '$0.00'],
  [0.0042, '$0.0042'],
  [0.31, '$0.31'],
  [12.5, '$12.50'],
])('%d dollars are %s', (usd, text) => {
  expect(usdText(usd)).toBe(text)
})

test('tokens in and out, and the cost where it is known', () => {
  const tokens = { input: 11_000, output: 1_000, cached: 9_000 }
  expect(spendText({ tokens })).toBe('12k tokens')
  expect(spendText({ tokens, usd: 0.31 })).toBe('12k tokens, $0.31')
})
