// The commands and programs in the documentation do what it says, against a real daemon in a private HOME.

import { spawn } from 'node:child_process'
import {
  chmodSync,
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
import { missingFrom, type Step, stepsOf } from './runnable.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['docs/tutorial', 'docs/how-to']
const pages = folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

let home: string
let env: Record<string, string>
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'docs-')))
  mkdirSync(join(home, 'bin'))
  mkdirSync(join(home, 'app'))
  // As if it were installed: the commands by their names, the packages beside the program.
  for (const [name, file] of [
    ['agent-relay', 'packages/relay/bin/agent-relay.cjs'],
    ['agent-relay-mcp', 'packages/mcp/bin/agent-relay-mcp.cjs'],
  ] as const) {
    writeFileSync(join(home, 'bin', name), `#!/bin/sh\nexec "${process.execPath}" "${root}${file}" "$@"\n`)
    chmodSync(join(home, 'bin', name), 0o755)
  }
  symlinkSync(join(root, 'node_modules'), join(home, 'app/node_modules'))
  const PATH = `${join(home, 'bin')}:${process.env.PATH}`
  env = { PATH, HOME: home, TMPDIR: home, USER: 'kim', RELAY_PORT: '0', TZ: 'UTC' }
})
afterEach(async () => {
  if (existsSync(join(home, '.local/share/agent-relay/control.sock'))) await run('agent-relay daemon stop')
  rmSync(home, { recursive: true, force: true })
})

function run(command: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('bash', ['-c', `${command}`], { cwd: join(home, 'app'), env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

async function runStep({ kind, text }: Step) {
  if (kind === 'command') return run(text)
  writeFileSync(join(home, 'app/program.mjs'), text)
  return run(`"${process.execPath}" program.mjs`)
}

describe.each(pages.filter((page) => stepsOf(read(page)).length > 0))('%s', (page) => {
  it('does what it says', async () => {
    for (const step of stepsOf(read(page))) {
      const { code, output } = await runStep(step)
      const where = `${page}, line ${step.line}: ${step.text}\n${output}`
      expect(code, where).toBe(0)
      expect(missingFrom(output, step.expected), where).toEqual([])
    }
  })
})

test('there is something to run', () => {
  expect(pages.flatMap((page) => stepsOf(read(page))).length).toBeGreaterThan(25)
})

test('an output that differs is found', () => {
  const [step] = stepsOf('```console run\n$ x\nm_…  stored at 10:00:00.\nend\n```') as [Step]
  expect(missingFrom('m_abc  stored at 23:59:59.\nmore\nend\n', step.expected)).toEqual([])
  expect(missingFrom('end\nm_abc  stored at 23:59:59.\n', step.expected)).toEqual(['end'])
  expect(missingFrom('m_abc  lost at 23:59:59.\nend\n', step.expected)).toEqual(['m_…  stored at 10:00:00.'])
})
