// `mcp start` and `mcp serve`: the MCP server on stdin and stdout. Both run the pipe of @agent-relay/mcp; the MCP session is in the daemon. bin/agent-relay.cjs
// starts `mcp serve` without loading this file, which has only its help and completion.

import { setting } from '@agent-relay/sdk/internal/discover'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
} from '../../command.ts'
import { nextCommandId, withControl } from '../../control-socket.ts'
import { install, uninstall } from './install.ts'

const startOptions = {
  workspace: { flags: '--workspace <key>', text: 'the workspace key (else RELAY_WORKSPACE_KEY)' },
  tools: { flags: '--tools <names>', text: 'toolsets to offer, separated by commas (workspace)' },
} satisfies CliOptions

const start: NamedCommand<typeof startOptions> = {
  name: 'start',
  text: 'what an editor runs to connect by a workspace key, from any directory: an MCP server on stdin and stdout, not a daemon',
  options: startOptions,
  examples: ['agent-relay mcp start --workspace "$RELAY_WORKSPACE_KEY"'],
  actsForNoAgent: true,
  run: runStart,
}

const serveOptions = {
  tools: { flags: '--tools <names>', text: 'toolsets to offer, separated by commas (relay, or RELAY_TOOLS)' },
  start: { flags: '--start', text: 'start a daemon where none runs; it ends ten minutes after the last session' },
} satisfies CliOptions

const serve: NamedCommand<typeof serveOptions> = {
  name: 'serve',
  text: 'what the entry of an editor runs: an MCP server on stdin and stdout for the workspace of this directory; it needs a running daemon',
  options: serveOptions,
  examples: ['agent-relay mcp serve', 'agent-relay mcp serve --tools relay,workspace'],
  actsForNoAgent: true,
  run: runServe,
}

export const mcp: CliCommand = { commands: [install, uninstall, start, serve] }

/** Serves the workspace that has the given key, in any working directory. */
async function runStart({ env, options }: CommandContext<typeof startOptions>): Promise<void> {
  const key = setting({ given: options.workspace }, 'given') ?? setting(env, 'RELAY_WORKSPACE_KEY')
  if (key === undefined)
    throw new CommandError('Which workspace? Give its key: --workspace KEY, or RELAY_WORKSPACE_KEY', exitCodes.usage)
  const { name } = await withControl(env, (link) => link.call('workspace.find', { key }, nextCommandId('c')))
  // The pipe reads the key from the environment.
  process.env.RELAY_WORKSPACE_KEY = key
  const { serve } = await import('@agent-relay/mcp/serve')
  await serve({ tools: options.tools ?? 'workspace', project: name })
}

async function runServe({ options }: CommandContext<typeof serveOptions>): Promise<void> {
  const { serve } = await import('@agent-relay/mcp/serve')
  await serve({ tools: options.tools, project: options.project, start: options.start })
}
