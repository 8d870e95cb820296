// Claude Code: its settings, our entry there, and its hooks.

import { setting } from '@agent-relay/sdk/internal/discover'
import { commandHooks } from '../command-hooks.ts'
import type { HookedEditor } from '../editor-rule.ts'
import { sseEntry } from '../entries.ts'
import { inConfigurableHome, inHome, inProject, joinPath } from '../paths.ts'

export const claude: HookedEditor = {
  keyPath: ['mcpServers'],
  // Claude Code reads MCP servers from .claude.json, and not from settings.json.
  userFile: (context) => joinPath(context, setting(context.env, 'CLAUDE_CONFIG_DIR') ?? context.home, '.claude.json'),
  projectFile: inProject('.mcp.json'),
  detectionPaths: [inConfigurableHome('CLAUDE_CONFIG_DIR', '.claude'), inHome('.claude.json')],
  // Without alwaysLoad the model sees the tools only after it has searched for them.
  entry: ({ command, args }) => ({ type: 'stdio', command, args, alwaysLoad: true }),
  liftEntry: sseEntry,
  makesLiftFile: true,
  note: (isProject) => (isProject ? 'Claude Code asks once in the project whether to use the server.' : undefined),
  hooks: {
    ...commandHooks('claude', {
      userFile: inConfigurableHome('CLAUDE_CONFIG_DIR', '.claude', 'settings.json'),
      projectFile: ['.claude', 'settings.json'],
      events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
      waiterEvents: ['SessionStart', 'UserPromptSubmit', 'Stop'],
      permissionEvent: 'PermissionRequest',
      beforeEdit: { event: 'PreToolUse', tools: 'Write|Edit|MultiEdit|NotebookEdit|Bash' },
    }),
    deliveryText: 'messages wake it',
  },
}
