// The daemon's lock: one holder whatever happens, and free again the moment its holder is gone, however it went.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DaemonLock } from '../../src/store/lock.ts'

let directory: string
let path: string
const children: ChildProcess[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-lock-'))
  path = join(directory, 'relay.lock')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

const built = new URL('../../dist/store/lock.js', import.meta.url).href
const program = `
  const { DaemonLock } = await import(process.argv[1])
  const lock = DaemonLock.acquire(process.argv[2])
  console.log(lock ? 'mine' : 'taken')
  // Kept: a lock that is nobody's is collected, and then it is free.
  if (lock) setInterval(() => lock.held, 1000)
`

/** Another process that asks for the lock, and keeps it if it gets it. */
async function rival(): Promise<{ child: ChildProcess; got: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, built, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [word] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  return { child, got: word.toString().trim() }
}

test('the lock has one holder in a process, and is free at once when released', () => {
  const lock = DaemonLock.acquire(path)
  expect(lock).toBeDefined()
  expect(DaemonLock.acquire(path)).toBeUndefined()
  lock?.release()
  const next = DaemonLock.acquire(path)
  expect(next).toBeDefined()
  next?.release()
})

test('of several processes that race for the lock, one gets it', async () => {
  const rivals = await Promise.all([rival(), rival(), rival(), rival()])
  expect(rivals.map(({ got }) => got).sort()).toEqual(['mine', 'taken', 'taken', 'taken'])
  expect(DaemonLock.acquire(path)).toBeUndefined()
})

test('a holder that is killed with -9 leaves the lock free', async () => {
  const { child, got } = await rival()
  expect(got).toBe('mine')
  expect(DaemonLock.acquire(path)).toBeUndefined()
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = DaemonLock.acquire(path)
  expect(lock).toBeDefined()
  expect((await rival()).got).toBe('taken')
  lock?.release()
})
