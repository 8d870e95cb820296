// Cursor: the same plain shape for the user and for a project.

import { type Editor, joined } from '../editor.ts'

export const cursor: Editor = {
  name: 'cursor',
  title: 'Cursor',
  program: 'cursor',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, around.home, '.cursor', 'mcp.json'),
  projectFile: (around) => joined(around, around.project, '.cursor', 'mcp.json'),
  signs: (around) => [joined(around, around.home, '.cursor')],
  entry: ({ command, args }) => ({ command, args }),
}
