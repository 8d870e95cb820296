// The pipe's own answers to the MCP host while no daemon serves it: what became of the call, and how to start the daemon.

import { noDaemonInstructions, noDaemonResults, notRunningText } from '@agent-relay/sdk/internal/no-daemon-answers'
import type { OpenCall } from './calls.cts'
import { connectionClosedCode, methodNotFoundCode, type RpcMessage, rpcErrorLine, rpcLine } from './rpc.cts'

export interface PipeTarget {
  agentName: string | undefined
  project: string
  socketPath: string
  /** The version of this package. Set only while the pipe stands by, since only then the pipe itself answers `initialize`. */
  version?: string
}

/** The reason why a running daemon does not serve the pipe. */
export interface DaemonRefusal {
  code: string
  message: string
}

/** The reason why no daemon serves the pipe, as the last daemon has told it. */
export interface UnservedReason {
  /** Set if a running daemon refuses the pipe. */
  refused?: DaemonRefusal
  /**
   * Set if the workspace was closed by its owner. Its socket is missing then, even if the daemon is running, so this reason is kept until a daemon
   * serves the pipe.
   */
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

/**
 * Answers a request before any daemon has served the pipe: tells the reason, and lists one tool, which tells it too. The launcher's shell code gives
 * the same answers (launcher/stand-in.ts).
 */
export function answerWhileStandingBy(call: OpenCall, target: PipeTarget, refused: DaemonRefusal | undefined): string {
  const { id, method, params } = call
  if (method === 'tools/call')
    return isStatusTool(params?.name)
      ? statusAnswer(call, target, `\n\n${reasonText(refused)}`)
      : answerWithoutDaemon(call, target, refused)
  const [why, more, version] = [reasonText(refused), noDaemonInstructions, target.version ?? 'unknown']
  const results = noDaemonResults({ why, more, version, protocolVersion: params?.protocolVersion })
  const result = new Map<string, object>(Object.entries(results)).get(method)
  // A host with a newer version of MCP takes "Method not found" for the answer of an older server, and tries again with `initialize`.
  return result ? rpcLine({ id, result }) : rpcErrorLine(id, methodNotFoundCode, 'Method not found')
}

/**
 * Adds a note to the daemon's answer to relay_status, the only tool in the host's list before a daemon ran. A host such as Codex lists tools
 * only once, so it has the others only in a new session.
 */
export function withLateToolsNote(message: RpcMessage): string {
  const { content, ...result } = message.result as { content: unknown[] }
  return rpcLine({ ...message, result: { ...result, content: [...content, { type: 'text', text: lateTools }] } })
}

const lateTools =
  '\nThe relay came after this session began. If you have no tool relay_send, ask your user to start this session again.'

/**
 * Whether a tool reports a failure as JSON with `ok: false`, as the daemon does. The tools in this pattern, of the toolsets `relay`, `agents` and
 * `lift`, report it as text; all others, and actions, as JSON.
 */
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
