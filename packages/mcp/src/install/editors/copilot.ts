// Copilot CLI: its settings, our entry there, and its hooks.

import { hookTimeoutSeconds } from '@agent-relay/sdk/internal/clis'
import { commandHooks } from '../command-hooks.ts'
import type { HookedEditor } from '../editor-rule.ts'
import { sseEntry } from '../entries.ts'
import { inHome, inProject } from '../paths.ts'

// Copilot offers no tools of an entry without `tools`. A project's .mcp.json belongs to Claude Code as well, so our entry goes into .github.
export const copilot: HookedEditor = {
  keyPath: ['mcpServers'],
  userFile: inHome('.copilot', 'mcp-config.json'),
  projectFile: inProject('.github', 'mcp.json'),
  detectionPaths: [inHome('.copilot')],
  entry: ({ command, args }) => ({ type: 'local', command, args, tools: ['*'] }),
  liftEntry: (url) => ({ ...sseEntry(url), tools: ['*'] }),
  // Copilot reads every file of its hooks folder, so our hooks have a file of their own.
  hooks: commandHooks('copilot', {
    userFile: inHome('.copilot', 'hooks', 'agent-relay.json'),
    projectFile: ['.github', 'hooks', 'agent-relay.json'],
    events: ['sessionStart', 'userPromptSubmitted', 'agentStop'],
    beforeEdit: { event: 'preToolUse' },
    entry: (command) => ({ type: 'command', bash: command, timeoutSec: hookTimeoutSeconds }),
  }),
}
