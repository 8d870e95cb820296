// The files that the launcher loads: the joined ones, unless something was built after them; for a daemon one file that holds all it may ask for later.

import { spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isCliJoined } from '../../../../scripts/join-cli.mjs'
import { exitCodes } from '../../src/cli/command.ts'
import { launcher, Running } from './cli-world.ts'

const root = mkdtempSync(join(tmpdir(), 'joined-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string, at: number): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  utimesSync(join(root, path), at, at)
}

const bin = join(root, 'packages/relay/bin/agent-relay.cjs')
const says = (what: string) => `export const main = () => console.log(${JSON.stringify(what)})`
const built = ['relay', 'sdk', 'mcp'].map((name) => `packages/${name}/dist/.tsbuildinfo`)

beforeAll(() => {
  mkdirSync(dirname(bin), { recursive: true })
  copyFileSync(launcher, bin)
  write('package.json', '{"type":"module"}', 1)
  write('packages/relay/dist/cli/main.js', says('apart'), 1)
  write('packages/relay/dist/cli/commands/daemon/heap.js', 'export const beginLightStart = () => {}', 1)
})

async function loads(...args: string[]): Promise<string> {
  const { stdout } = await new Running(spawn(process.execPath, [bin, ...args])).ended
  return stdout.trim()
}

const joined = (name: string) => `packages/relay/dist/joined/${name}.cjs`
const compiled = (name: string, text: string) =>
  `packages/relay/dist/joined/${name}.${text.split('*')[1]}-${process.versions.v8}-${process.arch}.bin`
const prints = (what: string) =>
  `/*${what}1*/(function(exports){const text='${what}';exports.main=()=>console.log(text)})`

test('a command is loaded from what is joined, once that is there', async () => {
  expect(await loads('status')).toBe('apart')
  write('packages/relay/dist/joined/main.js', says('joined'), 2)
  // As in an archive, which has no trace of a build, and no single file; a package beside it may have one.
  rmSync(join(root, 'packages/relay/dist/cli'), { recursive: true })
  write('packages/sdk/dist/.tsbuildinfo', '', 3)
  expect(await loads('status')).toBe('joined')
  write('packages/relay/dist/cli/main.js', says('apart'), 1)
  expect(await loads('status')).toBe('apart')
  for (const path of built) write(path, '', 1)
  expect(await loads('status')).toBe('joined')
  expect(isCliJoined(root)).toBe(true)
})

test.each([
  ['light', ['who']],
  ['light', ['send']],
  ['light', ['inbox']],
  ['daemon', ['up']],
  ['daemon', ['lift']],
  ['daemon', ['demo']],
  ['daemon', ['daemon', 'run']],
  ['daemon', ['daemon', '--memory', 'run']],
  ['daemon', ['daemon', '--project', 'shop', 'run']],
])('%s is one file for %j, whatever lies there as its compiled form', async (name, args) => {
  const form = compiled(name, prints(name))
  write(joined(name), prints(name), 2)
  rmSync(join(root, form), { force: true })
  expect(await loads(...args)).toBe(name)
  write(form, 'not what V8 has written', 2)
  expect(await loads(...args)).toBe(name)
  const other = new Script('1')
  writeFileSync(join(root, form), other.createCachedData())
  expect(await loads(...args)).toBe(name)
  expect(await loads('status')).toBe('joined')
  expect(await loads('daemon', 'start')).toBe('joined')
})

test('the compiled form of a text is not that of another one with as many letters', async () => {
  const ofOne = new Script(prints('one')).createCachedData()
  write(joined('light'), prints('two'), 2)
  writeFileSync(join(root, compiled('light', prints('one'))), ofOne)
  expect(await loads('who')).toBe('two')
  // V8 sees no difference. So the name alone keeps them apart, and it is the name that the launcher looks for.
  writeFileSync(join(root, compiled('light', prints('two'))), ofOne)
  expect(await loads('who')).toBe('one')
})

// After a plain `tsc -b` the launcher loads single files.
const checkout = join(dirname(launcher), '../../..')
test.skipIf(!isCliJoined(checkout)).each(['light', 'daemon'])('the build compiles %s, and V8 takes that', (name) => {
  const text = readFileSync(join(checkout, joined(name)), 'latin1')
  const cachedData = readFileSync(join(checkout, compiled(name, text)))
  expect(new Script(text, { cachedData }).cachedDataRejected).toBe(false)
})

test.skipIf(!isCliJoined(checkout))('of light, the build compiles what a run of its commands calls', async () => {
  const [folder, form, temporary] = [
    dirname(join(checkout, joined('light'))),
    join(root, 'form'),
    join(root, 'temporary'),
  ]
  mkdirSync(temporary)
  const compile = (from: string) => {
    const args = [join(checkout, 'scripts/compile-light.mjs'), from, form]
    return new Running(spawn(process.execPath, args, { env: { PATH: process.env.PATH, TMPDIR: temporary } })).ended
  }
  expect(await compile(root)).toMatchObject({ code: 1 })
  expect(existsSync(form)).toBe(false)
  expect(await compile(folder)).toMatchObject({ code: 0 })
  const text = readFileSync(join(folder, 'light.cjs'), 'latin1')
  const cachedData = readFileSync(form)
  expect(new Script(text, { cachedData }).cachedDataRejected).toBe(false)
  // All functions would take almost twice as much.
  expect(readFileSync(join(checkout, compiled('light', text))).length).toBeLessThan(1.3 * cachedData.length)
  expect(readdirSync(temporary)).toEqual([])
})

test.skipIf(!isCliJoined(checkout)).each([['who'], ['send', 'Bob', 'hi'], ['inbox']])(
  '%s loads nothing that it does not need',
  async (...args) => {
    const preload = join(root, 'tell-loaded.cjs')
    writeFileSync(preload, "process.on('exit', () => console.log(JSON.stringify(process.moduleLoadList)))")
    const env = { PATH: process.env.PATH, HOME: root, RELAY_DATA_DIR: join(root, 'data') }
    const child = spawn(process.execPath, ['-r', preload, launcher, ...args], { env, cwd: root })
    const { stdout, stderr, code } = await new Running(child).ended
    expect({ stderr, code }).toMatchObject({
      stderr: expect.stringContaining('not running'),
      code: exitCodes.notRunning,
    })
    const loaded: string[] = JSON.parse(stdout)
    const heavy = ['crypto', 'child_process', 'perf_hooks', 'http', 'worker_threads', 'module', 'dns']
    expect(loaded).toContain('NativeModule net')
    expect(loaded.filter((each) => heavy.some((name) => each === `NativeModule ${name}`))).toEqual([])
  },
)

test.skipIf(!isCliJoined(checkout))(
  'of the files with parts, each asks only for what is there, and for no daemon',
  () => {
    const folder = join(checkout, 'packages/relay/dist/joined')
    const parts = readdirSync(folder).filter((name) => name.endsWith('.js'))
    const asked = parts.flatMap((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      return [...text.matchAll(/(?:\bfrom|\bimport\(?)"(\.[^"]+)"/g)].map(([, path]) => path as string)
    })
    const missing = asked.filter((path) => !existsSync(join(folder, path)) || path.startsWith('../'))
    expect(asked.length).toBeGreaterThan(parts.length)
    // The launcher leads the commands that become a daemon elsewhere.
    expect([...new Set(missing)].sort()).toEqual(['../daemon/daemon.js'])
  },
)

test.skipIf(!isCliJoined(checkout))('a daemon never asks for another joined file', () => {
  const text = readFileSync(join(checkout, 'packages/relay/dist/joined/daemon.cjs'), 'latin1')
  const asked = [...text.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name as string)
  const own = new Set(asked.filter((name) => /^\.|^@agent-relay\//.test(name)))
  // Commands of which this file is never asked.
  const others = [...own].filter((name) => !name.startsWith('./commands/'))
  expect(asked).toContain('pg')
  expect(others).toEqual(['@agent-relay/mcp/edits'])
})

test.each(built)('what was joined before %s is left alone', async (path) => {
  write(path, '', 3)
  expect(await loads('status')).toBe('apart')
  expect(await loads('daemon', 'run')).toBe('apart')
  expect(isCliJoined(root)).toBe(false)
  write(path, '', 1)
  expect(isCliJoined(root)).toBe(true)
})

test('after an install it is joined again', () => {
  write('node_modules/.package-lock.json', '{}', 3)
  expect(isCliJoined(root)).toBe(false)
})
