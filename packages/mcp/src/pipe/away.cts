// What the host is told while there is no daemon to ask. It is the truth about the call, and how to get the daemon back.

import type { Call } from './calls.cts'
import { errorLine, lineOf } from './rpc.cts'

export interface Place {
  agentName: string | undefined
  project: string
  socketPath: string
}

const mend = 'Start it with: agent-relay daemon start'
/** What SDKs use for a connection that is gone. */
const connectionClosed = -32_000

/** `refused`: a daemon is there, but it does not take us in, and why. */
export function answerAway(call: Call, place: Place, refused: string | undefined): string {
  const { id, method, params } = call
  if (method === 'ping') return lineOf({ id, result: {} })
  if (method !== 'tools/call') return errorLine(id, connectionClosed, reason(refused))
  if (isStatus(params?.name)) return statusAnswer(call, place)
  const outcome = call.wasSent
    ? 'It went away during this call, which may have been carried out: look before you repeat it.'
    : 'This call was not carried out.'
  const message = `${reason(refused)}\n${outcome}`
  const content = [{ type: 'text', text: `Error: ${message}` }]
  const error = { code: refused === undefined ? 'daemon.not-running' : 'auth.denied', message }
  // The tools of toolset relay promise another shape, which some hosts check in errors too.
  const structured = /^relay[._]/.test(String(params?.name)) ? {} : { structuredContent: { ok: false, error } }
  return lineOf({ id, result: { content, isError: true, ...structured } })
}

function reason(refused: string | undefined): string {
  return refused ?? `Relay daemon is not running. ${mend}`
}

/** The dotted name is taken as the daemon takes it. */
function isStatus(name: unknown): boolean {
  return name === 'relay_status' || name === 'relay.status'
}

function statusAnswer({ id }: Call, { agentName, project, socketPath }: Place): string {
  const text = `Relay Status:
- Connected: No
- Agent Name: ${agentName ?? 'Not registered'}
- Project: ${project === 'unknown' ? 'Unknown' : project}
- Socket: ${socketPath}
- Daemon Version: Unknown
- Uptime: N/A`
  const structuredContent = { connected: false, agentName: agentName ?? '', project }
  return lineOf({ id, result: { content: [{ type: 'text', text }], structuredContent } })
}
