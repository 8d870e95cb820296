// The daemon's end of a pipe: a line that never ends is given up, and none of the following bytes are kept.

import { expect, test } from 'vitest'
import { expectNoLeak } from '../../../test/guard.ts'
import { LineTransport, mcpLineBytesMax } from '../src/line-transport.ts'

test('a line without an end is given up once, whatever still comes', () => {
  let ended = 0
  const transport = new LineTransport({ write: () => {}, end: () => ended++ })
  const errors: Error[] = []
  transport.onerror = (error) => errors.push(error)
  const piece = new Uint8Array(1024 * 1024).fill(0x61)
  const before = process.memoryUsage().arrayBuffers
  for (let bytes = 0; bytes < 5 * mcpLineBytesMax; bytes += piece.length) transport.receive(piece)
  transport.receive(new Uint8Array([0x0a]))
  expect(errors.map(({ message }) => message)).toEqual([`an MCP line is at most ${mcpLineBytesMax} bytes`])
  expect(ended).toBe(1)
  // What came before the end may not have been collected yet.
  expectNoLeak(process.memoryUsage().arrayBuffers - before, mcpLineBytesMax)
})
