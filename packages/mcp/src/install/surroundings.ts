// The machine as the installer sees it, and the server that is really there on it.

import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Env, setting, workingDirectory } from '@agent-relay/sdk/discover'
import type { Server, Surroundings } from './editor.ts'

const packageFolder = fileURLToPath(new URL('../../', import.meta.url))

export function surroundingsOf(env: Env, cwd = workingDirectory() ?? '/'): Surroundings {
  const home = setting(env, process.platform === 'win32' ? 'USERPROFILE' : 'HOME') ?? homedir()
  return { home, env, platform: process.platform, project: cwd, exists: existsSync }
}

export function packageVersion(): string {
  return JSON.parse(readFileSync(`${packageFolder}package.json`, 'utf8')).version
}

/** npx and its likes keep packages in a cache that they may empty: an entry that pointed there would die some day. */
export function isFromNpx(): boolean {
  return /[\\/](?:_npx|dlx|(?:dlx|bunx)-[^\\/]*)[\\/]/.test(packageFolder)
}

/** How an editor starts the server; absolute, because editors have another PATH than shells. */
export function serverCommand(args: string[] = []): Server {
  if (!isFromNpx()) return installed(['serve', ...args])
  const npx = ['-y', `@agent-relay/mcp@${packageVersion()}`, 'serve', ...args]
  return process.platform === 'win32' ? { command: 'cmd', args: ['/c', 'npx', ...npx] } : { command: 'npx', args: npx }
}

/** The installed launcher itself. */
export function installed(args: string[]): Server {
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL('../../bin/agent-relay-mcp.cjs', import.meta.url)), ...args],
  }
}
