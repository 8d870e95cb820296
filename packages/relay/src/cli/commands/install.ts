// `mcp install` and `mcp uninstall`: the installer of @agent-relay/mcp, told where we are and as whom.

import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { ownName } from '../own-name.ts'

export const install: Run = async (invocation) => {
  const { runInstall } = await import('@agent-relay/mcp/install')
  await runInstall(wishOf(invocation))
}

export const uninstall: Run = async (invocation) => {
  const { runUninstall } = await import('@agent-relay/mcp/install')
  await runUninstall(wishOf(invocation))
}

function wishOf({ options, env, cwd, print }: Invocation) {
  const { editor, global, workspace, hooks, dryRun, json, yes } = options
  // Here it is a flag, not the name of a workspace as everywhere else.
  const project = Boolean(options.project)
  if (global && project) throw new CommandError('Either --global or --project, not both', exits.usage)
  const say = (text: string) => void print.line(text)
  const command = `${ownName(env)} mcp`
  return { editor: editor?.join(','), global, project, workspace, hooks, dryRun, json, yes, env, cwd, say, command }
}
