// VS Code: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { sseEntry } from '../entries.ts'
import { inAppData, inProject } from '../paths.ts'

// VS Code reads the mcp.json of its profile, and nothing under `mcpServers` in ~/.vscode.
export const vscode: EditorRule = {
  keyPath: ['servers'],
  userFile: inAppData('Code', 'User', 'mcp.json'),
  projectFile: inProject('.vscode', 'mcp.json'),
  detectionPaths: [inAppData('Code')],
  entry: ({ command, args }) => ({ type: 'stdio', command, args }),
  liftEntry: sseEntry,
}
