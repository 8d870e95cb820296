// `diff`, `merge`, `sweep`: show, merge or remove the changes of workers in their worktrees. `merge` runs git in this process, in the checkout where the
// command is typed.

import type { RelayClient } from '@agent-relay/sdk'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { setting } from '@agent-relay/sdk/internal/discover'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import { MergeRefused, mergeBranch } from '../../../work/merging.ts'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { cleanText, oneLine } from '../../text.ts'

/** A worker, with its changes if it has a worktree. */
export type WorkerChanges = OutputOf<'worker.changes'>['workers'][number]

/** Returns the workers that have a worktree, by their ids. */
export async function listWorkerChanges(client: RelayClient): Promise<Map<string, WorkerChanges>> {
  const { workers } = await client.call('worker.changes', {})
  return new Map(workers.map((worker) => [worker.id, worker]))
}

/** Returns a worker's branch as text: in `relay/Fixer +2 -1, 3 files` the numbers of commits ahead and behind, and of files that differ. */
export function branchText({ worktree, changes, error }: WorkerChanges): string {
  if (!worktree) return '–'
  if (!changes) return oneLine(`${worktree.branch} (${error ?? 'not known'})`)
  const { ahead, behind, filesCount } = changes
  const counts = [...(ahead > 0 ? [`+${ahead}`] : []), ...(behind > 0 ? [`-${behind}`] : [])].join(' ')
  const files = filesCount === 0 ? '' : `, ${filesCount} ${filesCount === 1 ? 'file' : 'files'}`
  return oneLine(`${worktree.branch}${counts === '' ? '' : ` ${counts}`}${files}`)
}

export const diff: CliCommand = {
  argumentKind: 'agents',
  examples: ['agent-relay diff Fixer', 'agent-relay diff Fixer --json'],
  run: runDiff,
}

async function runDiff(context: CommandContext): Promise<void> {
  const { args, print } = context
  const name = args[0] as string
  await withClient(context, 'agent', async ({ client }) => {
    const answer = await print.during(`asking git`, client.call('worker.diff', { name }))
    if (print.isJson) return void (await print.json(answer))
    const { worktree } = answer.worker
    if (answer.text === '')
      return print.say(`${oneLine(name)} has changed nothing on ${oneLine(worktree?.branch ?? '')}.`)
    await print.line(cleanText(answer.text.trimEnd()))
    if (answer.isCut && worktree)
      print.say(`This is the beginning. The rest: git -C ${shellQuote(worktree.path)} diff ${worktree.base}`)
  })
}

export const merge: CliCommand = {
  argumentKind: 'agents',
  examples: ['agent-relay merge Fixer'],
  run: runMerge,
}

async function runMerge(context: CommandContext): Promise<void> {
  const { args, print, cwd, env } = context
  const name = args[0] as string
  if (setting(env, 'RELAY_WORKER') !== undefined)
    throw new CommandError('merge is for people. Tell your parent that your branch is ready.', exitCodes.denied)
  if (cwd === undefined) throw new CommandError('This directory is gone. Go to a checkout first.', exitCodes.usage)
  await withClient(context, 'agent', async ({ client }) => {
    const [worker] = (await client.call('worker.changes', { name })).workers
    if (!worker?.worktree) throw new CommandError(`${oneLine(name)} has no worktree.`, exitCodes.refused)
    const { branch } = worker.worktree
    const merged = await mergeBranch(env, cwd, worker.worktree).catch((error: unknown) => {
      throw error instanceof MergeRefused ? new CommandError(cleanText(error.message), exitCodes.refused) : error
    })
    if (merged.conflicts.length > 0) throw conflicting(merged.conflicts, branch)
    const isNew = merged.after !== merged.before
    const swept = worker.status === 'exited' ? (await client.call('worker.sweep', { name })).removed.length > 0 : false
    if (print.isJson) return void (await print.json({ ...merged, branch, isWorktreeRemoved: swept }))
    await print.line(isNew ? `${branch} is merged into ${oneLine(merged.into)}.` : `${branch} brings nothing new.`)
    if (swept) print.say('Its worktree and its branch are removed: they held nothing more.')
    const open = worker.changes?.uncommittedCount ?? 0
    if (open > 0) print.say(`Not merged, since not committed: ${open} file(s) in ${oneLine(worker.worktree.path)}.`)
  })
}

function conflicting(files: string[], branch: string): CommandError {
  const names = files.map((file) => `  ${oneLine(file)}`).join('\n')
  const next = 'Resolve them, then: git add FILE… && git commit      To undo the merge: git merge --abort'
  return new CommandError(`${branch} conflicts with this checkout in\n${names}\n${next}`, exitCodes.refused)
}

const sweepOptions = {
  discard: { flags: '--discard', text: 'remove the named one with all the work in it, and its branch' },
} satisfies CliOptions

export const sweep: CliCommand<typeof sweepOptions> = {
  argumentKind: 'agents',
  options: sweepOptions,
  examples: ['agent-relay sweep', 'agent-relay sweep Fixer --discard'],
  run: runSweep,
}

async function runSweep(context: CommandContext<typeof sweepOptions>): Promise<void> {
  const { args, options, print } = context
  const [name] = args
  if (options.discard && name === undefined) throw new CommandError('--discard needs a name.', exitCodes.usage)
  await withClient(context, 'agent', async ({ client }) => {
    const answer = await client.call('worker.sweep', { name, discard: options.discard })
    if (print.isJson) return void (await print.json(answer))
    const { removed, kept } = answer
    for (const { name, worktree } of removed) await print.line(`${oneLine(name)}  removed  ${worktree?.branch}`)
    for (const { name, worktree, why } of kept)
      await print.line(`${oneLine(name)}  kept  ${worktree?.branch}, ${oneLine(worktree?.path ?? '')}: ${oneLine(why)}`)
    if (removed.length + kept.length === 0) print.say('No worker has left a worktree.')
  })
}
