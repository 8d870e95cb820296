// Asks the person at the terminal whether to go on. Where nobody can be asked, the command is refused, with the option that answers for the person.

import { CommandError, exitCodes } from './command.ts'

/** Resolves after a yes. `unasked` is the refusal where there is no terminal, `ended` the text after a no. */
export async function confirm(
  message: string,
  unasked: string,
  { canAsk = process.stdin.isTTY, ended = 'Cancelled. Nothing was changed.' } = {},
): Promise<void> {
  if (!canAsk) throw new CommandError(unasked, exitCodes.usage)
  const prompts = await import('@clack/prompts')
  if ((await prompts.confirm({ message, initialValue: false })) !== true)
    throw new CommandError(ended, exitCodes.refused)
}
