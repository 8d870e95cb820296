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
  older: { flags: '--older <time>', text: 'events older than this: 90d, 12h, 30m, 10s' },
  dryRun: { flags: '--dry-run', text: 'only say what would be moved, and what would stay' },
  delete: { flags: '--delete', text: 'delete them without an archive; this cannot be undone' },
  yes: yesOption,
} satisfies CliOptions
type PruneOptions = OptionValues<typeof pruneOptions>

export const prune: NamedCommand<typeof pruneOptions> = {
  name: 'prune',
  args: '[name]',
  argumentKind: 'projects',
  text: 'move old, finished events of a workspace into its archive, a compressed file, while it is in use',
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

const endedText = 'Stopped early. What was pruned until now stays pruned, and the next prune continues.'
const endedLookText =
  'Stopped before all events were checked, so there may be more to prune than this. Nothing was changed.'

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
  const what = `all finished events older than ${older} in workspace ${workspace}`
  return confirm(
    `Delete ${what}? This cannot be undone.`,
    `This deletes ${what}, which cannot be undone, and there is no terminal to ask on. To delete them: add --yes. To keep them in an archive: leave out --delete`,
  )
}

async function printPruned(
  print: Printer,
  pruned: Pruned,
  options: PruneOptions,
  home: string | undefined,
): Promise<void> {
  const { workspace, path, messages, events, archive, held, before, after, stuck, ended } = pruned
  const what = `${countedText(messages, 'message')} with deliveries and reactions, ${countedText(events, 'event')} in all`
  for (const each of held) print.say(staysText(each))
  if (options.dryRun && events > 0)
    return void (await print.line(`Would be ${options.delete ? 'deleted' : 'archived'}: ${what}. Nothing was changed.`))
  if (events === 0)
    await print.line(
      ended
        ? `Nothing in workspace ${workspace} was pruned.`
        : `Workspace ${workspace} has no finished events that old.`,
    )
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
  return `${sizeText(bytes)} of the database file are unused. An older version made the file, so it cannot shrink while it is in use: it shrinks a few minutes after the last use of the workspace.`
}

function staysText({ conversation, n, messages, unreadBy, isAsked }: Pruned['held'][number]): string {
  const why = [
    ...(unreadBy.length > 0 ? [`${listText(unreadBy.map(oneLine))} has not read number ${n}`] : []),
    ...(isAsked ? [`number ${n} waits for an answer`] : []),
  ]
  return `${oneLine(conversation)}: ${countedText(messages, 'older message')} stay, since ${why.join(', and ')}.`
}
