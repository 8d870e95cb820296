// Attacks with frames that are cut, joined, too large, too deep, not UTF-8 or meant to pollute prototypes: the daemon must answer or refuse each, and the
// connection must go on.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { limits } from '@agent-relay/sdk/wire'
import { settlesWithin, sleep } from '../harness/processes.ts'
import { type Frame, frameOf, RawConnection } from '../harness/raw.ts'

const MiB = 1024 * 1024

/** The attacks by name. `raw` is a connection that acts as an agent. Each attack resolves to a text that says what went wrong, or to undefined. */
export const frameAttacks: Record<string, (raw: RawConnection, socketPath: string) => Promise<string | undefined>> = {
  async 'cut at every byte'(raw) {
    const text = frameOf('CALL', 'cut', { op: 'message.send', input: { to: 'other', body: 'ä€😀 "\\n"' } })
    const length = Buffer.byteLength(text)
    for (let at = 1; at < length; at++) {
      const id = `cut-${at}`
      const bytes = Buffer.from(text.replace('"cut"', JSON.stringify(id)))
      const answered = raw.answer(id)
      raw.write(bytes.subarray(0, at))
      await sleep(1)
      raw.write(bytes.subarray(at))
      const wrong = unlessAck(await answered)
      if (wrong) return `cut at ${at}: ${wrong}`
    }
    return undefined
  },

  async 'one byte at a time'(raw) {
    const answered = raw.answer('drip')
    for (const byte of Buffer.from(frameOf('CALL', 'drip', { op: 'inbox.count', input: {} }))) {
      raw.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    return unlessAck(await answered)
  },

  async 'hello cut at every byte'(_, socketPath) {
    const bytes = Buffer.from(frameOf('HELLO', 'h', {}) + frameOf('PING', 'p', {}))
    for (let at = 1; at < bytes.length; at += 3) {
      const raw = await RawConnection.open(socketPath)
      const pong = raw.answer('p')
      raw.write(bytes.subarray(0, at))
      await sleep(1)
      raw.write(bytes.subarray(at))
      const { type } = await pong
      await raw.end()
      if (type !== 'PONG') return `cut at ${at}: ${type}`
    }
    return undefined
  },

  async 'joined in one write'(raw) {
    const ids = Array.from({ length: 500 }, (_, i) => `joined-${i}`)
    const answers = ids.map((id) => raw.answer(id))
    raw.write(ids.map((id) => frameOf('CALL', id, { op: 'message.send', input: { to: 'other', body: id } })).join(''))
    const wrong = (await Promise.all(answers)).map(unlessAck).filter(Boolean)
    return wrong[0]
  },

  async 'a line over the limit'(raw) {
    const refused = raw.answer('-')
    raw.write(`${' '.repeat(limits.lineBytesMax)}${frameOf('PING', 'never', {})}`)
    return unlessRefused(await refused, 'frame.too-large') ?? stillAnswers(raw)
  },

  async 'sixteen MiB without a newline'(raw) {
    const refused = raw.answer('-')
    for (let i = 0; i < 16; i++) raw.write('x'.repeat(MiB))
    raw.write('\n')
    return unlessRefused(await refused, 'frame.too-large') ?? stillAnswers(raw)
  },

  async 'deep JSON'(raw) {
    const deep = [
      '['.repeat(1_000_000),
      `${'['.repeat(520_000)}${']'.repeat(520_000)}`,
      `${'{"a":'.repeat(170_000)}1${'}'.repeat(170_000)}`,
    ]
    for (const value of deep) {
      const refused = raw.answer('-')
      raw.write(`${value}\n`)
      const wrong = unlessRefused(await refused, 'frame.invalid')
      if (wrong) return wrong
    }
    for (const depth of [500_000, 20_000, limits.jsonDepthMax, 20]) {
      // JSON that is nested too deeply is refused before it is parsed; JSON within the limit is refused by the operation's own rules.
      const [id, code] = depth >= limits.jsonDepthMax ? ['-', 'frame.invalid'] : ['deep', 'input.invalid']
      const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
      for (const field of ['to', 'body', 'wait', 'thread', 'other']) {
        const answered = raw.answer(id)
        const payload = `{"op":"message.send","input":{"${field}":${nested}}}`
        raw.write(`{"v":1,"type":"CALL","id":"deep","ts":0,"payload":${payload}}\n`)
        const wrong = unlessRefused(await answered, code)
        if (wrong) return `${field}, ${depth} deep: ${wrong}`
      }
    }
    return stillAnswers(raw)
  },

  async 'not UTF-8'(raw) {
    const head = Buffer.from('{"v":1,"type":"PING","id":"')
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const refused = raw.answer('-')
      raw.write(Buffer.concat([head, Buffer.from(bytes), Buffer.from('","ts":0,"payload":{}}\n')]))
      const wrong = unlessRefused(await refused, 'frame.invalid')
      if (wrong) return `${bytes}: ${wrong}`
    }
    return stillAnswers(raw)
  },

  async 'a lone surrogate and U+0000'(raw) {
    const lone = await askText(raw, 'lone', '{"to":"other","body":"a\\ud800b"}')
    const zero = await askText(raw, 'zero', '{"to":"other","body":"a\\u0000b"}')
    return unlessAnswered(lone) ?? unlessRefused(zero, 'input.invalid')
  },

  async 'names of Object.prototype'(raw) {
    for (const op of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])
      if ((await raw.call(op, {})).payload.code !== 'operation.unknown') return `the operation ${op} exists`
    const polluted = await askText(raw, 'proto', '{"__proto__":{"to":"other","body":"polluted"},"constructor":{"x":1}}')
    const wrong = unlessRefused(polluted, 'input.invalid')
    if (wrong) return wrong
    raw.write('{"v":1,"type":"CALL","id":"pp","ts":0,"payload":{"__proto__":{"op":"inbox.count"}}}\n')
    raw.write('{"__proto__":{"v":1,"type":"PING","id":"x"}}\n')
    for (const to of ['__proto__', '#__proto__', 'constructor:lead', '*:__proto__'])
      await raw.call('message.send', { to, body: 'x' })
    return stillAnswers(raw)
  },

  async 'hostile sizes'(raw) {
    const long = 'x'.repeat(900_000)
    const inputs: [string, unknown][] = [
      ['message.send', { to: 'other', body: 'x'.repeat(256 * 1024 + 1) }],
      ['message.send', { to: long, body: 'x' }],
      ['message.send', { to: 'other', body: 'x', thread: long }],
      ['message.send', { to: Array.from({ length: 60_000 }, () => 'other'), body: 'x' }],
      ['inbox.take', { limit: 1e308 }],
      ['inbox.take', { limit: -1 }],
      ['inbox.peek', { limit: 0.5 }],
      ['inbox.read', { messages: Array.from({ length: 60_000 }, () => 'm') }],
      ['event.list', { since: Number.MAX_SAFE_INTEGER + 1, limit: 2 ** 40 }],
      ['event.list', { types: Array.from({ length: 10_000 }, () => '*') }],
      ['message.search', { text: long }],
      ['agent.register', { name: long }],
      ['agent.register', { name: 'raw', channels: Array.from({ length: 10_000 }, (_, i) => `c${i}`) }],
    ]
    for (const [op, input] of inputs) {
      const wrong = unlessRefused(await raw.call(op, input), 'input.invalid')
      if (wrong) return `${op}: ${wrong}`
    }
    raw.write(frameOf('PING', long, {}))
    raw.write(Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff]), Buffer.from('\n')]))
    return stillAnswers(raw)
  },

  async 'half closed with a call in flight'(_, socketPath) {
    const raw = await RawConnection.connectAs(socketPath, 'half')
    raw.socket.end(frameOf('CALL', 'last', { op: 'message.send', input: { to: 'other', body: 'last words' } }))
    return (await settlesWithin(waitLimitMs('prove'), raw.closed))
      ? undefined
      : 'the daemon keeps a connection whose client has gone'
  },

  async 'nonsense without end'(_, socketPath) {
    const raw = await RawConnection.connectAs(socketPath)
    raw.write('nonsense\n'.repeat(1_000))
    const isClosed = await settlesWithin(waitLimitMs('prove'), raw.closed)
    return isClosed && raw.frames.some(({ type }) => type === 'BYE') ? undefined : 'not cut off with a reason'
  },

  async 'more watches than anyone needs'(_, socketPath) {
    const raw = await RawConnection.connectAs(socketPath, 'watcher')
    const answers: Promise<Frame>[] = []
    for (let i = 0; i < 20_000; i++) answers.push(raw.call('event.follow', {}))
    const refused = (await Promise.all(answers)).filter(({ type }) => type === 'ERROR')
    await raw.end()
    return refused.length > 19_000 ? undefined : `${20_000 - refused.length} watches stand on one connection`
  },
}

function askText(raw: RawConnection, id: string, input: string): Promise<Frame> {
  const answered = raw.answer(id)
  raw.write(`{"v":1,"type":"CALL","id":"${id}","ts":0,"payload":{"op":"message.send","input":${input}}}\n`)
  return answered
}

const unlessAck = ({ type, payload }: Frame): string | undefined =>
  type === 'ACK' ? undefined : `${type} ${JSON.stringify(payload).slice(0, 200)}`

const unlessAnswered = ({ type }: Frame): string | undefined =>
  type === 'ACK' || type === 'ERROR' ? undefined : `${type} instead of an answer`

const unlessRefused = ({ type, payload }: Frame, code: string): string | undefined =>
  type === 'ERROR' && payload.code === code ? undefined : `${type} ${payload?.code} instead of ${code}`

async function stillAnswers(raw: RawConnection): Promise<string | undefined> {
  return unlessAck(await raw.call('inbox.count', {}))
}
