// Codex: its settings, our entry there, and its hooks.

import { readForeignFile } from '@agent-relay/sdk/internal/discover'
import { commandHooks } from '../command-hooks.ts'
import type { HookedEditor, InstalledHook } from '../editor-rule.ts'
import { httpEntry } from '../entries.ts'
import { inConfigurableHome, inProject } from '../paths.ts'

/** Maximum size of Codex's settings file; a larger file is not read. */
const settingsBytesMax = 4 * 1024 * 1024

/** Codex starts servers with an empty environment, so the entry must name the variables for agent and workspace. */
const codexVariables = [
  'RELAY_AGENT_NAME',
  'RELAY_AGENT_TOKEN',
  'RELAY_PROJECT',
  'RELAY_SOCKET',
  'RELAY_DATA_DIR',
  'RELAY_BASE_URL',
  'XDG_DATA_HOME',
]

const settingsFile = inConfigurableHome('CODEX_HOME', '.codex', 'config.toml')

export const codex: HookedEditor = {
  keyPath: ['mcp_servers'],
  userFile: settingsFile,
  projectFile: inProject('.codex', 'config.toml'),
  detectionPaths: [inConfigurableHome('CODEX_HOME', '.codex')],
  entry: ({ command, args }) => ({ command, args, env_vars: codexVariables }),
  liftEntry: httpEntry,
  note: (isProject) => (isProject ? 'Codex reads it once you have trusted the project.' : undefined),
  hooks: {
    ...commandHooks('codex', {
      userFile: inConfigurableHome('CODEX_HOME', '.codex', 'hooks.json'),
      projectFile: ['.codex', 'hooks.json'],
      events: ['SessionStart', 'UserPromptSubmit', 'Stop'],
      beforeEdit: { event: 'PreToolUse', tools: 'Bash|apply_patch|Edit|Write' },
    }),
    reviewNote: 'Codex asks you to review the new hooks when it starts.',
    deliveryText: 'messages at its next turn',
    findTrouble: (hooks, context) =>
      hooks.every((hook) => isTrusted(hook, settingsFile(context)))
        ? undefined
        : {
            text: ': Codex runs no hook before you have trusted it',
            fix: 'start codex, which asks you to review them',
          },
  },
}

/** Whether the person trusts a hook, which Codex notes by file and event. Codex asks by itself about a hook that has changed since then. */
function isTrusted({ file, keyPath }: InstalledHook, settings: string): boolean {
  const event = keyPath
    .at(-1)
    ?.replace(/(?<=[a-z])[A-Z]/g, '_$&')
    .toLowerCase()
  try {
    const text = readForeignFile(settings, { bytesMax: settingsBytesMax })?.bytes.toString() ?? ''
    return text.includes(`[hooks.state.${JSON.stringify(`${file}:${event}:`).slice(0, -1)}`)
  } catch {
    return false
  }
}
