// Codex. It starts servers with a clean environment, so the variables that say who and where must be named.

import { type Editor, homeBy, joined } from '../editor.ts'

const passed = [
  'RELAY_AGENT_NAME',
  'RELAY_AGENT_TOKEN',
  'RELAY_PROJECT',
  'RELAY_SOCKET',
  'RELAY_DATA_DIR',
  'RELAY_BASE_URL',
  'XDG_DATA_HOME',
]

export const codex: Editor = {
  name: 'codex',
  title: 'Codex',
  program: 'codex',
  keyPath: ['mcp_servers'],
  userFile: (around) => joined(around, homeBy(around, 'CODEX_HOME', '.codex'), 'config.toml'),
  projectFile: (around) => joined(around, around.project, '.codex', 'config.toml'),
  signs: (around) => [homeBy(around, 'CODEX_HOME', '.codex')],
  entry: ({ command, args }) => ({ command, args, env_vars: passed }),
  note: (isProject) => (isProject ? 'Codex reads it once you have trusted the project.' : undefined),
}
