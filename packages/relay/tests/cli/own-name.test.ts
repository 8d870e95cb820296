// The command line's own name in texts for a person: its bare name if that is on their PATH, a relative path in a checkout, else its whole path.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  ownCommandName,
  ownNameAnywhere,
  relayScript,
  userShellPath,
  withCommandsAsTyped,
} from '../../src/cli/own-name.ts'

const byPath = shellQuote(fileURLToPath(new URL('../../../../agent-relay', import.meta.url)))

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'own-')))
})
afterEach(() => rmSync(root, { recursive: true }))

function folder(name: string, has?: 'ours' | 'another'): string {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  if (has === 'ours') symlinkSync(relayScript, join(path, 'agent-relay'))
  if (has === 'another') writeFileSync(join(path, 'agent-relay'), '')
  return path
}

it('commands are shown as `agent-relay` if that is on the PATH', () => {
  const PATH = [folder('a'), folder('b', 'ours')].join(delimiter)
  expect(ownCommandName({ PATH }, root)).toBe('agent-relay')
})

it('commands are shown with the path of the checkout if the PATH has another program of that name first, or none', () => {
  const PATH = [folder('a', 'another'), folder('b', 'ours')].join(delimiter)
  expect([ownCommandName({ PATH }, root), ownCommandName({}, root), ownNameAnywhere({})]).toEqual([
    byPath,
    byPath,
    byPath,
  ])
  expect(ownNameAnywhere({ PATH: folder('b') })).toBe('agent-relay')
})

it('commands are shown as ./agent-relay where the link of the checkout lies, and with a relative path below', () => {
  const top = folder('checkout', 'ours')
  folder('checkout/node_modules/.bin', 'ours')
  const below = folder('checkout/packages/relay')
  expect([ownCommandName({}, top), ownCommandName({}, below), ownCommandName({}, root)]).toEqual([
    './agent-relay',
    '../../agent-relay',
    byPath,
  ])
  const stranger = folder('stranger', 'another')
  expect(ownCommandName({}, stranger)).toBe(byPath)
  mkdirSync(join(folder('odd'), 'agent-relay'))
  expect(ownCommandName({}, join(root, 'odd'))).toBe(byPath)
})

it('commands are shown with `npx --no --` if a project here or above depends on the package', () => {
  const own = folder('a')
  const PATH = [folder('app/node_modules/.bin', 'ours'), own, ''].join(delimiter)
  const inside = folder('app/deep/down')
  expect([ownCommandName({ PATH }, inside), ownCommandName({ PATH }, root), userShellPath({ PATH })]).toEqual([
    'npx --no -- agent-relay',
    byPath,
    own,
  ])
})

it('commands are shown with their path if npx would run another program', () => {
  folder('app/node_modules/.bin', 'another')
  expect(ownCommandName({}, join(root, 'app'))).toBe(byPath)
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
    'npx --no -- agent-relay up, ./agent-relay up, agent-relay 0.1.0 runs, -g agent-relay, @agent-relay/mcp, agent-relay-mcp serve'
  const PATH = folder('a')
  // Tests run in the checkout.
  const own = ownCommandName({ PATH })
  expect(own).toMatch(/^\.{1,2}\//)
  expect(withCommandsAsTyped(text, { PATH })).toBe(text.replaceAll('agent-relay', own))
  expect(withCommandsAsTyped(rest, { PATH })).toBe(rest)
  expect(withCommandsAsTyped(withCommandsAsTyped(text, { PATH }), { PATH })).toBe(withCommandsAsTyped(text, { PATH }))
  expect(withCommandsAsTyped(text, { PATH: folder('b', 'ours') })).toBe(text)
})

it('repeats --as and --project in the commands that take them', () => {
  const repeated = { options: ['--as Bob', '--project shop'], commands: 'inbox|who|runs(?: [a-z]+)?' }
  const PATH = folder('a', 'ours')
  const typed = (text: string) => withCommandsAsTyped(text, { PATH }, repeated)
  expect(typed('2 more: agent-relay inbox')).toBe('2 more: agent-relay inbox --as Bob --project shop')
  expect(typed('agent-relay runs payload run_1')).toBe('agent-relay runs payload run_1 --as Bob --project shop')
  expect(typed('agent-relay inbox --as Ann, or: agent-relay who --all')).toBe(
    'agent-relay inbox --project shop --as Ann, or: agent-relay who --all --as Bob --project shop',
  )
  // Each command has its own, however many there are on a line.
  expect(typed('agent-relay who, agent-relay who --as Ann')).toBe(
    'agent-relay who --as Bob --project shop, agent-relay who --as Ann --project shop',
  )
  const many = typed('agent-relay who, '.repeat(20_000))
  expect(many).toBe('agent-relay who --as Bob --project shop, '.repeat(20_000))
  const others = 'agent-relay daemon start; agent-relay inboxes; agent-relay mcp install --project'
  expect(typed(others)).toBe(others)
})
