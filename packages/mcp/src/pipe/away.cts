// Answers for the host while there is no daemon: what became of the call, and how to start the daemon.

import { noDaemonInstructions, noDaemonResults, notRunningText } from '@agent-relay/sdk/internal/no-daemon-answers'
import type { OpenCall } from './calls.cts'
import { connectionClosedCode, methodNotFoundCode, type RpcMessage, rpcErrorLine, rpcLine } from './rpc.cts'

export interface PipeTarget {
  agentName: string | undefined
  project: string
  socketPath: string
  /** The version of this package, which is read only while the pipe stands by, when it has to be told. */
  version?: string
}

/** The reason why a running daemon does not serve the pipe. */
export interface DaemonRefusal {
  code: string
  message: string
}

/** The reason why no daemon serves the pipe, as the last daemon has told it. */
export interface UnservedReason {
  /** The daemon runs, and does not serve the pipe. */
  refused?: DaemonRefusal
  /** The workspace's owner closed it. Its socket is gone although the daemon may run, so this holds until a daemon serves the pipe. */
  closed?: DaemonRefusal
}

export function unservedReason(code: string | undefined, message: string): UnservedReason {
  return code === 'workspace.closed' ? { closed: { code, message } } : { refused: { code: 'auth.denied', message } }
}

export function answerWithoutDaemon(call: OpenCall, target: PipeTarget, refused: DaemonRefusal | undefined): string {
  const { id, method, params } = call
  if (method === 'ping') return rpcLine({ id, result: {} })
  if (method !== 'tools/call') return rpcErrorLine(id, connectionClosedCode, reasonText(refused))
  if (isStatusTool(params?.name)) return statusAnswer(call, target)
  const outcome = call.wasSent
    ? 'It went away during this call, which may have been carried out: look before you repeat it.'
    : 'This call was not carried out.'
  const message = `${reasonText(refused)}\n${outcome}`
  const error = { code: refused?.code ?? 'daemon.not-running', message }
  const text = hasEnvelope(params?.name) ? JSON.stringify({ ok: false, error }) : `Error: ${message}`
  return rpcLine({ id, result: { content: [{ type: 'text', text }], isError: true } })
}

/** The answer before the first daemon: with the reason, and the one tool that tells it. The launcher's shell says the same. */
export function answerWhileStandingBy(call: OpenCall, target: PipeTarget, refused: DaemonRefusal | undefined): string {
  const { id, method, params } = call
  if (method === 'tools/call')
    return isStatusTool(params?.name)
      ? statusAnswer(call, target, `\n\n${reasonText(refused)}`)
      : answerWithoutDaemon(call, target, refused)
  const [why, more, version] = [reasonText(refused), noDaemonInstructions, target.version ?? 'unknown']
  const results = noDaemonResults({ why, more, version, protocolVersion: params?.protocolVersion })
  const result = new Map<string, object>(Object.entries(results)).get(method)
  // A host that speaks a newer version takes the pipe for an older server, and tries again with `initialize`.
  return result ? rpcLine({ id, result }) : rpcErrorLine(id, methodNotFoundCode, 'Method not found')
}

/** Adds a note to the daemon's answer to the one tool that the host has: Codex lists a server's tools once, so the others need a new session. */
export function withLateToolsNote(message: RpcMessage): string {
  const { content, ...result } = message.result as { content: unknown[] }
  return rpcLine({ ...message, result: { ...result, content: [...content, { type: 'text', text: lateTools }] } })
}

const lateTools =
  '\nThe relay came after this session began. If you have no tool relay_send, ask your user to start this session again.'

/** Whether a failed tool answers with an envelope, as in the daemon: the tools of these toolsets fail in words, all others (those of actions, too) do. */
function hasEnvelope(name: unknown): boolean {
  return !/^(relay[._]|agent_(start|status|complete|stop|payload)$|(post_message|read_messages|list_pending)$)/.test(
    String(name),
  )
}

function reasonText(refused: DaemonRefusal | undefined): string {
  return refused?.message ?? notRunningText
}

/** Whether the name is the status tool's; the daemon takes the dotted name, too. */
export function isStatusTool(name: unknown): boolean {
  return name === 'relay_status' || name === 'relay.status'
}

function statusAnswer({ id }: OpenCall, { agentName, project, socketPath }: PipeTarget, why = ''): string {
  const text = `Relay Status:
- Connected: No
- Agent Name: ${agentName ?? 'Not registered'}
- Project: ${project === 'unknown' ? 'Unknown' : project}
- Socket: ${socketPath}
- Daemon Version: Unknown
- Uptime: N/A${why}`
  return rpcLine({ id, result: { content: [{ type: 'text', text }] } })
}
