// `--workspace KEY`: binds an entry to the workspace that the key opens. The entry names that workspace, and the key itself is not written: it stays in
// the owner's credentials file, and the owner's own socket does not ask for it.

import { readFileSync } from 'node:fs'
import { mcpServerName } from '@agent-relay/sdk/internal/clis'
import {
  controlSocketPath,
  credentialsPath,
  dataDir,
  type Env,
  isProjectName,
} from '@agent-relay/sdk/internal/discover'
import { FileUntouchedError, readEntry } from '../careful/index.ts'
import { isServeCommand, launcherCommand } from '../launcher/index.ts'
import type { Editor } from './editors.ts'
import { entryCommand } from './foreign.ts'
import { editorFile } from './install.ts'
import type { InstallContext } from './paths.ts'

/** Toolsets of a bound entry: its session also joins channels and reads events of the workspace. */
const boundToolsets = 'relay,workspace'

/** The arguments of `serve` in an entry for the workspace with this key. */
export async function workspaceBinding(key: string, env: Env): Promise<string[]> {
  return ['--project', await workspaceOf(key, env), '--tools', boundToolsets]
}

export interface ServeArguments {
  startsDaemon: boolean
  binding: string[]
}

/** Reads from the existing entry which workspace it is bound to, and whether it has `--start`. A new installation keeps both. */
export function readServeArguments(
  editor: Editor,
  isProject: boolean,
  { env, project, ...context }: InstallContext,
): ServeArguments {
  const file = editorFile(editor, { isProject }, { env, project, ...context })
  try {
    const place = { env, within: isProject ? project : undefined }
    const words = entryCommand(file === undefined ? undefined : readEntry(file, editor.keyPath, mcpServerName, place))
    if (!isServeCommand(words, env)) return { startsDaemon: false, binding: [] }
    const given = words.slice(launcherCommand(['serve'], env).args.length + 1)
    const startsDaemon = given[0] === '--start'
    return { startsDaemon, binding: parseBinding(startsDaemon ? given.slice(1) : given) }
  } catch {
    // A file that cannot be read is ignored here, since the edit reports it.
    return { startsDaemon: false, binding: [] }
  }
}

function parseBinding([option, name = '', more, tools = '', ...rest]: string[]): string[] {
  if (option !== '--project' || !isProjectName(name) || rest.length > 0) return []
  return more === '--tools' && /^[a-z]+(,[a-z]+)*$/.test(tools) ? [option, name, more, tools] : [option, name]
}

async function workspaceOf(key: string, env: Env): Promise<string> {
  const name = storedName(key, env) ?? (await askDaemon(key, env))
  if (name !== undefined && isProjectName(name)) return name
  throw new FileUntouchedError(
    'No workspace of yours has this key. To see your workspaces: agent-relay workspace list; the daemon must run for a key that is not in the credentials file.',
  )
}

function storedName(key: string, env: Env): string | undefined {
  try {
    const { workspaces } = JSON.parse(readFileSync(credentialsPath(env), 'utf8')) as {
      workspaces?: Record<string, { name?: string; key?: string }>
    }
    return Object.values(workspaces ?? {}).find((workspace) => workspace.key === key)?.name
  } catch {
    return undefined
  }
}

async function askDaemon(key: string, env: Env): Promise<string | undefined> {
  const { RelayError } = await import('@agent-relay/sdk')
  const { makeIds, socketConnector } = await import('@agent-relay/sdk/wire')
  try {
    const link = await socketConnector(controlSocketPath(dataDir(env), env))({})
    const { name } = await link.call('workspace.find', { key }, makeIds()('c')).finally(() => link.close())
    return name
  } catch (error) {
    if (error instanceof RelayError) return undefined
    throw error
  }
}
