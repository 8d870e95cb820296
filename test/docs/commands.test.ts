// The commands and programs in README, tutorial and how-tos do what these say, against a real daemon in a private HOME. All of them: a block that
// cannot be run says what it needs.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { isAlive } from '../is-alive.ts'
import { until } from '../until.ts'
import { blocksOf, missingFrom, type Step } from './runnable.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['docs/tutorial', 'docs/how-to']
const pages = [
  'README.md',
  ...folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)),
]
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const stepsOf = (page: string) => blocksOf(read(page)).flatMap(({ steps }) => steps)
const blocks = pages.flatMap((page) => blocksOf(read(page)).map((block) => ({ ...block, page })))

let home: string
let env: Record<string, string>
/** What goes on running until the page has ended. */
let staying: ChildProcess[]
beforeEach(() => {
  staying = []
  home = realpathSync(mkdtempSync(join(tmpdir(), 'docs-')))
  mkdirSync(join(home, 'bin'))
  mkdirSync(join(home, 'app'))
  // As if it were installed: the commands by their names, the packages beside the program.
  for (const [name, file] of [
    ['agent-relay', 'packages/relay/bin/agent-relay.cjs'],
    ['agent-relay-mcp', 'packages/mcp/bin/agent-relay-mcp.cjs'],
  ] as const) {
    symlinkSync(join(root, file), join(home, 'bin', name))
  }
  symlinkSync(join(root, 'node_modules'), join(home, 'app/node_modules'))
  // As if it were the checkout: `npm start` runs there.
  for (const name of ['package.json', 'scripts', 'packages']) symlinkSync(join(root, name), join(home, 'app', name))
  // An editor to connect.
  mkdirSync(join(home, '.cursor'))
  const PATH = `${join(home, 'bin')}:${process.env.PATH}`
  env = { PATH, HOME: home, TMPDIR: home, USER: 'kim', RELAY_PORT: '0', TZ: 'UTC' }
})
afterEach(async () => {
  for (const { pid } of staying) {
    if (pid === undefined || !isAlive(pid)) continue
    process.kill(-pid)
    // It may still write into what is removed below.
    await until(() => !isAlive(pid))
  }
  if (existsSync(join(home, '.local/share/agent-relay/control.sock')))
    await run(`${join(home, 'bin/agent-relay')} daemon stop`)
  rmSync(home, { recursive: true, force: true })
})

interface Started {
  child: ChildProcess
  output: string
}

function start(command: string): Started {
  // A group of its own, so that all of it can be ended: npm starts a shell, and that starts Node.
  const options: SpawnOptions = { cwd: join(home, 'app'), env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }
  const started = { child: spawn('bash', ['-c', command], options), output: '' }
  for (const stream of [started.child.stdout, started.child.stderr])
    stream?.on('data', (chunk) => {
      started.output += chunk
    })
  return started
}

function run(command: string): Promise<{ code: number | null; output: string }> {
  const started = start(command)
  return new Promise((resolve) => started.child.once('close', (code) => resolve({ code, output: started.output })))
}

/** A program is ready when it has printed a line, a relay when it says so. */
async function stay(command: string, sign: RegExp): Promise<{ code: number | null; output: string }> {
  const started = start(command)
  staying.push(started.child)
  await until(() => started.child.exitCode !== null || sign.test(started.output), 60_000)
  return { code: started.child.exitCode ?? 0, output: started.output }
}

async function runStep({ kind, text, stays, line }: Step) {
  if (kind === 'command') return stays ? stay(text, /^ready\./m) : run(text)
  const file = `program-${line}.mjs`
  writeFileSync(join(home, 'app', file), text)
  const command = `"${process.execPath}" ${file}`
  return stays ? stay(command, /\n/) : run(command)
}

describe.each(pages.filter((page) => stepsOf(page).length > 0))('%s', (page) => {
  it('does what it says', async () => {
    // Nothing is installed there yet: commands go through npx.
    if (page === 'README.md') env.PATH = process.env.PATH as string
    for (const step of stepsOf(page)) {
      const { code, output } = await runStep(step)
      const where = `${page}, line ${step.line}: ${step.text}\n${output}`
      expect(code, where).toBe(0)
      expect(missingFrom(output, step.expected), where).toEqual([])
    }
  }, 300_000)
})

test('every block is run, or says what it needs', () => {
  const wrong = blocks.filter(({ fault }) => fault !== undefined)
  expect(wrong.map(({ page, line, fault }) => `${page}:${line}: ${fault}`)).toEqual([])
  expect(blocks.filter(({ steps }) => steps.length > 0).length).toBeGreaterThan(30)
})

/** Each is one that nobody tries before a reader does. */
const needsMax = 14

test('few blocks cannot be run', () => {
  const needing = blocks.filter(({ needs }) => needs !== undefined)
  expect(needing.length, needing.map(({ page, line, needs }) => `${page}:${line} needs ${needs}`).join('\n')).toBe(
    Math.min(needing.length, needsMax),
  )
})

test('a block that is neither run nor says what it needs is found', () => {
  const faultsOf = (page: string) => blocksOf(page).map(({ fault }) => fault)
  expect(faultsOf('```console\n$ x\n```')).toEqual(['not run: console'])
  expect(faultsOf('text\n\n    agent-relay up\n')).toEqual(['an indented block: give it a fence'])
  expect(faultsOf('```json\n{\n```')).toEqual(['not JSON'])
  expect(faultsOf('```console\n# needs Docker\n$ x\n```\n```js run\nx\n```')).toEqual([undefined, undefined])
})

test('an output that differs is found', () => {
  const [step] = blocksOf('```console run\n$ x\nm_…  stored at 10:00:00.\nend\n```').flatMap(({ steps }) => steps) as [
    Step,
  ]
  expect(missingFrom('m_abc  stored at 23:59:59.\nmore\nend\n', step.expected)).toEqual([])
  expect(missingFrom('end\nm_abc  stored at 23:59:59.\n', step.expected)).toEqual(['end'])
  expect(missingFrom('m_abc  lost at 23:59:59.\nend\n', step.expected)).toEqual(['m_…  stored at 10:00:00.'])
})
