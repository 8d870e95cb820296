// What the installer knows of the machine, and where editors keep their settings on it.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { type Env, setting, workingDirectory } from '@agent-relay/sdk/internal/discover'

/** What the installer knows of the machine. */
export interface InstallContext {
  home: string
  env: Env
  platform: NodeJS.Platform
  /** The directory in which `--project` writes. */
  project: string
  exists(path: string): boolean
}

export function installContext(env: Env, cwd = workingDirectory() ?? '/'): InstallContext {
  const home = setting(env, process.platform === 'win32' ? 'USERPROFILE' : 'HOME') ?? homedir()
  return { home, env, platform: process.platform, project: cwd, exists: existsSync }
}

export type PathResolver = (context: InstallContext) => string

export function joinPath(context: InstallContext, ...parts: string[]): string {
  return (context.platform === 'win32' ? win32 : posix).join(...parts)
}

/** The path of a file in the home directory. */
export const inHome =
  (...parts: string[]): PathResolver =>
  (context) =>
    joinPath(context, context.home, ...parts)
/** The path of a file in the project's directory. */
export const inProject =
  (...parts: string[]): PathResolver =>
  (context) =>
    joinPath(context, context.project, ...parts)

/** The path of a file in a folder of the home directory, or in the folder that an environment variable names instead. */
export const inConfigurableHome =
  (variable: string, folder: string, ...parts: string[]): PathResolver =>
  (context) =>
    joinPath(context, setting(context.env, variable) ?? joinPath(context, context.home, folder), ...parts)

export const configHome: PathResolver = (context) => {
  const given = setting(context.env, 'XDG_CONFIG_HOME')
  return given?.startsWith('/') ? given : joinPath(context, context.home, '.config')
}

/** The path of a file in the directory where desktop programs keep their settings. */
export const inAppData =
  (...parts: string[]): PathResolver =>
  (context) => {
    const { platform, home, env } = context
    if (platform === 'darwin') return joinPath(context, home, 'Library', 'Application Support', ...parts)
    if (platform === 'win32')
      return joinPath(context, setting(env, 'APPDATA') ?? joinPath(context, home, 'AppData', 'Roaming'), ...parts)
    return joinPath(context, configHome(context), ...parts)
  }
