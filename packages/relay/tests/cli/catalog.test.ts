// The rows of the catalog agree with the commands that they load.

import { Option } from 'commander'
import { expect, test } from 'vitest'
import { allCommands, commandCatalog } from '../../src/cli/catalog.ts'
import type { CliOption, NamedCommand } from '../../src/cli/command.ts'

function withCommands(all: NamedCommand[], path = ''): (NamedCommand & { path: string })[] {
  return all.flatMap((command) => [
    { ...command, path: `${path}${command.name}` },
    ...withCommands(command.commands ?? [], `${path}${command.name} `),
  ])
}

const all = withCommands(await allCommands())

test('a group holds commands and runs nothing; everything else runs', () => {
  const wrong = all.filter(({ isGroup = false, commands = [], run }) => isGroup !== (commands.length > 0 && !run))
  expect(wrong.map(({ path }) => path)).toEqual([])
  expect(all.filter(({ isGroup, run }) => !isGroup && !run).map(({ path }) => path)).toEqual([])
})

test('an option has the name under which its command reads it; beside it, the one that turns it off is called "no…"', () => {
  for (const { path, options = {} } of all)
    for (const [name, { flags }] of Object.entries(options as Record<string, CliOption>)) {
      const option = new Option(flags)
      const read = option.attributeName()
      const isBeside = option.negate && read in options && name !== read
      expect([path, isBeside ? `no${read[0]?.toUpperCase()}${read.slice(1)}` : read]).toEqual([path, name])
    }
})

test('the text of a group names its commands', () => {
  for (const { path, text, isGroup, commands = [] } of all)
    for (const { name, isHidden } of commands)
      if (isGroup && !isHidden) expect([path, text.split(/[ ,:]+/)]).toEqual([path, expect.arrayContaining([name])])
})

test('no command is listed twice', () => {
  const paths = all.map(({ path }) => path)
  expect(paths).toEqual([...new Set(paths)])
})

test('a noun and its other number lead to one command, and each group that lists does so by itself', () => {
  const names = commandCatalog.flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias]))
  expect(names).toEqual([...new Set(names)])
  const nouns = commandCatalog.flatMap(({ name, alias }) => (alias === undefined ? [] : [name]))
  expect(nouns).toEqual(
    expect.arrayContaining(['channels', 'events', 'agents', 'workers', 'runs', 'actions', 'workspace']),
  )
  const groups = all.filter(({ isGroup, path }) => isGroup && nouns.includes(path))
  expect(groups.map(({ path, commands = [] }) => [path, commands.some(({ isDefault }) => isDefault)])).toEqual(
    groups.map(({ path }) => [path, true]),
  )
  // Nothing is listed of `daemon`, but one can look at it. All that `mcp` has changes something, or is a server: alone it shows its help.
  const defaultOf = (name: string) =>
    all.find(({ path }) => path === name)?.commands?.find(({ isDefault }) => isDefault)?.name
  expect([defaultOf('daemon'), defaultOf('mcp')]).toEqual(['status', undefined])
})
