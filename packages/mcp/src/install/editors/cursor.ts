// Cursor: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { byHttp, plainEntry } from '../entries.ts'
import { inHome, inProject } from '../paths.ts'

export const cursor: EditorRule = {
  keyPath: ['mcpServers'],
  userFile: inHome('.cursor', 'mcp.json'),
  projectFile: inProject('.cursor', 'mcp.json'),
  signs: [inHome('.cursor')],
  entry: plainEntry,
  liftEntry: byHttp,
}
