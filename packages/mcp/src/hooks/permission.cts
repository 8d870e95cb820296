// `agent-relay-mcp hook PermissionRequest`, which a CLI, or our plugin in it, runs while it asks its user for a permission. Runs the hook of that
// CLI; only some CLIs can be answered from outside their terminal.

import { defaultCli } from '@agent-relay/sdk/internal/clis'
import { runClaudePermissionHook } from './claude-permission.cts'
import { runOpencodePermissionHook } from './opencode-permission.cts'

export { ClaudeTerminalWatch } from './claude-terminal-answer.cts'

const hooks: Partial<Record<string, () => unknown>> = {
  claude: runClaudePermissionHook,
  opencode: runOpencodePermissionHook,
}

/** Runs the CLI's hook, which ends the process by itself. For a CLI without such a hook nothing is printed, so that its own dialog decides. */
export function runPermissionHook(cli: string = defaultCli): void {
  hooks[cli]?.()
}
