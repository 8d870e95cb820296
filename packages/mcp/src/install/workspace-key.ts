// `--workspace KEY`: which workspace the key opens. The entry names that workspace, and the key itself is written nowhere: it stays in the
// owner's credentials file, and on the owner's own socket nobody asks for it.

import { readFileSync } from 'node:fs'
import { controlSocketPath, credentialsPath, dataDir, type Env, isProjectName } from '@agent-relay/sdk/discover'
import { Untouched } from '../careful/index.ts'

export async function workspaceOf(key: string, env: Env): Promise<string> {
  const name = storedName(key, env) ?? (await askDaemon(key, env))
  if (name !== undefined && isProjectName(name)) return name
  throw new Untouched(
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
  const { makeIds, RelayError, socketConnector } = await import('@agent-relay/sdk')
  try {
    const link = await socketConnector(controlSocketPath(dataDir(env), env))({})
    const { name } = await link.call('workspace.find', { key }, makeIds()('c')).finally(() => link.close())
    return name
  } catch (error) {
    if (error instanceof RelayError) return undefined
    throw error
  }
}
