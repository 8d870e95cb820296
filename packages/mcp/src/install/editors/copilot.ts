// GitHub's Copilot CLI. An entry without `tools` offers none. A project's .mcp.json is Claude Code's as well, so ours goes into .github.

import { type Editor, joined } from '../editor.ts'

export const copilot: Editor = {
  name: 'copilot',
  title: 'Copilot CLI',
  program: 'copilot',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, around.home, '.copilot', 'mcp-config.json'),
  projectFile: (around) => joined(around, around.project, '.github', 'mcp.json'),
  signs: (around) => [joined(around, around.home, '.copilot')],
  entry: ({ command, args }) => ({ type: 'local', command, args, tools: ['*'] }),
}
