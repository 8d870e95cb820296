import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Envelope, encodeFrame, FrameError, FrameParser, frameTypes } from '../src/protocol/frames.ts'
import { limits } from '../src/protocol/limits.ts'

const bytes = new TextEncoder()
const envelope = (payload: unknown, id = 'a'): Envelope => ({ v: 1, type: 'CALL', id, ts: 1, payload })

function readAll(parser: FrameParser): (Envelope | string)[] {
  const read: (Envelope | string)[] = []
  for (;;) {
    try {
      const next = parser.read()
      if (!next) return read
      read.push(next)
    } catch (error) {
      read.push((error as FrameError).code)
    }
  }
}

describe('FrameParser', () => {
  it('reads a frame cut at every byte', () => {
    const wanted = envelope({ body: 'grüße 🐝', more: [1, null] })
    const line = bytes.encode(encodeFrame(wanted))
    for (let cut = 0; cut <= line.length; cut++) {
      const parser = new FrameParser()
      parser.push(line.subarray(0, cut))
      parser.push(line.subarray(cut))
      expect(readAll(parser)).toEqual([wanted])
    }
  })

  it('reads a frame that comes byte by byte, from a buffer that is used again', () => {
    const wanted = envelope({ body: 'x🐝y' })
    const parser = new FrameParser()
    const pool = new Uint8Array(1)
    for (const byte of bytes.encode(encodeFrame(wanted))) {
      pool[0] = byte
      parser.push(pool)
    }
    expect(readAll(parser)).toEqual([wanted])
  })

  it('reads joined frames in order and passes over empty lines and carriage returns', () => {
    const parser = new FrameParser()
    parser.push(bytes.encode(`${encodeFrame(envelope(1, 'a'))}\n \r\n${encodeFrame(envelope(2, 'b')).trimEnd()}\r\n`))
    expect(readAll(parser)).toEqual([envelope(1, 'a'), envelope(2, 'b')])
  })

  it('answers undefined while a line is not whole', () => {
    const parser = new FrameParser()
    parser.push(bytes.encode('{"v":1'))
    expect(parser.read()).toBeUndefined()
  })

  it('names an oversized line once and recovers behind it, however it was cut', () => {
    const long = `${'x'.repeat(300)}\n`
    const good = envelope('after')
    for (const chunk of [1, 7, 50, 99, 100, 101, 400, 10_000]) {
      const parser = new FrameParser(100)
      const whole = bytes.encode(long + encodeFrame(good))
      for (let at = 0; at < whole.length; at += chunk) parser.push(whole.subarray(at, at + chunk))
      expect(readAll(parser)).toEqual(['frame.too-large', good])
    }
  })

  it('names an oversized line before it ended, and keeps none of it', () => {
    const parser = new FrameParser(100)
    for (let i = 0; i < 50; i++) parser.push(new Uint8Array(1_000).fill(120))
    expect(readAll(parser)).toEqual(['frame.too-large'])
    parser.push(bytes.encode(`tail\n${encodeFrame(envelope(1))}`))
    expect(readAll(parser)).toEqual([envelope(1)])
  })

  it('takes a line of exactly the limit and refuses one byte more', () => {
    const frame = encodeFrame(envelope('x'))
    const exact = new FrameParser(frame.length - 1)
    exact.push(bytes.encode(frame))
    expect(readAll(exact)).toEqual([envelope('x')])
    const short = new FrameParser(frame.length - 2)
    short.push(bytes.encode(frame))
    expect(() => short.read()).toThrow(expect.objectContaining({ code: 'frame.too-large', bytesMax: frame.length - 2 }))
  })

  it('refuses invalid UTF-8 and goes on', () => {
    const parser = new FrameParser()
    parser.push(new Uint8Array([0x22, 0xff, 0xfe, 0x22, 10]))
    parser.push(new Uint8Array([0xc3, 10]))
    parser.push(bytes.encode(encodeFrame(envelope('ok'))))
    expect(readAll(parser)).toEqual(['frame.invalid', 'frame.invalid', envelope('ok')])
  })

  it.each([
    'not json',
    '[]',
    'null',
    '"text"',
    '{}',
    '{"v":2,"type":"CALL","id":"a"}',
    '{"v":1,"type":"NOISE","id":"a"}',
    '{"v":1,"type":"CALL"}',
    '{"v":1,"type":"CALL","id":""}',
    '{"v":1,"type":"CALL","id":7}',
    `{"v":1,"type":"CALL","id":"${'x'.repeat(limits.idCharsMax + 1)}"}`,
    '{"v":1,"type":"toString","id":"a"}',
  ])('refuses %s', (line) => {
    const parser = new FrameParser()
    parser.push(bytes.encode(`${line}\n`))
    expect(() => parser.read()).toThrow(FrameError)
    expect(parser.read()).toBeUndefined()
  })

  it('survives JSON as deep as a line is long', () => {
    const parser = new FrameParser()
    const depth = 400_000
    parser.push(
      bytes.encode(`{"v":1,"type":"CALL","id":"a","ts":1,"payload":${'['.repeat(depth)}${']'.repeat(depth)}}\n`),
    )
    parser.push(bytes.encode(`${'['.repeat(depth)}\n`))
    parser.push(bytes.encode(encodeFrame(envelope('after'))))
    expect(readAll(parser).at(-1)).toEqual(envelope('after'))
  })

  it('takes nothing from __proto__', () => {
    const parser = new FrameParser()
    parser.push(bytes.encode('{"__proto__":{"v":1,"type":"CALL","id":"a"}}\n'))
    expect(readAll(parser)).toEqual(['frame.invalid'])
    parser.push(bytes.encode('{"v":1,"type":"CALL","id":"a","payload":{"__proto__":{"admin":true}}}\n'))
    const [read] = readAll(parser) as [Envelope<Record<string, unknown>>]
    expect(read.payload.admin).toBeUndefined()
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })

  it('reads any envelopes in any cutting', () => {
    const frame = fc.record({
      v: fc.constant(1 as const),
      type: fc.constantFrom(...frameTypes),
      id: fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
      ts: fc.nat(),
      payload: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown),
    })
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 })), (frames, cuts) => {
        const whole = bytes.encode(frames.map((one) => encodeFrame(one)).join(''))
        const parser = new FrameParser()
        const read: (Envelope | string)[] = []
        for (let at = 0, i = 0; at < whole.length; i++) {
          const size = cuts.length > 0 ? (cuts[i % cuts.length] as number) : whole.length
          parser.push(whole.subarray(at, at + size))
          at += size
          if (i % 3 === 0) read.push(...readAll(parser))
        }
        read.push(...readAll(parser))
        expect(read).toEqual(frames)
      }),
      { numRuns: 300 },
    )
  })
})
