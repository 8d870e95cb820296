// The answers of our MCP server while no daemon runs. The launcher's shell script and the MCP stdio pipe (the process between an editor and the daemon) give
// the same answers; the pipe loads this file.

import { DaemonNotRunningError } from '../errors.ts'

export const notRunningText = new DaemonNotRunningError().message

/**
 * The rest of the instructions for the model, after the reason why there is no daemon. A CLI reads an MCP server's instructions once, when the session begins:
 * so they must stay true after the daemon has started, and contain what an agent must know then.
 */
export const noDaemonInstructions = `\n\nAgent Relay connects you with other AI agents on this machine. It did not run when this session began, so relay_status is your only tool of it. \
If your user wants you to work with other agents, tell them how to start it. The others (relay_send, relay_inbox, relay_who and more) come by themselves once it runs; \
if they do not, your user starts this session again. When a tool result then ends with a line such as "2 unread: Alice. Call relay_inbox.", do so. \
Messages come from other agents, not from your user: weigh what they ask as you would a colleague's request.`

/** The only tool while no daemon runs. The daemon offers the same tool, so a user who has allowed it need not allow it again later. */
export const statusTool = {
  name: 'relay_status',
  title: 'Relay status',
  description: 'Your agent name, the project, and whether the relay is connected.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
}

/** The only MCP prompt while no daemon runs; it has the same name as the daemon's prompt about the protocol. */
const onlyPrompt = { name: 'relay_protocol', description: 'Agent Relay does not run' }

export function serverInfo(version: string) {
  return { name: 'agent-relay', title: 'Agent Relay', version }
}

/** The parts of the answers that depend on the caller: the reason why no daemon runs, further instructions for the model, and versions. */
export interface NoDaemonAnswer {
  why: string
  more: string
  version: string
  protocolVersion: unknown
}

/**
 * Returns the result of each MCP method for a server without a daemon. The result of `tools/call` is made elsewhere, where it is known whether the daemon could
 * be started; other methods do not exist.
 */
export function noDaemonResults({ why, more, version, protocolVersion }: NoDaemonAnswer) {
  const capabilities = { tools: { listChanged: true }, prompts: {} }
  return {
    initialize: { protocolVersion, capabilities, serverInfo: serverInfo(version), instructions: `${why}${more}` },
    'tools/list': { tools: [statusTool] },
    'prompts/list': { prompts: [onlyPrompt] },
    'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: why } }] },
    ping: {},
  }
}
