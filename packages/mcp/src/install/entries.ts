// Forms of our entry that several editors take.

import type { ServerCommand } from '../launcher/index.ts'

export const plainEntry = ({ command, args }: ServerCommand) => ({ command, args })
/** The entry of a lift over SSE, which lifts offer first. A host without SSE, or whose entry has no type, gets the newer route. */
export const sseEntry = (url: string) => ({ type: 'sse', url: `${url}/sse` })
export const httpEntry = (url: string) => ({ url: `${url}/mcp` })
