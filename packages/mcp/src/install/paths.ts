// The machine as the installer sees it, and the places in it where editors keep their settings.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { type Env, setting, workingDirectory } from '@agent-relay/sdk/internal/discover'

/** The machine as the installer sees it. */
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

export type Path = (around: InstallContext) => string

export function joined(around: InstallContext, ...parts: string[]): string {
  return (around.platform === 'win32' ? win32 : posix).join(...parts)
}

/** The path of a file in the home. */
export const inHome =
  (...parts: string[]): Path =>
  (around) =>
    joined(around, around.home, ...parts)
/** The path of a file in the project. */
export const inProject =
  (...parts: string[]): Path =>
  (around) =>
    joined(around, around.project, ...parts)

/** The path of a file in a directory of the home that a variable may move. */
export const inHomeBy =
  (variable: string, folder: string, ...parts: string[]): Path =>
  (around) =>
    joined(around, setting(around.env, variable) ?? joined(around, around.home, folder), ...parts)

export const configHome: Path = (around) => {
  const given = setting(around.env, 'XDG_CONFIG_HOME')
  return given?.startsWith('/') ? given : joined(around, around.home, '.config')
}

/** The directory of desktop programs' settings. */
export const inAppData =
  (...parts: string[]): Path =>
  (around) => {
    const { platform, home, env } = around
    if (platform === 'darwin') return joined(around, home, 'Library', 'Application Support', ...parts)
    if (platform === 'win32')
      return joined(around, setting(env, 'APPDATA') ?? joined(around, home, 'AppData', 'Roaming'), ...parts)
    return joined(around, configHome(around), ...parts)
  }
