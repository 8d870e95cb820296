// `workspace create`, `list`, `open`, `close` and `remove`, which ask the daemon on its own socket. The other commands of the group have files of their own.

import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { sizeText } from '@agent-relay/sdk/internal/size-text'
import type { WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { troubleTexts } from '../../../core/shared-trouble.ts'
import type { CliCommand, CommandContext, NamedCommand } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { printWorkspaceFaults, withDaemon } from '../../connection.ts'
import { nextCommandId } from '../../control-socket.ts'
import { forceOption, yesOption } from '../../options.ts'
import { chooseLocalOrShared, localOption, shadowWarning } from '../../shared-name.ts'
import { countedText, oneLine, withTilde } from '../../text.ts'
import { backup } from './backup.ts'
import { exportCommand, importCommand } from './export.ts'
import { key } from './key.ts'
import { policy } from './policy.ts'
import { prune } from './prune.ts'
import { recover } from './recover.ts'
import { restore } from './restore.ts'
import { handOver, share, unshare } from './share.ts'

const createOptions = { local: localOption }

const create: NamedCommand<typeof createOptions> = {
  name: 'create',
  args: '<name>',
  text: 'make a workspace and print its key, this once',
  options: createOptions,
  examples: ['agent-relay workspace create frontend', 'agent-relay workspace create team --local'],
  actsForNoAgent: true,
  run: runCreate,
}

/** Creates a workspace and prints its key, alone on stdout. The key is printed only this once. */
async function runCreate({ args, options, env, print }: CommandContext<typeof createOptions>): Promise<void> {
  const workspace = args[0] as string
  await withDaemon({ env, print }, async (link) => {
    const make = (isLocal?: boolean) =>
      link.call('workspace.create', { workspace, ...(isLocal ? { local: true } : {}) }, nextCommandId('c'))
    const made = await chooseLocalOrShared<Partial<Awaited<ReturnType<typeof make>>>>(print, workspace, {
      make: () => make(options.local),
      open: () => link.call('workspace.open', { workspace, mustExist: true }, nextCommandId('c')),
      makeLocal: () => make(true),
    })
    if (made.key === undefined) return print.say(openText(workspace))
    if (print.isJson) return void (await print.json(made))
    await print.line(made.key)
    print.say(`made workspace ${made.name}. This is its key, which is kept for you in the credentials file.`)
    print.say(`Use the workspace: agent-relay who --project ${made.name}, or RELAY_PROJECT=${made.name}`)
  })
}

const list: NamedCommand = {
  name: 'list',
  text: 'the workspaces of this machine, which of them are open, and why',
  isDefault: true,
  examples: ['agent-relay workspace list', 'agent-relay workspace list --json'],
  actsForNoAgent: true,
  run: runList,
}

async function runList({ env, print }: CommandContext): Promise<void> {
  await withDaemon({ env, print }, async (link) => {
    const { workspaces, clusterFault } = await link.call('workspace.list', {}, nextCommandId('c'))
    if (print.isJson) return void (await print.json({ workspaces, clusterFault }))
    if (clusterFault !== undefined) print.say(`Those that are only in the cluster are not shown. ${clusterFault}`)
    if (workspaces.length === 0)
      return print.say('There is no workspace yet. To make one here: agent-relay daemon start')
    await print.table(
      [
        { head: 'NAME' },
        { head: 'STATE' },
        { head: 'WHY', mayShrink: true },
        { head: 'DATA', mayShrink: true },
        { head: 'SIZE' },
      ],
      workspaces.map((entry) => [
        ...[entry.name, stateOf(entry), whyOf(entry, env.HOME), withTilde(entry.path, env.HOME)],
        roomOf(entry),
      ]),
    )
    printWorkspaceFaults(print, workspaces)
    for (const text of workspaces.flatMap(troubleTexts)) print.say(oneLine(text))
    const shadowed = workspaces.flatMap(({ name, shadows }) => (shadows ? [name] : []))
    for (const name of shadowed) print.say(shadowWarning(name))
    const [shut] = workspaces.filter(
      ({ name, open, fault }) => !open && fault === undefined && !shadowed.includes(name),
    )
    if (shut) print.say(`To open one: agent-relay workspace open ${shut.name}`)
  })
}

function stateOf({ open, atRest, shared, shadows, fault, stopped, cutOff }: WorkspaceEntry): string {
  const state = fault !== undefined ? 'damaged' : !open ? 'not open' : atRest ? 'at rest' : 'open'
  if (!shared) return shadows ? `${state}, on this machine alone` : state
  return `${state}, shared${stopped ? ', stopped' : cutOff ? ', cut off' : ''}`
}

/** Returns the size of a workspace on disk as text, with the names of those parts that are larger than its database. */
function roomOf({ bytes }: WorkspaceEntry): string {
  if (!bytes) return ''
  const { database, ...others } = bytes
  const parts = Object.entries(others).filter(([, size]) => size > database)
  const all = Object.values(bytes).reduce((sum, size) => sum + size, 0)
  return `${sizeText(all)}${parts.length === 0 ? '' : ` (most of it: ${parts.map(([name]) => name).join(', ')})`}`
}

function whyOf({ name, open, directory, users = [], fault }: WorkspaceEntry, home: string | undefined): string {
  if (fault !== undefined) return 'see below'
  if (!open) return 'nobody has opened it'
  const project = directory === undefined ? 'opened by its name' : `project of ${oneLine(withTilde(directory, home))}`
  const why = name === homeWorkspace ? 'agents outside a project meet here' : project
  return users.length === 0 ? why : `${why}; ${countedText(users.length, 'agent')}`
}

const open: NamedCommand = {
  name: 'open',
  args: '<name>',
  argumentKind: 'projects',
  text: 'open a workspace that is there; it stays open, also after a restart',
  examples: ['agent-relay workspace open frontend'],
  actsForNoAgent: true,
  run: runOpen,
}

async function runOpen({ args, env, print }: CommandContext): Promise<void> {
  await withDaemon({ env, print }, async (link) => {
    const input = { workspace: args[0] as string, mustExist: true }
    const opened = await link.call('workspace.open', input, nextCommandId('c'))
    if (print.isJson) return void (await print.json(opened))
    print.say(openText(opened.name))
  })
}

function openText(name: string): string {
  return `Workspace ${name} is open. Who is there: agent-relay who --project ${name}`
}

const closeOptions = { force: forceOption }

const close: NamedCommand<typeof closeOptions> = {
  name: 'close',
  args: '<name>',
  argumentKind: 'projects',
  text: 'close a workspace until somebody opens it again; nothing in it is lost',
  options: closeOptions,
  examples: ['agent-relay workspace close frontend'],
  actsForNoAgent: true,
  run: runClose,
}

async function runClose({ args, options, env, print }: CommandContext<typeof closeOptions>): Promise<void> {
  await withDaemon({ env, print }, async (link) => {
    const input = { workspace: args[0] as string, force: options.force }
    const closed = await link.call('workspace.close', input, nextCommandId('c'))
    if (print.isJson) return void (await print.json(closed))
    print.say(`Workspace ${closed.name} is closed. To open it again: agent-relay workspace open ${closed.name}`)
  })
}

const removeOptions = { force: forceOption, yes: yesOption }

const remove: NamedCommand<typeof removeOptions> = {
  name: 'remove',
  args: '<name>',
  argumentKind: 'projects',
  text: 'remove a workspace with its messages and its key, for good',
  options: removeOptions,
  examples: ['agent-relay workspace remove demo-1a2b', 'agent-relay workspace remove frontend --force --yes'],
  actsForNoAgent: true,
  run: runRemove,
}

export const workspace: CliCommand = {
  commands: [
    ...[create, list, open, close, key, remove, policy, share, unshare, handOver],
    ...[backup, restore, recover, exportCommand, importCommand, prune],
  ],
}

async function runRemove({ args, options, env, print }: CommandContext<typeof removeOptions>): Promise<void> {
  const workspace = args[0] as string
  await withDaemon({ env, print }, async (link) => {
    if (!options.yes)
      await confirm(
        `Remove workspace ${workspace} with all its messages? This cannot be undone.`,
        `This cannot be undone, and there is no terminal to ask on. To do it: agent-relay workspace remove ${workspace} --yes`,
      )
    const removed = await link.call('workspace.remove', { workspace, force: options.force }, nextCommandId('c'))
    if (print.isJson) return void (await print.json(removed))
    const again = workspace === homeWorkspace ? ' A new, empty one is open: agents outside a project meet there.' : ''
    print.say(`Workspace ${workspace} is removed, with its messages and its key.${again}`)
  })
}
