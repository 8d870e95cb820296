// Qwen Code: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { plainEntry } from '../entries.ts'
import { inHome, inProject } from '../paths.ts'

// Qwen Code does not fill in variables, so the entry names none: the server inherits them.
export const qwen: EditorRule = {
  keyPath: ['mcpServers'],
  userFile: inHome('.qwen', 'settings.json'),
  projectFile: inProject('.qwen', 'settings.json'),
  detectionPaths: [inHome('.qwen')],
  entry: plainEntry,
  // Without `type`, Qwen Code takes a `url` for SSE.
  liftEntry: (url) => ({ url: `${url}/sse` }),
}
