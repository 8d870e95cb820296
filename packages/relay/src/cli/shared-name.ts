// If a new workspace would have the name of a shared one in the cluster, a person at a terminal chooses between them, and everybody else gets an error.

import { type CliOption, CommandError, exitCodes } from './command.ts'
import type { Printer } from './print.ts'

export const localOption = {
  flags: '--local',
  text: 'on this machine alone, also where the cluster has a shared workspace of this name',
} satisfies CliOption

/** Returns the warning if a workspace of this machine has the name of a shared one. An older daemon may have created it, or a person on purpose. */
export function shadowWarning(name: string): string {
  return `Workspace ${name} is on this machine alone, and hides a shared workspace of the same name: here ${name} means the local one.`
}

/** Returns the commands that rename the local workspace and then open the shared one. */
export function shadowFixCommands(name: string): string {
  const commands = [
    `workspace export --project ${name} --to ${name}.jsonl`,
    `workspace import ${name}.jsonl ${name}-here`,
    `workspace remove ${name}`,
    `workspace open ${name}`,
  ]
  return `to keep what was said in the local one under another name, and open the shared one: ${commands.map((each) => `agent-relay ${each}`).join(', ')}`
}

/**
 * Creates a workspace with `make`. If the cluster has one of that name, asks the person: `open` joins it, and `makeLocal` creates a separate local one.
 */
export async function chooseLocalOrShared<T>(
  { isJson }: Pick<Printer, 'isJson'>,
  workspace: string,
  { make, open, makeLocal }: { make(): Promise<T>; open(): Promise<T>; makeLocal(): Promise<T> },
): Promise<T> {
  try {
    return await make()
  } catch (error) {
    const isTaken = (error as { code?: unknown }).code === 'workspace.name-shared'
    if (!isTaken || isJson || !process.stdin.isTTY || !process.stderr.isTTY) throw error
  }
  const prompts = await import('@clack/prompts')
  const message = `The cluster of this machine has a shared workspace named ${workspace}. Which one do you mean?`
  const options = [
    { value: 'shared', label: 'the shared one', hint: 'open it here' },
    { value: 'local', label: 'another of this name', hint: 'make one on this machine alone' },
  ]
  const answer = await prompts.select({ message, options, output: process.stderr })
  if (answer === 'shared') return open()
  if (answer === 'local') return makeLocal()
  throw new CommandError('Cancelled. Nothing was changed.', exitCodes.refused)
}
