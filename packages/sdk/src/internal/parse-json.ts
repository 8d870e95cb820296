// Parses JSON that others wrote, from a connection or a file, with a limit for its depth. The MCP stdio pipe and the hooks of CLIs load this file at every
// start, so it imports only the limits that they share.

import { pipeLimits } from './pipe-limits.ts'

/** Thrown if the JSON text nests deeper than the limit. */
export class JsonDepthError extends Error {
  constructor(depthMax: number) {
    super(`nested deeper than ${depthMax} levels`)
    this.name = 'JsonDepthError'
  }
}

/** Parses JSON. Throws a JsonDepthError, or the SyntaxError of `JSON.parse`. */
export function parseJson(text: string, depthMax: number = pipeLimits.jsonDepthMax): unknown {
  // The depth is checked before the text is parsed: a million brackets in one line would become a hundred megabytes of arrays before the text could be refused,
  // and recursive code (JSON.stringify, a schema) would run out of stack.
  if (isDeeperThan(text, depthMax)) throw new JsonDepthError(depthMax)
  return JSON.parse(text)
}

function isDeeperThan(text: string, depthMax: number): boolean {
  return hasMoreOpenings(text, depthMax) && reachesDepth(text, depthMax)
}

/**
 * Whether the text has more than `count` opening brackets, counted by `indexOf`, which is fast: ordinary frames have few brackets, so nobody need walk through
 * their characters.
 */
function hasMoreOpenings(text: string, count: number): boolean {
  if (text.length <= count) return false
  let left = count
  for (const opening of ['{', '['])
    for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1)) if (--left < 0) return true
  return false
}

const [quote, backslash, openArray, closeArray, openObject, closeObject] = [34, 92, 91, 93, 123, 125]

function reachesDepth(text: string, depthMax: number): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === quote) i = endOfString(text, i)
    else if (char === openArray || char === openObject) {
      if (++depth > depthMax) return true
    } else if (char === closeArray || char === closeObject) depth--
  }
  return false
}

/** Finds the end of a JSON string by `indexOf` instead of walking through its characters: a payload of eight million characters is one string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end
    while (text.charCodeAt(escapes - 1) === backslash) escapes--
    if ((end - escapes) % 2 === 0) return end
  }
  return text.length
}
