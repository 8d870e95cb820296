// Permissions that ACP agents ask for, as real CLIs word them: the command alone where nothing else is said with it, so that a delegation can fit it.

import { expect, test } from 'vitest'
import { AcpToolCalls } from '../../src/supervisor/control/acp-calls.ts'

const input = (call: object) => new AcpToolCalls('/w').merge({ toolCallId: 'c', ...call } as never).input
const text = (words: string) => ({ type: 'content', content: { type: 'text', text: words } })

test.each([
  [{ title: 'ls', content: [text('[current working directory /w]')] }, 'ls'],
  [{ title: 'ls', content: [text('[current working directory /etc]')] }, 'ls\n[current working directory /etc]'],
  [{ title: 'ls\n[current working directory /w]' }, 'ls\n[current working directory /w]'],
  [{ title: 'Run', rawInput: { command: 'ls', commands: ['ls'] } }, 'ls'],
  [{ title: 'Run', rawInput: { command: 'ls', commands: ['ls', 'rm -rf /'] } }, 'ls\n{"commands":["ls","rm -rf /"]}'],
  [
    { title: 'Edit', rawInput: { fileName: '/w/a', diff: '\n--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n' } },
    '/w/a\n--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y',
  ],
])('%j', (call, shown) => {
  expect(input(call)).toBe(shown)
})
