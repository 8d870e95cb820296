// Gemini CLI. It keeps variables that look like secrets from its servers unless the entry names them; it fills `$NAME` in when it starts.

import { setting } from '@agent-relay/sdk/discover'
import { type Editor, joined, type Surroundings } from '../editor.ts'

export const geminiHome = (around: Surroundings): string =>
  joined(around, setting(around.env, 'GEMINI_CLI_HOME') ?? around.home, '.gemini')

export const gemini: Editor = {
  name: 'gemini',
  title: 'Gemini CLI',
  program: 'gemini',
  keyPath: ['mcpServers'],
  userFile: (around) => joined(around, geminiHome(around), 'settings.json'),
  projectFile: (around) => joined(around, around.project, '.gemini', 'settings.json'),
  signs: (around) => [geminiHome(around)],
  entry: ({ command, args }) => ({
    command,
    args,
    env: { RELAY_AGENT_NAME: '$RELAY_AGENT_NAME', RELAY_AGENT_TOKEN: '$RELAY_AGENT_TOKEN' },
  }),
  note: (isProject) => (isProject ? 'Gemini CLI reads it once you have trusted the folder.' : undefined),
}
