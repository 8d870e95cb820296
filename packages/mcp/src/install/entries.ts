// Forms of our entry that several editors take.

import type { Server } from '../launcher/index.ts'

export const plainEntry = ({ command, args }: Server) => ({ command, args })
/** The entry of a lift over SSE, which lifts offer first. A host without SSE, or whose entry has no type, gets the newer route. */
export const bySse = (url: string) => ({ type: 'sse', url: `${url}/sse` })
export const byHttp = (url: string) => ({ url: `${url}/mcp` })
