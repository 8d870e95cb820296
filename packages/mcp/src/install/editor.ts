// What the installer needs to know of one editor or CLI: where its servers stand, under which key, in which shape. Each has a file in editors/.

import { posix, win32 } from 'node:path'
import { type Env, setting } from '@agent-relay/sdk/discover'

export interface Server {
  command: string
  args: string[]
}

/** The machine as an adapter may see it. */
export interface Surroundings {
  home: string
  env: Env
  platform: NodeJS.Platform
  /** Where `--project` writes. */
  project: string
  exists(path: string): boolean
}

export interface Editor {
  /** As given to `--editor`. */
  readonly name: string
  /** As people call it. */
  readonly title: string
  /** On PATH where it is installed. */
  readonly program?: string
  /** The containers on the way to the entry. */
  readonly keyPath: readonly string[]
  userFile(around: Surroundings): string
  /** Undefined: it reads no servers from a project. */
  projectFile?(around: Surroundings): string
  /** One of them is there where it is installed. */
  signs(around: Surroundings): string[]
  entry(server: Server): unknown
  /** What is still to be done by hand, in user scope or in a project. */
  note?(isProject: boolean): string | undefined
}

export function joined(around: Surroundings, ...parts: string[]): string {
  return (around.platform === 'win32' ? win32 : posix).join(...parts)
}

/** Where desktop programs keep their settings. */
export function appData(around: Surroundings): string {
  const { platform, home, env } = around
  if (platform === 'darwin') return joined(around, home, 'Library', 'Application Support')
  if (platform === 'win32') return setting(env, 'APPDATA') ?? joined(around, home, 'AppData', 'Roaming')
  return configHome(around)
}

export function configHome(around: Surroundings): string {
  const given = setting(around.env, 'XDG_CONFIG_HOME')
  return given?.startsWith('/') ? given : joined(around, around.home, '.config')
}

/** A directory that a variable may move. */
export function homeBy(around: Surroundings, variable: string, folder: string): string {
  return setting(around.env, variable) ?? joined(around, around.home, folder)
}
