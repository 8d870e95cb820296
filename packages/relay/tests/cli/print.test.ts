// Printed output: cleaning of foreign text, widths, tables that fit, colour or none.

import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Printer } from '../../src/cli/print.ts'
import { ageText, cleanText, oneLine, shortenText, textWidth } from '../../src/cli/text.ts'

interface Screen {
  print: Printer
  text(): string
}

function screen(env: Record<string, string>, columns?: number): Screen {
  const out = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns })
  const stream = out as unknown as NodeJS.WriteStream
  return { print: new Printer(stream, stream, env), text: () => String(out.read() ?? '') }
}

describe('foreign text', () => {
  it.each([
    ['\u001b[1;31mred\u001b[0m', 'red'],
    ['\u001b]8;;http://evil\u001b\\link\u001b]8;;\u0007', 'link'],
    ['\u001b]0;never ended', '0;never ended'],
    ['\u009b31mC1\u009d0;t\u009c', 'C1'],
    ['\u001bPq…\u001b\\sixel', 'sixel'],
    ['\u001b(0x\u001bcreset', 'xreset'],
    ['a\rb\r\nc\u2028d', 'a\nb\nc\nd'],
    ['\u202eabc\u2066\u200f\u061c', 'abc'],
    [`hi${String.fromCodePoint(0xe0068, 0xe0069)}\u{e0101}`, 'hi'],
    ['\0\u0007\u0008\u007f\u0085x', '\nx'],
    ['👩‍👩‍👧 mañana\tשלום', '👩‍👩‍👧 mañana\tשלום'],
  ])('%j is shown as %j', (given, shown) => expect(cleanText(given)).toBe(shown))

  it('has the width that its characters have one by one, also where a quick look is enough', () => {
    const signs = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code))
    // With a wide character in it, a text is always divided.
    expect(signs.filter((sign) => textWidth(`a${sign}`) !== textWidth(`日a${sign}`) - 2)).toEqual([])
    expect(textWidth('é – … · →')).toBe(9)
  })

  it('fits one line of a given width', () => {
    expect(oneLine('  a\n\tb  c ')).toBe('a b c')
    expect(textWidth('日本 é 👍')).toBe(9)
    expect(shortenText('日本語テキスト', 7)).toBe('日本語…')
    expect(shortenText('abcdef', 6)).toBe('abcdef')
    expect(shortenText('abcdefg', 6, '...')).toBe('abc...')
    expect(shortenText('x'.repeat(200_000), 10)).toBe(`${'x'.repeat(9)}…`)
  })

  it('tells ages in one unit', () => {
    const now = Date.parse('2026-01-02T00:00:00Z')
    const ages = [1, 12, 180, 7200, 400_000].map((seconds) =>
      ageText(new Date(now - seconds * 1000).toISOString(), now),
    )
    expect(ages).toEqual(['now', '12 s', '3 m', '2 h', '5 d'])
  })
})

describe('colour', () => {
  const red = (env: Record<string, string>, columns?: number) => screen(env, columns).print.paint('red', 'x')
  it.each([
    ['a terminal', {}, 80, true],
    ['a pipe', {}, undefined, false],
    ['NO_COLOR', { NO_COLOR: '1', FORCE_COLOR: '1' }, 80, false],
    ['an empty NO_COLOR', { NO_COLOR: '' }, 80, true],
    ['FORCE_COLOR', { FORCE_COLOR: '1' }, undefined, true],
    ['FORCE_COLOR=0', { FORCE_COLOR: '0' }, 80, false],
    ['a dumb terminal', { TERM: 'dumb' }, 80, false],
  ])('for %s', (_, env, columns, isColoured) =>
    expect(red(env, columns)).toBe(isColoured ? '\u001b[31mx\u001b[0m' : 'x'),
  )
})

describe('a table', () => {
  const columns = [{ head: 'NAME' }, { head: 'N', alignsRight: true }, { head: 'STATE', mayShrink: true }]
  const rows = [
    ['Alice', '5', 'waiting for somebody with a long name'],
    ['Bo', '12', 'active'],
  ]

  it('is aligned', () => {
    const { print, text } = screen({})
    print.table(columns, rows)
    expect(text()).toBe('NAME    N  STATE\nAlice   5  waiting for somebody with a long name\nBo     12  active\n')
  })

  it('fits the terminal', () => {
    const { print, text } = screen({ NO_COLOR: '1' }, 24)
    print.table(columns, rows)
    expect(text()).toBe('NAME    N  STATE\nAlice   5  waiting for…\nBo     12  active\n')
  })

  it('never wraps, also where its columns alone are too wide; piped it is whole', () => {
    const wide = [{ head: 'ID' }, { head: 'STATUS' }, { head: 'WHAT', mayShrink: true }]
    const cells = [['run_01m7f89k7dge2chezz1np7s7z9', 'completed', 'All 42 tests pass, at last.']]
    const narrow = screen({ NO_COLOR: '1' }, 40)
    narrow.print.table(wide, cells)
    expect(narrow.text()).toBe(`${'ID'.padEnd(32)}STATUS…\nrun_01m7f89k7dge2chezz1np7s7z9  complet…\n`)
    const piped = screen({})
    piped.print.table(wide, cells)
    expect(piped.text()).toContain('  completed  All 42 tests pass, at last.\n')
  })

  it('leaves spare columns out before it cuts what matters', () => {
    const wide = [{ head: 'NAME' }, { head: 'TYPE', dropRank: 2 }, { head: 'CLI', dropRank: 1 }, ...columns.slice(2)]
    const cells = [['Alice', 'agent', 'claude', 'waiting for somebody with a long name']]
    const shown = (width: number) => {
      const { print, text } = screen({ NO_COLOR: '1' }, width)
      print.table(wide, cells)
      return text().split('\n')[1]
    }
    expect([60, 45, 35, 27].map(shown)).toEqual([
      'Alice  agent  claude  waiting for somebody with a long name',
      'Alice  agent  claude  waiting for somebody w…',
      'Alice  claude  waiting for somebod…',
      'Alice  waiting for somebod…',
    ])
  })
})
