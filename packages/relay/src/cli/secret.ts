// Reads a secret that a person types without it being shown, or a line of stdin. A secret is never an argument, since all users of the machine can read
// arguments.

import { CommandError, exitCodes } from './command.ts'
import { readFileOrStdin } from './stdin.ts'

const secretBytesMax = 16 * 1024

/** Returns the secret. `what` names it at the beginning of an error text: `A key`. */
export async function readSecret(message: string, what: string): Promise<string> {
  if (process.stdin.isTTY) {
    const prompts = await import('@clack/prompts')
    const typed = await prompts.password({ message })
    if (typeof typed !== 'string') throw new CommandError('Cancelled. Nothing was changed.', exitCodes.refused)
    return typed.trim()
  }
  const [line = ''] = (await readFileOrStdin('-', what, secretBytesMax)).split('\n')
  if (line.trim() === '')
    throw new CommandError(
      `${what} is needed, and stdin has none: ${message}. Write it to stdin, on one line.`,
      exitCodes.usage,
    )
  return line.trim()
}
