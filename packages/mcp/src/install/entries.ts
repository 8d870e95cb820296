// Formats of an MCP server entry that several editors share.

import type { ServerCommand } from '../launcher/index.ts'

export const plainEntry = ({ command, args }: ServerCommand) => ({ command, args })
/** The entry for a lift (`agent-relay lift`) over SSE, which lifts prefer. An editor without SSE, or whose entries have no `type`, gets `httpEntry`. */
export const sseEntry = (url: string) => ({ type: 'sse', url: `${url}/sse` })
export const httpEntry = (url: string) => ({ url: `${url}/mcp` })
