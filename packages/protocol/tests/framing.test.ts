// A program that speaks the protocol with this package alone.

import { readFileSync } from 'node:fs'
import * as whole from '@agent-relay/protocol'
import { encodeFrame, FrameError, FrameParser } from '@agent-relay/protocol/framing'
import type { Envelope } from '@agent-relay/protocol/types'
import { FrameParser as sdkParser } from '@agent-relay/sdk/protocol/frames'
import { expect, test } from 'vitest'

const frame: Envelope = { v: 1, type: 'SEND', id: '1', ts: 5, payload: { to: 'Bob', content: 'hi' } }

test('a frame is one line, and comes back whole however its bytes were cut', () => {
  const line = encodeFrame(frame)
  expect(line).toMatch(/^\{.*\}\n$/)
  const parser = new FrameParser()
  for (const byte of Buffer.from(line + line)) parser.push(Uint8Array.of(byte))
  expect([parser.read(), parser.read(), parser.read()]).toEqual([frame, frame, undefined])
})

test('a line that is not a frame is an error, and the next one is read', () => {
  const parser = new FrameParser()
  parser.push(Buffer.from(`nonsense\n${encodeFrame(frame)}`))
  expect(() => parser.read()).toThrow(FrameError)
  expect(parser.read()).toEqual(frame)
})

test("all of it is the SDK's, and every entry of the package has its name here", () => {
  expect(FrameParser).toBe(sdkParser)
  expect(Object.keys(whole).sort()).toEqual(['FrameError', 'FrameParser', 'encodeFrame'])
  const { exports, main, types } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  expect(Object.keys(exports)).toEqual(['.', './framing', './types', './package.json'])
  expect([main, types]).toEqual([exports['.'].default, exports['.'].types])
})
