// Gemini CLI: its settings, our entry there, and its hooks.

import { hookTimeoutSeconds, mcpServerName } from '@agent-relay/sdk/internal/clis'
import { setting } from '@agent-relay/sdk/internal/discover'
import { commandHooks } from '../command-hooks.ts'
import type { HookedEditor } from '../editor-rule.ts'
import { sseEntry } from '../entries.ts'
import { inProject, joinPath, type PathResolver } from '../paths.ts'

/** The path of a file of Gemini CLI. GEMINI_CLI_HOME stands for the home directory, and not for `.gemini` in it. */
const inFolder =
  (...parts: string[]): PathResolver =>
  (context) =>
    joinPath(context, setting(context.env, 'GEMINI_CLI_HOME') ?? context.home, '.gemini', ...parts)

// Gemini CLI hides variables that look like secrets from servers unless the entry names them, and fills in `$NAME` when it starts one.
export const gemini: HookedEditor = {
  keyPath: ['mcpServers'],
  userFile: inFolder('settings.json'),
  projectFile: inProject('.gemini', 'settings.json'),
  detectionPaths: [inFolder()],
  entry: ({ command, args }) => ({
    command,
    args,
    env: { RELAY_AGENT_NAME: '$RELAY_AGENT_NAME', RELAY_AGENT_TOKEN: '$RELAY_AGENT_TOKEN' },
  }),
  liftEntry: sseEntry,
  note: (isProject) => (isProject ? 'Gemini CLI reads it once you have trusted the folder.' : undefined),
  hooks: commandHooks('gemini', {
    userFile: inFolder('settings.json'),
    projectFile: ['.gemini', 'settings.json'],
    events: ['SessionStart', 'BeforeAgent', 'AfterAgent', 'PreCompress'],
    beforeEdit: { event: 'BeforeTool', tools: 'write_file|replace|run_shell_command' },
    // Gemini CLI shows a hook's name while it runs, and without one the whole command. Its limit of time is in milliseconds.
    entry: (command, matcher) => ({
      ...(matcher === undefined ? {} : { matcher }),
      hooks: [{ name: mcpServerName, type: 'command', command, timeout: hookTimeoutSeconds * 1000 }],
    }),
  }),
}
