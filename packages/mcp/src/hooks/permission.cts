// `agent-relay-mcp hook PermissionRequest`: a CLI or our plugin in it runs it while the CLI asks its person for a permission. Each CLI that can be answered
// from elsewhere has a hook of its own here.

import { defaultCli } from '@agent-relay/sdk/internal/clis'
import { runClaudePermissionHook } from './claude-permission.cts'
import { runOpencodePermissionHook } from './opencode-permission.cts'

export { ClaudeTerminalWatch } from './claude-terminal-answer.cts'

const hooks: Partial<Record<string, () => unknown>> = {
  claude: runClaudePermissionHook,
  opencode: runOpencodePermissionHook,
}

/** Runs the hook, and ends the process by itself. A CLI without one gets no answer, so that its own dialog decides. */
export function runPermissionHook(cli: string = defaultCli): void {
  hooks[cli]?.()
}
