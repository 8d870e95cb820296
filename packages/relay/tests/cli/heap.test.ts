// The memory that V8 takes: little for young objects after a daemon's start, bounded when there is work, old objects are collected soon, and
// a daemon at rest keeps no half-empty pages.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAlive } from '@agent-relay/sdk/internal/discover'
import { afterEach, expect, test } from 'vitest'

/** Without care, all the modules that are loaded leave it at 16. */
const startedMbMax = 4
/** Left to itself, Node 24 takes 128. */
const workingMbMax = 32
/** Measured at 31 (Node 20) and 35 (Node 24); left to itself, V8 takes 48 and more before it collects. */
const oldMbMax = 41

let child: ChildProcess | undefined
const folders: string[] = []
afterEach(async () => {
  if (child && child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test.each([
  { name: 'daemon run', args: ['daemon', 'run', '--port', '0'] },
  { name: 'up', args: ['up', '--quiet', '--port', '0'] },
])('$name starts light, and grows with its work', async ({ args }) => {
  const started = await start(args)
  expect(await ask(started, 'size')).toBeLessThanOrEqual(startedMbMax)
  const working = await ask(started, 'work')
  expect(working).toBeGreaterThan(startedMbMax)
  expect(working).toBeLessThanOrEqual(workingMbMax)
})

test('old objects are collected before they have doubled', async () => {
  const started = await start(['daemon', 'run', '--port', '0'])
  expect(await ask(started, 'replace')).toBeLessThan(oldMbMax)
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
  while (!(await isAlive(join(folder, 'control.sock')))) {
    if (started.exitCode !== null) throw new Error(`ended with ${started.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // The start ends in the turns after the socket answers.
  await new Promise((resolve) => setTimeout(resolve, 500))
  return started
}

async function ask(started: ChildProcess, what: 'size' | 'work' | 'replace' | 'waste'): Promise<number> {
  started.send(what)
  const [mb] = await once(started, 'message')
  return mb
}
