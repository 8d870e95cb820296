// Whether a permission was answered at the terminal: by real children of this process, which stands for the host, and by a transcript on the disk.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

interface Call {
  tool: string
  input: object
  transcript: string | undefined
  host: number
}
const { ClaudeTerminalWatch } = createRequire(import.meta.url)('../dist/hooks/permission.cjs') as {
  ClaudeTerminalWatch: new (call: Call) => { terminalAnswer(): 'allow' | 'deny' | undefined }
}

let work: string
let children: ChildProcess[]
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'relay-transcript-'))
  children = []
})
afterEach(async () => {
  for (const child of children) {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  rmSync(work, { recursive: true, force: true })
})

/** One that stays, and has these words among its arguments. */
async function child(...words: string[]): Promise<void> {
  const started = spawn('sh', ['-c', 'echo up; read line', ...words])
  children.push(started)
  await once(started.stdout, 'data')
}
const watch = (command: string, transcript?: string) =>
  new ClaudeTerminalWatch({ tool: 'Bash', input: { command }, transcript, host: process.pid })

test.skipIf(process.platform !== 'linux')('a child that was there before is not what was asked for', async () => {
  await child('node', 'touch made')
  const [plain, quoted] = [watch('touch made'), watch('node "server.js"')]
  expect([plain.terminalAnswer(), quoted.terminalAnswer()]).toEqual([undefined, undefined])
  // Nor is a new one with the beginning of it, or with more than it.
  await child('node', 'other.js')
  await child("eval 'touch made too'")
  expect([plain.terminalAnswer(), quoted.terminalAnswer()]).toEqual([undefined, undefined])
})

test.skipIf(process.platform !== 'linux').each([
  ['quoted', 'touch made', "source x && eval 'touch made' \\< /dev/null && pwd"],
  ['as one word', 'ls', 'eval ls \\< /dev/null && pwd'],
  ['alone', 'touch made', 'touch made'],
])('a new child with the whole command runs it: %s', async (_, command, argument) => {
  const watched = watch(command)
  expect(watched.terminalAnswer()).toBeUndefined()
  await child(argument)
  expect(watched.terminalAnswer()).toBe('allow')
})

test('a transcript that comes after the question tells its result', () => {
  const transcript = join(work, 'later.jsonl')
  const watched = watch('echo "x"', transcript)
  expect(watched.terminalAnswer()).toBeUndefined()
  const line = (content: object) => `${JSON.stringify({ message: { content: [content] } })}\n`
  const use = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'echo "x"' } }
  writeFileSync(transcript, line(use) + line({ type: 'tool_result', tool_use_id: 't1', content: '' }))
  expect(watched.terminalAnswer()).toBe('allow')
})
