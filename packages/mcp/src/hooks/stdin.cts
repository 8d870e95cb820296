// Standard input of a hook, on which the CLI describes the event. A CLI writes it at once.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'

const inputMs = waitLimitMs('hookInput')
/** The limit of a tool call's text, which holds the whole new content of a file. A longer one is ignored. */
const callCharsMax = 32 * 1024 * 1024
const objectCharsMax = 64 * 1024

/** All text until the end of the input or the limit of time. */
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

/** A small JSON object from the input, as soon as it is complete: the input may stay open. Empty if none comes. */
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
