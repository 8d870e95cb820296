// Claude Desktop. It has no project files; on Linux there is no official build, and unofficial ones use the usual place.

import { appData, type Editor, joined } from '../editor.ts'

export const claudeDesktop: Editor = {
  name: 'claude-desktop',
  title: 'Claude Desktop',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, appData(around), 'Claude', 'claude_desktop_config.json'),
  signs: (around) => [joined(around, appData(around), 'Claude')],
  entry: ({ command, args }) => ({ command, args }),
  note: () => 'Quit Claude Desktop and start it again.',
}
