// Droid: its settings and our entry there.

import type { EditorRule } from '../editor-rule.ts'
import { sseEntry } from '../entries.ts'
import { inHome, inProject } from '../paths.ts'

// Written from Droid's documentation alone: the program itself could not be run.
export const droid: EditorRule = {
  keyPath: ['mcpServers'],
  userFile: inHome('.factory', 'mcp.json'),
  projectFile: inProject('.factory', 'mcp.json'),
  detectionPaths: [inHome('.factory')],
  entry: ({ command, args }) => ({
    type: 'stdio',
    command,
    args,
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: droid fills these in.
    env: { RELAY_AGENT_NAME: '${RELAY_AGENT_NAME:-}', RELAY_AGENT_TOKEN: '${RELAY_AGENT_TOKEN:-}' },
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: droid fills these in.
  }),
  liftEntry: sseEntry,
}
