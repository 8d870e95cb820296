// What a command is given on stdin instead of as an argument.

import { limits } from '@agent-relay/sdk'
import { CommandError, exits } from './command.ts'
import type { Print } from './print.ts'

/** No more than fits is read; what is not text is not sent as something that looks like it. */
export async function readStdin(print: Print): Promise<string> {
  if (process.stdin.isTTY) print.say('Type the message; Ctrl-D on a line of its own sends it.')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > limits.bodyBytesMax + 2) {
      throw new CommandError(
        `A message body is at most ${limits.bodyBytesMax / 1024} KiB: name the file instead.`,
        exits.usage,
      )
    }
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)).replace(/\r?\n$/, '')
  } catch {
    throw new CommandError('What came on stdin is not UTF-8 text: name the file instead.', exits.usage)
  }
}
