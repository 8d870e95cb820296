// The hosts that are this machine itself: only those may be reached without TLS, or listen without a word from the owner.

import { expect, test } from 'vitest'
import { isLoopback } from '../../src/machine/loopback.ts'

test('its own addresses, and no name that begins like one', () => {
  for (const host of ['localhost', '::1', '127.0.0.1', '127.8.9.10']) expect(isLoopback(host)).toBe(true)
  for (const host of ['127.evil.example', '127.0.0.1.evil.example', '127.1', '10.0.0.1', '0.0.0.0', '::', ''])
    expect(isLoopback(host)).toBe(false)
})
