// The commands and programs in README, tutorial and how-tos work as described, against a real daemon in a private HOME, several pages at once.
// Every block counts: one that cannot be run says what it needs. Each command that an output tells to type is one.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { allCommands } from '../../packages/relay/src/cli/catalog.ts'
import { ownCommand } from '../../packages/sdk/src/internal/own-command.ts'
import { guardMs } from '../guard.ts'
import { hintFault, hintsIn } from './hints.ts'
import { Reader } from './reader.ts'
import { blocksOf, missingFrom, type Step } from './runnable.ts'

/** In a line about an event, our name is the daemon's. */
const event = /^ *(?:\d+ )?\[\d\d:.*$/gm
const commands = await allCommands()
const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['docs/tutorial', 'docs/how-to']
const pages = [
  'README.md',
  ...folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)),
]
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const stepsOf = (page: string) => blocksOf(read(page)).flatMap(({ steps }) => steps)
const blocks = pages.flatMap((page) => blocksOf(read(page)).map((block) => ({ ...block, page })))

test.concurrent.for(pages.filter((page) => stepsOf(page).length > 0))(
  '%s does what it says',
  { timeout: 4 * guardMs },
  async (page, { expect, onTestFinished }) => {
    const reader = new Reader()
    onTestFinished(() => reader.leave())
    // Nothing is installed there yet: the command is the link in the checkout.
    if (page === 'README.md') reader.env.PATH = process.env.PATH as string
    for (const step of stepsOf(page)) {
      const { code, output } = await reader.follow(step)
      const where = `${page}, line ${step.line}: ${step.text}\n${output}`
      expect(code, where).toBe(0)
      expect(missingFrom(output, step.expected), where).toEqual([])
      const faults = hintsIn(output.replace(event, '')).flatMap((line) => hintFault(line, commands) ?? [])
      expect(faults, where).toEqual([])
      // Its reader has no command of that name.
      if (page === 'README.md') expect(output.match(ownCommand) ?? [], where).toEqual([])
    }
  },
)

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
