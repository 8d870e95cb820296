// Factory's droid, by its documentation alone: no copy of it could be run.

import { type Editor, joined } from '../editor.ts'

export const droid: Editor = {
  name: 'droid',
  title: 'Droid',
  program: 'droid',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, around.home, '.factory', 'mcp.json'),
  projectFile: (around) => joined(around, around.project, '.factory', 'mcp.json'),
  signs: (around) => [joined(around, around.home, '.factory')],
  entry: ({ command, args }) => ({
    type: 'stdio',
    command,
    args,
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: droid fills them in, not we.
    env: { RELAY_AGENT_NAME: '${RELAY_AGENT_NAME:-}', RELAY_AGENT_TOKEN: '${RELAY_AGENT_TOKEN:-}' },
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: droid fills them in, not we.
  }),
}
