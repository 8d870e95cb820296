// The gate's treatment of tests that fail once, always, in a hook, while loading, beside the test, or take their process with them.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAlive } from './is-alive.ts'
import { until } from './until.ts'

const script = fileURLToPath(new URL('../scripts/test.mjs', import.meta.url))
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'steady-'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), `${text}\n`)
  write('vitest.config.js', `export default { test: { globals: true, isolate: false, include: ['*.test.js'] } }`)
  write(
    'once.js',
    `import { existsSync, writeFileSync } from 'node:fs'
     export function once(mark, act) {
       if (existsSync(mark)) return
       writeFileSync(mark, '')
       act()
     }
     export const fail = (text) => () => { throw new Error(text) }`,
  )
  const using = `import { fail, once } from './once.js'\n`
  write('good.test.js', `test('passes', () => {})`)
  write('body.test.js', `${using}test('fails once', () => once('body', fail('first line\\nsecond line')))`)
  write(
    'hook.test.js',
    `${using}describe('suite', () => { beforeAll(() => once('hook', fail('hook'))); test('x', () => {}) })`,
  )
  write('load.test.js', `${using}once('load', fail('load'))\ntest('x', () => {})`)
  const beside = `once('stray', () => setTimeout(fail('stray')))\n  await new Promise((done) => setTimeout(done, 100))`
  write('stray.test.js', `${using}test('x', async () => {\n  ${beside}\n})`)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function runThem(env: Record<string, string>) {
  const { PATH, HOME } = process.env
  const settings = { cwd: folder, env: { PATH, HOME, ...env }, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync(process.execPath, [script, '--root', folder], settings)
  const lines = (mark: string) => stderr.split('\n').filter((line) => line.startsWith(mark))
  return { status, unsteady: lines('unsteady: '), left: lines('left running: '), slowest: lines(' ') }
}

test('what passes when tried again is named, and holds nothing back', () => {
  const { status, unsteady } = runThem({ CI: 'true' })
  expect(unsteady.sort()).toEqual([
    'unsteady: body.test.js > fails once: first line',
    'unsteady: hook.test.js > suite: hook',
    'unsteady: load.test.js: load',
    'unsteady: stray.test.js: stray',
  ])
  expect(status).toBe(0)
  const again = runThem({ CI: 'true' })
  expect(again).toMatchObject({ status: 0, unsteady: [], left: [] })
  expect(again.slowest).toHaveLength(6)
  expect(again.slowest.at(-1)).toMatch(/^ +\d+ s {2}in all$/)
})

test('what fails every time fails the gate, and is not called unsteady', () => {
  writeFileSync(join(folder, 'never.test.js'), `test('x', () => { throw new Error('always') })`)
  const { status, unsteady } = runThem({ CI: 'true' })
  expect(unsteady).toHaveLength(4)
  expect(unsteady.join()).not.toContain('never')
  expect(status).toBe(1)
})

test('what was not begun when a process died is run too', () => {
  for (const name of ['body', 'hook', 'load', 'stray']) rmSync(join(folder, `${name}.test.js`))
  const die = `import { once } from './once.js'\ntest('x', () => once('dead', () => process.kill(process.pid, 'SIGKILL')))`
  for (const name of ['a', 'm', 'z']) writeFileSync(join(folder, `${name}.test.js`), die)
  const { status, unsteady } = runThem({ CI: 'true' })
  expect(unsteady.join('\n')).toMatch(/unsteady: [amz]\.test\.js: it did not end/)
  expect(status).toBe(0)
  for (const name of ['a', 'm', 'z'])
    writeFileSync(join(folder, `${name}.test.js`), `${die}\ntest('y', () => expect(1).toBe(2))`)
  rmSync(join(folder, 'dead'))
  expect(runThem({ CI: 'true' }).status).toBe(1)
})

test.runIf(process.platform === 'linux')(
  'a process that a test did not end fails the run, and is shown and ended',
  async () => {
    for (const name of ['body', 'hook', 'load', 'stray']) rmSync(join(folder, `${name}.test.js`))
    const start = `spawn('sleep', ['2718'], { detached: true, stdio: 'ignore' })`
    const text = `import { spawn } from 'node:child_process'\ntest('x', () => ${start}.unref())`
    writeFileSync(join(folder, 'left.test.js'), text)
    const { status, left } = runThem({ TEST_ENDING_MS: '100' })
    expect(left).toEqual([expect.stringMatching(/^left running: \d+ sleep 2718/)])
    expect(status).toBe(1)
    await until(() => !isAlive(Number(left[0]?.split(' ')[2])))
  },
)

test('without CI a test that fails once has failed', () => {
  expect(runThem({})).toMatchObject({ status: 1, unsteady: [] })
})
