// The choices of the command palette, made from the page's state, and the search among them. Drawing and keys are in palette.tsx.

import type { Agent, Conversation } from '@agent-relay/sdk/internal/page'
import { client, connection, logOut, playDemo, playDemoHere } from '../store/connection.ts'
import { titleOf } from '../store/conversations.ts'
import type { ListedWorker } from '../store/fleet.ts'
import { isHelpOpen, isSearchOpen } from '../store/keys.ts'
import { pathOf } from '../store/own-place.ts'
import { go } from '../store/page-address.ts'
import { retryRun, type TitledRun } from '../store/runs.ts'
import { nextTheme } from '../store/theme.ts'
import { menu } from '../store/views.ts'
import { actsOn, perform } from '../store/worker-acts.ts'
import { previewOf } from './markdown-tree.ts'

export interface Choice {
  /** The text of the choice, unique among all choices. */
  name: string
  hint?: string
  /** The keyboard shortcut that does the same without the palette. */
  keys?: string
  /** Whether the choice cannot be undone; the palette then asks once more. */
  isFinal?: boolean
  run(): unknown
}

export interface Known {
  me: string
  agents: readonly Agent[]
  workers: ReadonlyMap<string, ListedWorker>
  conversations: readonly Conversation[]
  runs: readonly TitledRun[]
}

const choicesMax = 60

export function choicesOf(known: Known): Choice[] {
  return [
    ...menu.map(({ name, title, key }) => ({ name: title, keys: `g ${key}`, run: () => go(name) })),
    ...general(),
    ...otherWorkspaces(),
    ...known.agents.filter(({ name }) => name !== known.me).flatMap((agent) => actsFor(agent, known.workers)),
    ...known.runs.flatMap(onRun),
    ...known.conversations.map(({ name }) => inTalk(name, known.me)),
    ...known.agents.filter(({ name }) => name !== known.me).flatMap((agent) => onAgent(agent, known.me)),
  ]
}

const general = (): Choice[] => [
  { name: 'Spawn a worker', run: () => go('agent', [], { spawn: '1' }) },
  { name: 'Give a contract (start a run)', run: () => go('runs', [], { start: '1' }) },
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

function otherWorkspaces(): Choice[] {
  const { workspace, workspaces } = connection.value
  const others = workspaces.filter((name) => name !== workspace)
  if (others.length === 0) return []
  return [
    { name: 'All workspaces', run: () => go('everywhere') },
    ...others.map((name) => ({ name: `Workspace ${name}`, run: () => location.assign(pathOf(name)) })),
  ]
}

function actsFor(agent: Agent, workers: Known['workers']): Choice[] {
  const worker = workers.get(agent.name)
  return actsOn(agent, worker).map((act) => ({
    name: `${act.name} ${agent.name}`,
    hint: previewOf(worker?.task ?? ''),
    isFinal: act.isFinal,
    run: () => perform(act, agent.name),
  }))
}

function onRun({ id, title, agent, status }: TitledRun): Choice[] {
  const name = `${previewOf(title)} (${id})`
  const hint = `run of ${agent}, ${status}`
  const isEnded = status === 'completed' || status === 'stopped'
  const stop = (): Promise<unknown> => client.call('run.stop', { run: id, reason: 'stopped on the page' })
  return [
    { name, hint, run: () => go('runs', [id]) },
    ...(status === 'running' ? [{ name: `Stop ${name}`, hint, isFinal: true, run: stop }] : []),
    ...(isEnded ? [{ name: `Retry ${name}`, hint, run: () => retryRun(id) }] : []),
  ]
}

const inTalk = (name: string, me: string): Choice => ({
  name: `Talk: ${titleOf(name, me)}`,
  hint: name,
  run: () => go('talk', [name]),
})

const onAgent = ({ name, status }: Agent, me: string): Choice[] => [
  { name: `Agent ${name}`, hint: status, run: () => go('agent', [name]) },
  { name: `Write to ${name}`, run: () => go('talk', [`@${[me, name].sort().join(',')}`]) },
  { name: `Give ${name} a contract`, run: () => go('runs', [], { start: '1', agent: name }) },
]

/** Finds the choices whose name or hint contains every word of the text; names that begin with the first word come first. */
export function fitting(choices: readonly Choice[], text: string): readonly Choice[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const [first] = words
  if (first === undefined) return choices.slice(0, choicesMax)
  const fits = ({ name, hint = '' }: Choice): boolean => {
    const all = `${name} ${hint}`.toLowerCase()
    return words.every((word) => all.includes(word))
  }
  const rank = ({ name }: Choice): number => {
    const lower = name.toLowerCase()
    return lower.startsWith(first) ? 0 : lower.includes(` ${first}`) ? 1 : 2
  }
  return choices
    .filter(fits)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, choicesMax)
}
