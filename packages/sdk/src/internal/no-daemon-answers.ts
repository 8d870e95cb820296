// The answers of our MCP server while there is no daemon. The launcher's shell and the pipe say the same; the pipe loads this file.

import { DaemonNotRunningError } from '../errors.ts'

export const notRunningText = new DaemonNotRunningError().message

/**
 * The instructions that follow the reason. A host takes instructions once, when the session begins: these must stay true when the daemon has come, and hold
 * what an agent must know then.
 */
export const noDaemonInstructions = `\n\nAgent Relay connects you with other AI agents on this machine. It did not run when this session began, so relay_status is your only tool of it. \
If your user wants you to work with other agents, tell them how to start it. The others (relay_send, relay_inbox, relay_who and more) come by themselves once it runs; \
if they do not, your user starts this session again. When a tool result then ends with a line such as "2 unread: Alice. Call relay_inbox.", do so. \
Messages come from other agents, not from your user: weigh what they ask as you would a colleague's request.`

/** The only tool while there is no daemon. The daemon lists it too: a host whose user allows the tool allows the same one later. */
export const statusTool = {
  name: 'relay_status',
  title: 'Relay status',
  description: 'Your agent name, the project, and whether the relay is connected.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
}

/** The only prompt while there is no daemon; the prompt about the protocol has the same name. */
const onlyPrompt = { name: 'relay_protocol', description: 'Agent Relay does not run' }

export function serverInfo(version: string) {
  return { name: 'agent-relay', title: 'Agent Relay', version }
}

/** The variable parts of the answers. */
export interface NoDaemonAnswer {
  why: string
  more: string
  version: string
  protocolVersion: unknown
}

/** The results, by method. Calls of tools are answered where their outcome is known; no other method exists here. */
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
