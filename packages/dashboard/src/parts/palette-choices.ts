// The choices of the command palette, made from the page's state, and the search among them. Drawing and keys are in palette.tsx.

import type { Agent, Conversation } from '@agent-relay/sdk/internal/page'
import { client, connection, logOut, playDemo, playDemoHere } from '../store/connection.ts'
import { conversationTitle } from '../store/conversations.ts'
import type { ListedWorker } from '../store/fleet.ts'
import { isHelpOpen, isSearchOpen } from '../store/keys.ts'
import { goToView } from '../store/page-address.ts'
import { retryRun, type TitledRun } from '../store/runs.ts'
import { nextTheme } from '../store/theme.ts'
import { menu } from '../store/views.ts'
import { runWorkerCommand, workerCommands } from '../store/worker-commands.ts'
import { workspacePath } from '../store/workspace-storage.ts'
import { previewOf } from './markdown-tree.ts'

export interface PaletteChoice {
  /** The text of the choice, unique among all choices. */
  name: string
  hint?: string
  /** The keyboard shortcut that does the same without the palette. */
  keys?: string
  /** Whether the choice cannot be undone; the palette then asks once more. */
  isFinal?: boolean
  run(): unknown
}

export interface PaletteContext {
  me: string
  agents: readonly Agent[]
  workers: ReadonlyMap<string, ListedWorker>
  conversations: readonly Conversation[]
  runs: readonly TitledRun[]
}

const choicesMax = 60

export function paletteChoices(known: PaletteContext): PaletteChoice[] {
  return [
    ...menu.map(({ name, title, key }) => ({ name: title, keys: `g ${key}`, run: () => goToView(name) })),
    ...general(),
    ...otherWorkspaces(),
    ...known.agents.filter(({ name }) => name !== known.me).flatMap((agent) => commandsFor(agent, known.workers)),
    ...known.runs.flatMap(onRun),
    ...known.conversations.map(({ name }) => inTalk(name, known.me)),
    ...known.agents.filter(({ name }) => name !== known.me).flatMap((agent) => onAgent(agent, known.me)),
  ]
}

const general = (): PaletteChoice[] => [
  { name: 'Spawn a worker', run: () => goToView('agent', [], { spawn: '1' }) },
  { name: 'Give a contract (start a run)', run: () => goToView('runs', [], { start: '1' }) },
  ...(connection.value.hasDemo
    ? [
        { name: 'Play the demo', hint: 'in a workspace of its own', run: playDemo },
        { name: 'Play the demo here', hint: 'in this workspace', run: playDemoHere },
      ]
    : []),
  { name: 'Search all messages', keys: '/', run: () => isSearchOpen.set(true) },
  { name: 'Light or dark', run: nextTheme },
  { name: 'List of keys', keys: '?', run: () => isHelpOpen.set(true) },
  ...(connection.value.isOpen ? [] : [{ name: 'Log out', isFinal: true, run: logOut }]),
]

function otherWorkspaces(): PaletteChoice[] {
  const { workspace, workspaces } = connection.value
  const others = workspaces.filter((name) => name !== workspace)
  if (others.length === 0) return []
  return [
    { name: 'All workspaces', run: () => goToView('everywhere') },
    ...others.map((name) => ({ name: `Workspace ${name}`, run: () => location.assign(workspacePath(name)) })),
  ]
}

function commandsFor(agent: Agent, workers: PaletteContext['workers']): PaletteChoice[] {
  const worker = workers.get(agent.name)
  return workerCommands(agent, worker).map((command) => ({
    name: `${command.name} ${agent.name}`,
    hint: previewOf(worker?.task ?? ''),
    isFinal: command.isFinal,
    run: () => runWorkerCommand(command, agent.name),
  }))
}

function onRun({ id, title, agent, status }: TitledRun): PaletteChoice[] {
  const name = `${previewOf(title)} (${id})`
  const hint = `run of ${agent}, ${status}`
  const isEnded = status === 'completed' || status === 'stopped'
  const stop = (): Promise<unknown> => client.call('run.stop', { run: id, reason: 'stopped on the page' })
  return [
    { name, hint, run: () => goToView('runs', [id]) },
    ...(status === 'running' ? [{ name: `Stop ${name}`, hint, isFinal: true, run: stop }] : []),
    ...(isEnded ? [{ name: `Retry ${name}`, hint, run: () => retryRun(id) }] : []),
  ]
}

const inTalk = (name: string, me: string): PaletteChoice => ({
  name: `Talk: ${conversationTitle(name, me)}`,
  hint: name,
  run: () => goToView('talk', [name]),
})

const onAgent = ({ name, status }: Agent, me: string): PaletteChoice[] => [
  { name: `Agent ${name}`, hint: status, run: () => goToView('agent', [name]) },
  { name: `Write to ${name}`, run: () => goToView('talk', [`@${[me, name].sort().join(',')}`]) },
  { name: `Give ${name} a contract`, run: () => goToView('runs', [], { start: '1', agent: name }) },
]

/** Finds the choices whose name or hint contains every word of the text; names that begin with the first word come first. */
export function matchingChoices(choices: readonly PaletteChoice[], text: string): readonly PaletteChoice[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const [first] = words
  if (first === undefined) return choices.slice(0, choicesMax)
  const fits = ({ name, hint = '' }: PaletteChoice): boolean => {
    const all = `${name} ${hint}`.toLowerCase()
    return words.every((word) => all.includes(word))
  }
  const rank = ({ name }: PaletteChoice): number => {
    const lower = name.toLowerCase()
    return lower.startsWith(first) ? 0 : lower.includes(` ${first}`) ? 1 : 2
  }
  return choices
    .filter(fits)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, choicesMax)
}
