// Claude Desktop: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { plainEntry } from '../entries.ts'
import { inAppData } from '../paths.ts'

// Claude Desktop has no project files. On Linux there is no official build; unofficial ones use the usual place.
export const claudeDesktop: EditorRule = {
  keyPath: ['mcpServers'],
  userFile: inAppData('Claude', 'claude_desktop_config.json'),
  detectionPaths: [inAppData('Claude')],
  entry: plainEntry,
  note: () => 'Quit Claude Desktop and start it again.',
}
