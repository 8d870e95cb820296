// How the command line calls itself before a person: by its name where their PATH has it, else through npx.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { asTyped, ownName, pathOfOwn } from '../src/cli/own-name.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'own-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function folder(name: string, hasIt: boolean): string {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  if (hasIt) writeFileSync(join(path, 'agent-relay'), '')
  return path
}

it('is the name where it is installed', () => {
  const PATH = [folder('a', false), folder('b', true)].join(':')
  expect(ownName({ PATH })).toBe('agent-relay')
})

it('is npx where only what npm put before the PATH has it', () => {
  const own = folder('a', false)
  const PATH = [folder('app/node_modules/.bin', true), own, ''].join(':')
  expect([ownName({ PATH }), pathOfOwn({ PATH }), ownName({})]).toEqual(['npx agent-relay', own, 'npx agent-relay'])
})

it('stands in every command of a text, and in nothing else', () => {
  const text = [
    'Relay daemon is not running. Start with: agent-relay daemon start',
    'agent-relay daemon stop; mv a b; agent-relay daemon start',
    '(see: agent-relay send --help) RELAY_SOCKET=/s agent-relay who',
    'eval "$(agent-relay completion bash)"',
    'Usage: agent-relay [options] [command]',
  ].join('\n')
  const rest =
    'npx agent-relay up, agent-relay 0.1.0 runs, npm install -g agent-relay, @agent-relay/mcp, agent-relay-mcp serve'
  const PATH = folder('a', false)
  expect(asTyped(text, { PATH })).toBe(text.replaceAll('agent-relay', 'npx agent-relay'))
  expect(asTyped(rest, { PATH })).toBe(rest)
  expect(asTyped(text, { PATH: folder('b', true) })).toBe(text)
})
