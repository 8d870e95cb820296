// Reads a text that is too long for an argument, from stdin or from a file that the person has named.

import { createReadStream } from 'node:fs'
import { limits } from '@agent-relay/sdk/wire'
import { CommandError, exitCodes } from './command.ts'
import type { Printer } from './print.ts'

export async function readMessageFromStdin(print: Printer): Promise<string> {
  if (process.stdin.isTTY) print.say('Type the message; Ctrl-D on an empty line sends it.')
  return (await readText(process.stdin, 'A message body', limits.bodyBytesMax)).replace(/\r?\n$/, '')
}

/** Reads a file, or stdin if its name is `-`. The file may be a pipe or a device, as in `-f <(...)`, since the person has named it. */
export function readFileOrStdin(file: string, what: string, bytesMax: number): Promise<string> {
  return readText(file === '-' ? process.stdin : createReadStream(file), what, bytesMax)
}

/** Reads a text. Throws if it is longer than `bytesMax`, or not UTF-8. */
async function readText(stream: AsyncIterable<Buffer>, what: string, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    // Two more bytes are accepted: the line break at the end, which is removed.
    if (bytes > bytesMax + 2)
      throw new CommandError(`${what} is at most ${bytesMax / 1024} KiB: name the file instead.`, exitCodes.usage)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new CommandError(`${what} must be text, and this is not UTF-8 text: name the file instead.`, exitCodes.usage)
  }
}
