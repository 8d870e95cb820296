// Reads the standard input of a hook, on which the CLI describes the event. A CLI writes it as soon as it starts the hook.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'

const inputMs = waitLimitMs('hookInput')
/** Maximum number of characters of a tool call, which contains the whole new content of a file. A longer call is ignored. */
const callCharsMax = 32 * 1024 * 1024
const objectCharsMax = 64 * 1024

/** Reads all text until the input ends or `ms` have passed. */
export function readStdinText(ms = inputMs): Promise<string> {
  const { stdin } = process
  const pieces: string[] = []
  let chars = 0
  return new Promise((resolve) => {
    const over = () => resolve(pieces.join(''))
    setTimeout(over, ms).unref()
    stdin.on('error', over).on('end', over)
    stdin.setEncoding('utf8').on('data', (chunk: string) => {
      chars += chunk.length
      if (chars > callCharsMax) resolve('')
      else pieces.push(chunk)
    })
  })
}

/** Reads a small JSON object and returns as soon as it is complete, since the input may stay open. Returns an empty object if none comes in time. */
export function readStdinObject(): Promise<Record<string, unknown>> {
  const { stdin } = process
  let text = ''
  return new Promise((resolve) => {
    const over = () => resolve({})
    setTimeout(over, inputMs).unref()
    stdin.on('error', over).on('end', over)
    stdin.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(0, objectCharsMax)
      try {
        resolve(Object(JSON.parse(text)))
      } catch {
        // The rest has not come yet.
      }
    })
  })
}
