// The names of MCP tools: the relay's own tools, and the tool names of actions.

/** The names of all tools of the relay, including planned ones: no action may have one of these names, or it would hide the relay's tool. */
export const relayToolNames: ReadonlySet<string> = new Set([
  ...['relay_send', 'relay_inbox', 'relay_who', 'relay_status', 'relay_spawn', 'relay_release'],
  ...[
    'register_agent',
    'list_agents',
    'join_channel',
    'leave_channel',
    'list_channels',
    'send_message',
    'reply',
    'react',
  ],
  ...['list_inbox', 'mark_read', 'subscribe_events', 'list_events', 'flush_deliveries', 'workspace_status'],
  ...['actions_list', 'actions_invoke', 'actions_result'],
  ...['agent_start', 'agent_status', 'agent_complete', 'agent_stop', 'agent_payload'],
  ...['post_message', 'read_messages', 'list_pending'],
])

/** Maximum length of a tool's name: CLIs put `mcp__<server>__` before it and allow 64 characters in all. */
export const toolCharsMax = 32

/** Returns the tool name of an action. Dots become underscores, because some CLIs cannot handle dots in a list of tools. */
export function toolNameOf(action: string): string {
  return action.replaceAll('.', '_')
}

/** The names of the two tools with which a model reads its messages and answers them. */
export interface MailTools {
  readonly inbox: string
  readonly send: string
}
export const relayMailTools: MailTools = { inbox: 'relay_inbox', send: 'relay_send' }
export const workspaceMailTools: MailTools = { inbox: 'list_inbox', send: 'send_message' }
