// Claude Code. Its settings.json holds no servers; ~/.claude.json and a project's .mcp.json do.

import { setting } from '@agent-relay/sdk/discover'
import { type Editor, homeBy, joined } from '../editor.ts'

export const claude: Editor = {
  name: 'claude',
  title: 'Claude Code',
  program: 'claude',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, setting(around.env, 'CLAUDE_CONFIG_DIR') ?? around.home, '.claude.json'),
  projectFile: (around) => joined(around, around.project, '.mcp.json'),
  signs: (around) => [homeBy(around, 'CLAUDE_CONFIG_DIR', '.claude'), joined(around, around.home, '.claude.json')],
  // Without alwaysLoad the model sees the tools only after it has searched for them.
  entry: ({ command, args }) => ({ type: 'stdio', command, args, alwaysLoad: true }),
  note: (isProject) => (isProject ? 'Claude Code asks once in the project whether to use the server.' : undefined),
}
