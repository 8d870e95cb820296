// `mcp start` and `mcp serve`: the MCP server on stdin and stdout. Both become the pipe of @agent-relay/mcp; the session lives in the daemon.
// The launcher hands `mcp serve` to that package before any of this is loaded; it stands here for those who call it otherwise.

import { setting } from '@agent-relay/sdk/discover'
import { CommandError, exits, type Run } from '../command.ts'
import { control, nextId } from '../starting.ts'

/** For the workspace that the key belongs to, from any directory. */
export const start: Run = async ({ env, options }) => {
  const key = setting({ given: options.workspace ?? env.RELAY_WORKSPACE_KEY }, 'given')
  if (key === undefined)
    throw new CommandError('Which workspace? Give its key: --workspace KEY, or RELAY_WORKSPACE_KEY', exits.usage)
  const link = await control(env)
  const { name } = await link.call('workspace.find', { key }, nextId('c')).finally(() => link.close())
  // As the pipe takes it: an argument would have to pass through one more list of options.
  process.env.RELAY_WORKSPACE_KEY = key
  const { serve } = await import('@agent-relay/mcp/serve')
  await serve({ tools: options.tools ?? 'workspace', project: name })
}

export const serve: Run = async ({ options }) => {
  const { serve } = await import('@agent-relay/mcp/serve')
  await serve({ tools: options.tools, project: options.project })
}
