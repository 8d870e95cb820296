// The names of MCP tools: the relay's own tools, and the tool name of an action.

/** The names of the tools in all toolsets, existing and announced: an action with one of these names would hide the relay's own tool. */
export const ownTools: ReadonlySet<string> = new Set([
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

/** The longest name of a tool. CLIs put `mcp__<server>__` before it and allow 64 characters in all. */
export const toolCharsMax = 32

/** Returns an action's name as a tool. The dots in an action's name become underscores, because some CLIs cannot take dots in a list of tools. */
export function toolNameOf(action: string): string {
  return action.replaceAll('.', '_')
}

/** The names of the tools with which a model reads its messages and answers them. */
export interface MailTools {
  readonly inbox: string
  readonly send: string
}
export const relayMailTools: MailTools = { inbox: 'relay_inbox', send: 'relay_send' }
export const workspaceMailTools: MailTools = { inbox: 'list_inbox', send: 'send_message' }
