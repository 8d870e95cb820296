// Claude Code: its settings, our entry there, and its hooks.

import { setting } from '@agent-relay/sdk/internal/discover'
import { commandHooks } from '../command-hooks.ts'
import type { HookedEditor } from '../editor-rule.ts'
import { bySse } from '../entries.ts'
import { inHome, inHomeBy, inProject, joined } from '../paths.ts'

export const claude: HookedEditor = {
  keyPath: ['mcpServers'],
  // settings.json holds no servers, so this is .claude.json.
  userFile: (around) => joined(around, setting(around.env, 'CLAUDE_CONFIG_DIR') ?? around.home, '.claude.json'),
  projectFile: inProject('.mcp.json'),
  signs: [inHomeBy('CLAUDE_CONFIG_DIR', '.claude'), inHome('.claude.json')],
  // Without alwaysLoad the model sees the tools only after it has searched for them.
  entry: ({ command, args }) => ({ type: 'stdio', command, args, alwaysLoad: true }),
  liftEntry: bySse,
  makesLiftFile: true,
  note: (isProject) => (isProject ? 'Claude Code asks once in the project whether to use the server.' : undefined),
  hooks: {
    ...commandHooks('claude', {
      userFile: inHomeBy('CLAUDE_CONFIG_DIR', '.claude', 'settings.json'),
      projectFile: ['.claude', 'settings.json'],
      events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
      waits: ['SessionStart', 'UserPromptSubmit', 'Stop'],
      asks: 'PermissionRequest',
      edits: { event: 'PreToolUse', tools: 'Write|Edit|MultiEdit|NotebookEdit|Bash' },
    }),
    reach: 'messages wake it',
  },
}
