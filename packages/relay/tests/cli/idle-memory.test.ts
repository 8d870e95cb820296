// An idle daemon gives memory back: that of its start, and pages that are almost empty after its work.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSocketAlive } from '@agent-relay/sdk/internal/discover'
import { afterEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'

let child: ChildProcess | undefined
const folders: string[] = []
afterEach(async () => {
  if (child && child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test.each([
  { name: 'daemon run', args: ['daemon', 'run', '--port', '0'] },
  { name: 'up', args: ['up', '--quiet', '--port', '0'] },
])('$name gives back what its start took, and takes it again for work', async ({ args }) => {
  const started = await start(args)
  expect(await ask(started, 'light')).toBeLessThanOrEqual(2)
  expect(await ask(started, 'work')).toBeGreaterThan(2)
})

test('pages that are almost empty go back to the system at rest', async () => {
  const started = await start(['daemon', 'run', '--port', '0'])
  expect(await ask(started, 'waste')).toBeLessThanOrEqual(0.5)
})

async function start(args: string[]): Promise<ChildProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-light-'))
  folders.push(folder)
  const { NODE_OPTIONS: _, ...rest } = process.env
  const env = { ...rest, HOME: folder, RELAY_DATA_DIR: folder }
  const path = fileURLToPath(new URL('heap-daemon.mjs', import.meta.url))
  const started = fork(path, args, { cwd: folder, env, execArgv: [], silent: true })
  child = started
  await until(() => {
    if (started.exitCode !== null) throw new Error(`ended with ${started.exitCode}`)
    return isSocketAlive(join(folder, 'control.sock'))
  })
  return started
}

async function ask(started: ChildProcess, what: 'light' | 'work' | 'waste'): Promise<number> {
  started.send(what)
  const [mb] = await once(started, 'message')
  return mb
}
