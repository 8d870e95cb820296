// Windsurf: one file for the user, none for a project.

import { type Editor, joined } from '../editor.ts'

export const windsurf: Editor = {
  name: 'windsurf',
  title: 'Windsurf',
  program: 'windsurf',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, around.home, '.codeium', 'windsurf', 'mcp_config.json'),
  signs: (around) => [joined(around, around.home, '.codeium', 'windsurf')],
  entry: ({ command, args }) => ({ command, args }),
}
