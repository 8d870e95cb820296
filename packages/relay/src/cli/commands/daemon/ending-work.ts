// The work that ends with the daemon: programs of workers, and runs of the built-in loop. Every command that stops the daemon names it first.

import { listText } from '@agent-relay/sdk/internal/clis'
import type { WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { confirm } from '../../confirm.ts'
import type { Printer } from '../../print.ts'

/** Returns the workers that end with the daemon, as `Bob in app`. */
export function endingWork(workspaces: readonly WorkspaceEntry[]): string[] {
  return workspaces.flatMap(({ name, workers = [] }) => workers.map((worker) => `${worker} in ${name}`))
}

export function endingText(work: readonly string[]): string {
  return `${work.length === 1 ? 'This worker ends' : 'These workers end'} with the daemon: ${listText(work)}.`
}

export function endedText(work: readonly string[]): string {
  return `Ended with it: ${listText(work)}. To give a task again: agent-relay retry NAME`
}

interface Agreement {
  /** The command as it is typed to skip the question, without `--yes`. */
  command: string
  yes?: boolean
  /** Where nobody can be asked, the command refuses instead of going on. */
  refusesUnasked?: boolean
  print: Printer
}

/** Names the work that ends, and asks a person at a terminal whether to go on. */
export async function confirmEndingWork(work: readonly string[], agreement: Agreement): Promise<void> {
  const { command, yes, refusesUnasked, print } = agreement
  if (work.length === 0 || yes) return
  const canAsk = !print.isJson && process.stdin.isTTY
  if (!canAsk && !refusesUnasked) return print.say(endingText(work))
  const fix = `Nobody can be asked here. To do it: agent-relay ${command} --yes`
  const ended = 'Cancelled. The daemon goes on.'
  await confirm(`${endingText(work)} Go on?`, `${endingText(work)} ${fix}`, { canAsk, ended })
}
