// Reads a text from stdin, or from a file that the person named, instead of from an argument.

import { createReadStream } from 'node:fs'
import { limits } from '@agent-relay/sdk/wire'
import { CommandError, exitCodes } from './command.ts'
import type { Printer } from './print.ts'

export async function readMessageFromStdin(print: Printer): Promise<string> {
  if (process.stdin.isTTY) print.say('Type the message; Ctrl-D on an empty line sends it.')
  return (await readText(process.stdin, 'A message body', limits.bodyBytesMax)).replace(/\r?\n$/, '')
}

/** Reads a file, or stdin if it is `-`. The file may be a pipe or a device (`-f <(...)`), since the person named it. */
export function readFileOrStdin(file: string, what: string, bytesMax: number): Promise<string> {
  return readText(file === '-' ? process.stdin : createReadStream(file), what, bytesMax)
}

/** Reads no more than `bytesMax`, and refuses what is not UTF-8. */
async function readText(stream: AsyncIterable<Buffer>, what: string, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    // Two bytes more for the end of the last line, which is removed.
    if (bytes > bytesMax + 2)
      throw new CommandError(`${what} is at most ${bytesMax / 1024} KiB: name the file instead.`, exitCodes.usage)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new CommandError(`${what} must be text, and this is not UTF-8 text: name the file instead.`, exitCodes.usage)
  }
}
