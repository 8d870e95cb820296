// The output of a program: bounded, its control sequences understood however they are cut, drawn on demand, and never in the daemon's way.

import { refusal } from '@agent-relay/sdk/protocol/refusals'
import * as fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { aWhile } from '../../../../test/until.ts'
import { ProgramOutput, Scrollback, TerminalSettings } from '../../src/supervisor/output.ts'
import { openPty, type ProgramExit } from '../../src/supervisor/pty.ts'

const size = { cols: 80, rows: 24 }
const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color' }
const bytes = (text: string) => Buffer.from(text)

test('the scrollback keeps the last bytes, whatever comes in whatever pieces', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 64 }),
      (all, max) => {
        const scrollback = new Scrollback(max)
        for (const each of all) scrollback.push(each)
        const whole = Buffer.concat(all)
        expect(scrollback.end).toBe(whole.length)
        expect(scrollback.read(0)).toEqual(whole.subarray(Math.max(0, whole.length - max)))
        const from = Math.max(scrollback.start, whole.length - 7)
        expect(scrollback.read(from, 3)).toEqual(whole.subarray(from, from + 3))
      },
    ),
  )
})

test('title and paste mode are understood however the bytes are cut', () => {
  const stream = bytes(
    'x\x1b[?25;2004hy\x1b]0;✳ one\x07z\x1b[?2004l\x1b]2;two · ◐\x1b\\\x1b[31m\x1b[?2004h tail \x1b[?1',
  )
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 12 }), (cuts) => {
      const marks = new TerminalSettings()
      const at = [0, ...cuts.sort((a, b) => a - b), stream.length]
      for (let i = 1; i < at.length; i++) marks.follow(stream.subarray(at[i - 1], at[i]))
      expect(marks).toMatchObject({ title: 'two · ◐', titleChanges: 2, supportsPasteMarks: true })
    }),
  )
})

test('a screen is drawn from what was printed and goes on from there', async () => {
  const answers: string[] = []
  const output = new ProgramOutput(size, (data) => answers.push(data))
  output.push(bytes('first\r\nsecond\x1b[6n'))
  expect(await output.lines()).toEqual(['first', 'second'])
  // What was asked before anybody looked is long over.
  expect(answers).toEqual([])
  output.push(bytes('\r\x1b[Kthird\x1b[6n'))
  expect(await output.lines()).toEqual(['first', 'third'])
  expect(answers).toEqual(['\x1b[2;6R'])
  output.end(refusal('worker.exited', { name: 'x' }))
})

test('a follower gets earlier output, then new output at its own pace, and is told of the end', async () => {
  const output = new ProgramOutput(size, () => {})
  output.push(bytes('past'))
  const got: { data: string; isPast?: boolean }[] = []
  let isReady = true
  let ended = ''
  const watch = output.follow({
    isReady: () => isReady,
    item: (item) => void got.push(item as never),
    end: ({ code }) => {
      ended = code
    },
  })
  await new Promise(setImmediate)
  const cut = bytes('é')
  output.push(cut.subarray(0, 1))
  output.push(cut.subarray(1))
  isReady = false
  output.push(bytes(' while it was slow'))
  expect(got).toEqual([{ data: 'past', isPast: true }, { data: 'é' }])
  isReady = true
  watch.drained()
  expect(got.at(-1)).toEqual({ data: ' while it was slow' })
  output.end(refusal('worker.exited', { name: 'x' }))
  expect(ended).toBe('worker.exited')
})

async function run(command: string) {
  const terminal = await openPty({ file: '/bin/sh', args: ['-c', command], cwd: '/', env, ...size })
  let isOver = false
  terminal.onExit(() => {
    isOver = true
  })
  onTestFinished(() => void (isOver || process.kill(terminal.pid, 'SIGKILL')))
  return terminal
}

test('a program that does not read holds up its own terminal and nothing else', async () => {
  const terminal = await run('stty raw -echo; echo up; exec sleep 1000')
  const exited = new Promise<ProgramExit>((resolve) => terminal.onExit(resolve))
  await new Promise<void>((resolve) => terminal.onData(() => resolve()))
  let isTaken = false
  const written = terminal.write('y'.repeat(1_000_000)).then(() => {
    isTaken = true
  })
  // Others have their turn meanwhile, and what is not read stays here.
  await aWhile()
  expect(isTaken).toBe(false)
  expect(terminal.waitingBytes).toBeGreaterThan(900_000)
  process.kill(terminal.pid, 'SIGKILL')
  expect(await exited).toMatchObject({ signal: 9 })
  await written
})

test('100 KB arrive whole in a program that reads slowly', async () => {
  const script = `process.stdin.setRawMode(true); let n = 0; console.log('up')
    process.stdin.on('data', (d) => { n += d.length; process.stdin.pause(); setTimeout(() => process.stdin.resume(), 5)
      if (d.includes(13)) { console.log('got ' + n); process.exit(3) } })`
  const terminal = await openPty({ file: process.execPath, args: ['-e', script], cwd: '/', env, ...size })
  const exited = new Promise<ProgramExit>((resolve) => terminal.onExit(resolve))
  let said = ''
  const up = new Promise<void>((resolve) =>
    terminal.onData((data) => {
      said += Buffer.from(data).toString()
      resolve()
    }),
  )
  await up
  const text = 'é'.repeat(50 * 1024)
  await terminal.write(text)
  await terminal.write('\r')
  expect(await exited).toEqual({ code: 3, signal: undefined })
  expect(said).toContain(`got ${100 * 1024 + 1}`)
})

test.each([
  ['insert lines', '\x1b[H\x1b[5000L', 'A'],
  ['delete lines', '\x1b[H\x1b[5000M', 'A'],
  ['scroll up', '\x1b[5000S', 'A'],
  ['scroll down', '\x1b[5000T', 'A'],
  ['repeat a character', '\x1b[5000b', 'A'],
  ['tab forward', '\x1b[5000IB', 'AB'],
  ['tab back', '\x1b[5000ZB', 'AB'],
])('more often than a screen has room for is not carried out: %s', async (_what, asked, shown) => {
  const output = new ProgramOutput(size, () => {})
  output.push(bytes(`A${asked}`))
  expect(await output.lines()).toEqual([shown])
})

test('invalid control sequences are not written to the daemon log', async () => {
  const said = vi.spyOn(console, 'error')
  const output = new ProgramOutput(size, () => {})
  output.push(Buffer.from([0x7f, 0x1b, 0xff, 0x7f, 0x41]))
  await output.lines()
  expect(said).not.toHaveBeenCalled()
  said.mockRestore()
})

test('a program that asks its terminal for ever and reads no answer does not fill the memory', async () => {
  const terminal = await run('stty raw -echo; echo up; exec sleep 1000')
  await new Promise<void>((resolve) => terminal.onData(() => resolve()))
  const output = new ProgramOutput(size, (data) => terminal.answer(data))
  await output.lines()
  for (let asked = 0; asked < 150_000; asked += 10_000) {
    output.push(bytes('\x1b[6n'.repeat(10_000)))
    await output.lines()
  }
  expect(terminal.waitingBytes).toBeGreaterThan(500_000)
  expect(terminal.waitingBytes).toBeLessThan(600_000)
})

test('drawing a lot of output does not block the event loop', async () => {
  const output = new ProgramOutput(size, () => {})
  await output.lines()
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  output.push(bytes('\x1b[24S'.repeat(10_000)))
  await output.lines()
  clearInterval(timer)
  expect(turns).toBeGreaterThan(10)
})
