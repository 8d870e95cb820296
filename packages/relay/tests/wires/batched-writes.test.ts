// The answers of one turn of the event loop leave in one write, in their order, and each learns whether it has left.

import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { BatchedWrites } from '../../src/wires/batched-writes.ts'

/** A stream that takes nothing until it is let. */
function slowStream() {
  const writes: string[] = []
  let take = () => {}
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, taken) {
      writes.push(chunk)
      take = taken
    },
  })
  stream.on('error', () => {})
  return { writes, take: () => take(), stream, joined: new BatchedWrites(stream as unknown as Socket) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('lines of one turn are one write, also those that promises settled in it bring; the next turn has its own', async () => {
  const { writes, take, joined } = slowStream()
  const left: string[] = []
  const answer = async (line: string) => {
    for (let hops = line.length; hops > 0; hops--) await undefined
    joined.write(`${line}\n`, (error) => left.push(error ? 'lost' : line))
  }
  void answer('a')
  void answer('ccc')
  void answer('bb')
  await turn()
  expect(writes).toEqual(['a\nbb\nccc\n'])
  expect(left).toEqual([])
  take()
  await turn()
  expect(left).toEqual(['a', 'bb', 'ccc'])
  void answer('d')
  await turn()
  expect(writes).toEqual(['a\nbb\nccc\n', 'd\n'])
})

test('what waits counts from the moment when it is written, before and after it left this process', async () => {
  const { take, joined } = slowStream()
  joined.write('12345')
  expect(joined.waitingLength).toBe(5)
  await turn()
  joined.write('678')
  expect(joined.waitingLength).toBe(8)
  take()
  await turn()
  expect(joined.waitingLength).toBe(3)
})

test('the end comes after all that was written; what a lost connection takes with it is not told as left', async () => {
  const ended = slowStream()
  ended.joined.write('last')
  ended.joined.end()
  await turn()
  expect(ended.writes).toEqual(['last'])
  expect(ended.stream.writableEnded).toBe(true)
  const lost = slowStream()
  const errors: unknown[] = []
  lost.joined.write('never', (error) => errors.push(error))
  lost.stream.destroy()
  await turn()
  expect(errors).toEqual([expect.any(Error)])
  expect(lost.writes).toEqual([])
})
