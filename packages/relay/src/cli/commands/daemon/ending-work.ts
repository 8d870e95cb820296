// Workers and runs of the built-in loop end with the daemon: every command that stops the daemon lists them first.

import { listText } from '@agent-relay/sdk/internal/clis'
import type { WorkspaceEntry } from '@agent-relay/sdk/protocol'
import { confirm } from '../../confirm.ts'
import type { Printer } from '../../print.ts'

/** Returns the names of the workers and loop agents that end with the daemon, such as `Bob in app`. */
export function workEndingWithDaemon(workspaces: readonly WorkspaceEntry[]): string[] {
  return workspaces.flatMap(({ name, workers = [] }) => workers.map((worker) => `${worker} in ${name}`))
}

export function workEndsText(work: readonly string[]): string {
  return `${work.length === 1 ? 'This worker ends' : 'These workers end'} with the daemon: ${listText(work)}.`
}

export function workEndedText(work: readonly string[]): string {
  return `Ended with it: ${listText(work)}. To give a task again: agent-relay retry NAME`
}

interface Agreement {
  /** The command that the refusal suggests, without its `--yes`. */
  command: string
  yes?: boolean
  /** Without a terminal nobody can be asked: true refuses the command, false goes on. */
  refusesUnasked?: boolean
  print: Printer
}

/** Lists the work that ends with the daemon, and asks a person at a terminal whether to go on. */
export async function confirmEndingWork(work: readonly string[], agreement: Agreement): Promise<void> {
  const { command, yes, refusesUnasked, print } = agreement
  if (work.length === 0 || yes) return
  const canAsk = !print.isJson && process.stdin.isTTY
  if (!canAsk && !refusesUnasked) return print.say(workEndsText(work))
  const fix = `There is no terminal to ask on. To do it: agent-relay ${command} --yes`
  const ended = 'Cancelled. The daemon goes on.'
  await confirm(`${workEndsText(work)} Go on?`, `${workEndsText(work)} ${fix}`, { canAsk, ended })
}
