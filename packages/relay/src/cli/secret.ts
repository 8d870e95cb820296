// Reads a secret from a person: typed without being shown, or one line of stdin. A secret is never an argument, which everybody on the machine can read.

import { CommandError, exitCodes } from './command.ts'
import { readFileOrStdin } from './stdin.ts'

const secretBytesMax = 16 * 1024

/** `what` names the secret, as a sentence begins with it: `A key`. */
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
