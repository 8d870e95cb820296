// Every command that a text of ours tells a person to type is one: in refusals, `doctor`, the help, the page and the pages of docs.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, test } from 'vitest'
import { allCommands } from '../../packages/relay/src/cli/catalog.ts'
import type { NamedCommand } from '../../packages/relay/src/cli/command.ts'
import { version } from '../../packages/relay/src/machine/version.ts'
import { hintFault, hintsIn, textsOf } from './hints.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const commands = await allCommands()
const tracked = (...patterns: string[]) =>
  execFileSync('git', ['ls-files', '--', ...patterns], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Texts in which our name tells nobody to type something. */
const sentences = ['makes it for VALUE', 'that starts another program', 'parcel', /^for \w+$/, /^-f -n /, /^-- /]
/** Commands that texts speak of, without an argument that they need. */
const mentions = ['send', 'merge', 'workspace backup', 'workspace restore']

function faultsOf(path: string, text: string, isMention = (line: string) => mentions.includes(line)): string[] {
  return hintsIn(text).flatMap((line) => {
    const isHint =
      !isMention(line) && !sentences.some((each) => line === each || (each instanceof RegExp && each.test(line)))
    const fault = isHint ? hintFault(line, commands) : undefined
    return fault === undefined ? [] : [`${path}: ${fault}: agent-relay ${line}`]
  })
}

function examplesOf(all: readonly NamedCommand[]): string[] {
  return all.flatMap(({ examples = [], commands: inside = [] }) => [...examples, ...examplesOf(inside)])
}

test('the texts of the sources', () => {
  const paths = tracked('packages/*/src/**', 'scripts/*.mjs', 'packages/*/bin/*').filter((path) =>
    /\.(?:c|m)?[jt]sx?$/.test(path),
  )
  const texts = paths.map((path) => textsOf(read(path)))
  expect(texts.flatMap(hintsIn).length).toBeGreaterThan(400)
  expect(paths.flatMap((path, at) => faultsOf(path, texts[at] as string))).toEqual([])
})

test('the examples of the help', () => {
  const lines = examplesOf(commands)
  expect(lines.length).toBeGreaterThan(100)
  expect(lines.filter((line) => hintsIn(line).length === 0)).toEqual([])
  expect(lines.flatMap((line) => faultsOf('the help', line))).toEqual([])
})

test('the pages of docs', () => {
  // The reference is made from the tables.
  const paths = tracked('*.md', 'llms.txt').filter((path) => !/^(?:CHANGELOG\.md|docs\/reference\/)/.test(path))
  // A page may speak of a command by its name alone.
  const isName = (line: string) => /^[a-z-]+(?: [a-z-]+)?$/.test(line) && !hintFault(`help ${line}`, commands)
  expect(paths.flatMap((path) => faultsOf(path, read(path), isName))).toEqual([])
})

it.each([
  ['agent-relay whoo', 'there is no command whoo'],
  ['To see it: agent-relay who --everybody.', 'who has no option --everybody'],
  ['Then ./agent-relay send Bob, and wait', 'send needs <to> <message>'],
  ['(see: agent-relay channels craete build)', 'there is no command craete'],
  ['agent-relay who; agent-relay inbox --as', '--as takes a value'],
  ['agent-relay help mcp instal', 'there is no command instal'],
])('a hint that is no command is found: %s', (text, fault) => {
  expect(hintsIn(text).flatMap((line) => hintFault(line, commands) ?? [])).toEqual([fault])
})

it.each([
  'agent-relay who --all. It lists them.',
  'See: agent-relay send "*" "Hello, all." --as kim',
  '`agent-relay channel create build`, then',
  'agent-relay --help',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a text of a source file
  "const text = `agent-relay runs payload ${id} --as ${name('x')}`",
  "'agent-relay workspace policy set ' +\n  '--spawn clis'",
])('a hint that is a command is left alone: %s', (text) => {
  expect(hintsIn(textsOf(text)).length).toBe(1)
  expect(hintsIn(textsOf(text)).flatMap((line) => hintFault(line, commands) ?? [])).toEqual([])
})

test('./agent-relay in the checkout is this command line, with --help and --version too', () => {
  const typed = (...args: string[]) => execFileSync('./agent-relay', args, { cwd: root, encoding: 'utf8' })
  expect(typed('--version')).toBe(`${version}\n`)
  expect(typed('--help')).toContain('Usage: ')
  expect(typed('send', '--help')).toContain('./agent-relay send Bob')
})
