// Windsurf: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { plainEntry } from '../entries.ts'
import { inHome } from '../paths.ts'

export const windsurf: EditorRule = {
  keyPath: ['mcpServers'],
  userFile: inHome('.codeium', 'windsurf', 'mcp_config.json'),
  detectionPaths: [inHome('.codeium', 'windsurf')],
  entry: plainEntry,
}
