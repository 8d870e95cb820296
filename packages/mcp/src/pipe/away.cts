// Answers for the host while there is no daemon: what became of the call, and how to start the daemon.

import { noDaemonInstructions, noDaemonResults, notRunningText } from '@agent-relay/sdk/internal/no-daemon-answers'
import type { Call } from './calls.cts'
import { connectionClosed, errorLine, lineOf, methodNotFound, type Rpc } from './rpc.cts'

export interface PipeTarget {
  agentName: string | undefined
  project: string
  socketPath: string
  /** The version of this package, which is read only while the pipe stands by, when it has to be told. */
  version?: string
}

/** The reason why a running daemon does not serve the pipe. */
export interface SaidRefusal {
  code: string
  message: string
}

/** The last words of the daemon that served the pipe before. */
export interface Unserved {
  /** The daemon runs, and does not serve the pipe. */
  refused?: SaidRefusal
  /** The workspace's owner closed it. Its socket is gone although the daemon may run, so this holds until a daemon serves the pipe. */
  closed?: SaidRefusal
}

export function unservedBy(code: string | undefined, message: string): Unserved {
  return code === 'workspace.closed' ? { closed: { code, message } } : { refused: { code: 'auth.denied', message } }
}

export function answerAway(call: Call, target: PipeTarget, refused: SaidRefusal | undefined): string {
  const { id, method, params } = call
  if (method === 'ping') return lineOf({ id, result: {} })
  if (method !== 'tools/call') return errorLine(id, connectionClosed, reason(refused))
  if (isStatus(params?.name)) return statusAnswer(call, target)
  const outcome = call.wasSent
    ? 'It went away during this call, which may have been carried out: look before you repeat it.'
    : 'This call was not carried out.'
  const message = `${reason(refused)}\n${outcome}`
  const error = { code: refused?.code ?? 'daemon.not-running', message }
  const text = hasEnvelope(params?.name) ? JSON.stringify({ ok: false, error }) : `Error: ${message}`
  return lineOf({ id, result: { content: [{ type: 'text', text }], isError: true } })
}

/** The answer before the first daemon: with the reason, and the one tool that tells it. The launcher's shell says the same. */
export function answerStandingBy(call: Call, target: PipeTarget, refused: SaidRefusal | undefined): string {
  const { id, method, params } = call
  if (method === 'tools/call')
    return isStatus(params?.name)
      ? statusAnswer(call, target, `\n\n${reason(refused)}`)
      : answerAway(call, target, refused)
  const [why, more, version] = [reason(refused), noDaemonInstructions, target.version ?? 'unknown']
  const results = noDaemonResults({ why, more, version, protocolVersion: params?.protocolVersion })
  const result = new Map<string, object>(Object.entries(results)).get(method)
  // A host that speaks a newer version takes the pipe for an older server, and tries again with `initialize`.
  return result ? lineOf({ id, result }) : errorLine(id, methodNotFound, 'Method not found')
}

/** Adds a note to the daemon's answer to the one tool that the host has: Codex lists a server's tools once, so the others need a new session. */
export function withLateTools(message: Rpc): string {
  const { content, ...result } = message.result as { content: unknown[] }
  return lineOf({ ...message, result: { ...result, content: [...content, { type: 'text', text: lateTools }] } })
}

const lateTools =
  '\nThe relay came after this session began. If you have no tool relay_send, ask your user to start this session again.'

/** Whether a failed tool answers with an envelope, as in the daemon: the tools of these toolsets fail in words, all others (those of actions, too) do. */
function hasEnvelope(name: unknown): boolean {
  return !/^(relay[._]|agent_(start|status|complete|stop|payload)$|(post_message|read_messages|list_pending)$)/.test(
    String(name),
  )
}

function reason(refused: SaidRefusal | undefined): string {
  return refused?.message ?? notRunningText
}

/** Whether the name is the status tool's; the daemon takes the dotted name, too. */
export function isStatus(name: unknown): boolean {
  return name === 'relay_status' || name === 'relay.status'
}

function statusAnswer({ id }: Call, { agentName, project, socketPath }: PipeTarget, why = ''): string {
  const text = `Relay Status:
- Connected: No
- Agent Name: ${agentName ?? 'Not registered'}
- Project: ${project === 'unknown' ? 'Unknown' : project}
- Socket: ${socketPath}
- Daemon Version: Unknown
- Uptime: N/A${why}`
  return lineOf({ id, result: { content: [{ type: 'text', text }] } })
}
