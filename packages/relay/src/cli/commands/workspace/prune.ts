// `workspace prune`: deletes old, finished events of a workspace, after writing them into its archive, unless the person wants no archive.

import { join } from 'node:path'
import { listText } from '@agent-relay/sdk/internal/clis'
import { sizeText } from '@agent-relay/sdk/internal/size-text'
import type { InputOf, OutputOf, WorkspaceEntry } from '@agent-relay/sdk/protocol'
import type { Link } from '@agent-relay/sdk/wire'
import {
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
  type OptionValues,
} from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { withDaemon, workspaceOfCommand } from '../../connection.ts'
import { daemonStatus, nextCommandId } from '../../control-socket.ts'
import { parseDurationMs } from '../../duration.ts'
import { endingSignal } from '../../ending.ts'
import { yesOption } from '../../options.ts'
import type { Printer } from '../../print.ts'
import { countedText, oneLine, withTilde } from '../../text.ts'

type Pruned = OutputOf<'workspace.prune'>

const pruneOptions = {
  older: { flags: '--older <time>', text: 'what is older than this: 90d, 12h, 30m, 10s' },
  dryRun: { flags: '--dry-run', text: 'only say what would go, and what stays' },
  delete: { flags: '--delete', text: 'keep no file of it: it cannot be had back' },
  yes: yesOption,
} satisfies CliOptions
type PruneOptions = OptionValues<typeof pruneOptions>

export const prune: NamedCommand<typeof pruneOptions> = {
  name: 'prune',
  args: '[name]',
  argumentKind: 'projects',
  text: 'move what is old and over out of a workspace into a compressed file beside it, while it is in use',
  options: pruneOptions,
  examples: [
    'agent-relay workspace prune --older 90d --dry-run',
    'agent-relay workspace prune frontend --older 90d',
    'agent-relay workspace prune frontend --older 1d --delete --yes',
  ],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof pruneOptions>): Promise<void> {
  const { args, options, env, print } = context
  const { dryRun, delete: deletes } = options
  const olderMs = olderOf(options.older)
  const workspace = workspaceOfCommand({ cwd: context.cwd, options: { project: args[0] ?? options.project } }, env)
  if (deletes && !dryRun && !options.yes) await confirmDeletion(workspace, options.older as string)
  await withDaemon({ env, print }, async (link) => {
    const asked = { workspace, olderMs, dryRun, delete: deletes }
    const pruned = await pruneUntilEnded(link, asked, print)
    if (print.isJson) await print.json(pruned)
    else await printPruned(print, pruned, options, env.HOME)
    if (pruned.ended) throw new CommandError(dryRun ? endedLookText : endedText, 130, { isPrintedAsJson: print.isJson })
  })
}

const endedText = 'Ended before all was done. What went stays gone, and the next prune goes on.'
const endedLookText = 'Ended before all was looked at, so more may go than this. Nothing was changed.'

/** Prunes the workspace. Ctrl-C stops the pruning in the daemon too, and the result says what was pruned until then. */
async function pruneUntilEnded(link: Link, asked: InputOf<'workspace.prune'>, print: Printer): Promise<Pruned> {
  const id = nextCommandId('c')
  endingSignal().addEventListener('abort', () => link.unwatch(id), { once: true })
  const pruned = link.call('workspace.prune', asked, id)
  return print.during(asked.dryRun ? 'looking' : 'pruning', pruned, async () => {
    const { workspaces } = await daemonStatus(link)
    const progress = workspaces.find(({ name }) => name === asked.workspace)?.pruning
    return progress && progressText(progress)
  })
}

function progressText({ doing, done, of, messages }: NonNullable<WorkspaceEntry['pruning']>): string {
  if (doing === 'giving space back') return `${countedText(messages, 'message')}, ${doing}`
  return of === 0 ? '' : `${done} of ${of} entries, ${countedText(messages, 'message')}`
}

function olderOf(text: string | undefined): number {
  const ms = parseDurationMs(text ?? '')
  if (ms !== undefined) return ms
  const what = text === undefined ? 'Say how old' : `--older is "${text}"`
  throw new CommandError(`${what}: --older 90d, in days (d), hours (h), minutes (m) or seconds (s)`, exitCodes.usage)
}

function confirmDeletion(workspace: string, older: string): Promise<void> {
  const what = `everything older than ${older} that is over in workspace ${workspace}`
  return confirm(
    `Delete ${what}? This cannot be undone.`,
    `This deletes ${what}, cannot be undone, and nobody can be asked here. To do it: add --yes. To keep it in a file: leave out --delete`,
  )
}

async function printPruned(
  print: Printer,
  pruned: Pruned,
  options: PruneOptions,
  home: string | undefined,
): Promise<void> {
  const { workspace, path, messages, events, archive, held, before, after, stuck, ended } = pruned
  const what = `${countedText(messages, 'message')} with what became of them, ${countedText(events, 'event')} in all`
  for (const each of held) print.say(staysText(each))
  if (options.dryRun && events > 0) return void (await print.line(`Would go: ${what}. Nothing was changed.`))
  if (events === 0) await print.line(`Nothing in workspace ${workspace} ${ended ? 'went' : 'is that old and over'}.`)
  else if (archive) {
    const file = withTilde(join(path, 'archive', archive.file), home)
    await print.line(`Archived: ${what}, in ${file} (${sizeText(archive.bytes)}).`)
  } else await print.line(`Deleted: ${what}.`)
  if (options.dryRun || !before || !after) return
  if (events > 0) print.say(`Its files: ${sizesText(before)} before, ${sizesText(after)} now.`)
  if (stuck !== undefined) print.say(stuckText(stuck))
}

function sizesText({ database, log, search, archive }: NonNullable<Pruned['after']>): string {
  return `${sizeText(database + log + search)} and ${sizeText(archive)} of archive`
}

function stuckText(bytes: number): string {
  return `${sizeText(bytes)} of it are unused. An older version made this file, which cannot give them back while it is in use: they come back some minutes after nobody uses the workspace any more.`
}

function staysText({ conversation, n, messages, unreadBy, isAsked }: Pruned['held'][number]): string {
  const why = [
    ...(unreadBy.length > 0 ? [`${listText(unreadBy.map(oneLine))} has not read number ${n}`] : []),
    ...(isAsked ? [`number ${n} waits for an answer`] : []),
  ]
  return `${oneLine(conversation)}: ${countedText(messages, 'older message')} stay, since ${why.join(', and ')}.`
}
