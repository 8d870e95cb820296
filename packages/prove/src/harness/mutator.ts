// Makes frames as a hostile or broken client would send them: valid frames, damaged in one to four places. The same seed gives the same frames.

import type { Random } from './random.ts'
import { frameOf } from './raw.ts'

const call = (op: string, input: unknown) => frameOf('CALL', 'c_01k0000000', { op, input })

export const validFrames: readonly string[] = [
  frameOf('HELLO', 'h1', { name: 'mutant', channels: ['#general'], cli: 'x', strict: false }),
  frameOf('PING', 'p1', {}),
  frameOf('BYE', 'b1', { watch: 'w1' }),
  frameOf('SEND', 's1', { to: 'mutant-b', content: 'hello', thread: 't' }),
  frameOf('INBOX', 'i1', { limit: 5, unread_only: true }),
  frameOf('WHO', 'w1', { include_idle: true }),
  frameOf('WELCOME', 'x1', { session: 's' }),
  call('message.send', { to: 'mutant-b', body: 'hello äöü €😀', kind: 'question' }),
  call('message.send', { to: ['mutant-a', 'mutant-b'], body: 'group', replyTo: 'm_1' }),
  call('message.send', { to: '#general', body: 'room', thread: 'm_2' }),
  call('message.send', { to: 'mutant-b', body: 'wait', wait: { timeoutMs: 5 } }),
  call('message.react', { message: 'm_1', emoji: '👍', remove: false }),
  call('message.search', { text: 'hel* "two words"', limit: 3 }),
  call('message.receipts', { message: 'm_1' }),
  call('message.thread', { thread: 't', limit: 3 }),
  call('inbox.take', { limit: 500 }),
  call('inbox.peek', { unreadOnly: false, limit: 2, channel: '#general' }),
  call('inbox.read', { messages: ['m_1', 'm_2'] }),
  call('inbox.count', {}),
  call('inbox.follow', {}),
  call('event.follow', { types: ['message.*'] }),
  call('event.list', { since: 1, limit: 3 }),
  call('channel.join', { channel: '#room', create: true }),
  call('channel.remove', { channel: '#room' }),
  call('channel.leave', { channel: 'room' }),
  call('agent.list', { includeIdle: true }),
  call('workspace.status', {}),
  call('daemon.stop', {}),
]

const poison = [
  '1e309',
  '-1',
  '9007199254740993',
  '4294967296',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '"__proto__"',
  '"constructor"',
  '{"__proto__":{"to":"x"}}',
  '"\\u0000"',
  '"\\ud800"',
  '[[[[[[[[[[]]]]]]]]]]',
]

export class FrameMutator {
  readonly #random: Random
  readonly #corpus: readonly string[]

  constructor(random: Random, texts: readonly string[] = validFrames) {
    this.#random = random
    this.#corpus = texts
  }

  /** Returns the next damaged frame, which always ends with a newline. A newline in the middle turns a frame into two broken ones. */
  next(): Buffer {
    let bytes: Buffer = Buffer.from(this.#pick())
    for (let left = 1 + this.#random.below(4); left > 0; left--) bytes = this.#damage(bytes)
    return bytes.at(-1) === 10 ? bytes : Buffer.concat([bytes, Buffer.from('\n')])
  }

  /** Picks a valid frame. A second HELLO or a BYE ends the connection, and the daemon does not read the frames after it, so these two are picked rarely. */
  #pick(): string {
    const picked = this.#random.pick(this.#corpus)
    return /"(HELLO|BYE)"/.test(picked) && this.#random.next() < 0.9 ? this.#pick() : picked
  }

  #damage(bytes: Buffer): Buffer {
    const random = this.#random
    const at = random.below(bytes.length + 1)
    const to = Math.min(bytes.length, at + random.below(24))
    const around = (middle: Uint8Array) => Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(to)])
    switch (random.below(8)) {
      case 0:
        return this.#flip(bytes)
      case 1:
        return around(Buffer.alloc(0))
      case 2:
        return around(Buffer.from(Array.from({ length: random.below(16) }, () => random.below(256))))
      case 3:
        return around(Buffer.concat([bytes.subarray(at, to), bytes.subarray(at, to)]))
      case 4:
        return around(Buffer.from(random.pick(poison)))
      case 5:
        return this.#replaceValue(bytes)
      case 6:
        return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(this.#corpus)).subarray(at)])
      default:
        return this.#freshId(bytes)
    }
  }

  #flip(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes)
    if (copy.length > 0) {
      const at = this.#random.below(copy.length)
      copy[at] = (copy[at] as number) ^ (1 << this.#random.below(8))
    }
    return copy
  }

  /** Replaces a whole JSON value by another value. The frame stays valid JSON, so that it reaches the checks behind the parser. */
  #replaceValue(bytes: Buffer): Buffer {
    const text = bytes.toString('latin1')
    const values = [...text.matchAll(/(?<=[:[,])("(?:\\.|[^"\\])*"|\d+|true|false)(?=[,\]}])/g)]
    if (values.length === 0) return bytes
    const found = this.#random.pick(values)
    const from = found.index
    return Buffer.from(text.slice(0, from) + this.#random.pick(poison) + text.slice(from + found[0].length), 'latin1')
  }

  /** Gives the frame a fresh id, so that its command runs: a command with a known id is not run again, but gets its first answer. */
  #freshId(bytes: Buffer): Buffer {
    const id = `c_${this.#random.below(2 ** 31).toString(36)}`
    return Buffer.from(bytes.toString('latin1').replace(/"id":"[^"]*"/, `"id":"${id}"`), 'latin1')
  }
}
