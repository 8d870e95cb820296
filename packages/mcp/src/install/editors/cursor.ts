// Cursor: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { httpEntry, plainEntry } from '../entries.ts'
import { inHome, inProject } from '../paths.ts'

export const cursor: EditorRule = {
  keyPath: ['mcpServers'],
  userFile: inHome('.cursor', 'mcp.json'),
  projectFile: inProject('.cursor', 'mcp.json'),
  detectionPaths: [inHome('.cursor')],
  entry: plainEntry,
  liftEntry: httpEntry,
}
