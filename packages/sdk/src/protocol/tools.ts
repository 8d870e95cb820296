// The names of MCP tools: those that the relay's own tools have, and the one that an action gets.

/** Tools of all toolsets, present and announced: an action that took one of these would hide it. */
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

/** The longest name of a tool. Hosts put `mcp__<server>__` in front and allow 64 in all. */
export const toolCharsMax = 32

/** The tool's name for an action. Dots are for people and other protocols; in a list of tools some hosts cannot take them. */
export function toolNameOf(action: string): string {
  return action.replaceAll('.', '_')
}

/** The tools by which a model reads its mail and answers it. */
export interface MailTools {
  readonly inbox: string
  readonly send: string
}
export const relayMailTools: MailTools = { inbox: 'relay_inbox', send: 'relay_send' }
export const workspaceMailTools: MailTools = { inbox: 'list_inbox', send: 'send_message' }
