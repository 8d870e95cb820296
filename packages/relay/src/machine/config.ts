// Which workspace a directory belongs to, as settings and the project's configuration say.

import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  dataDir,
  findProjectConfig,
  homeWorkspace,
  isPlainDirectory,
  isProjectName,
  projectDir,
  projectNameRule,
  setting,
  socketPathOf,
  UnsafeFileError,
} from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../core/refusal-error.ts'

type Env = Record<string, string | undefined>

export interface ProjectChoice {
  project: string
  /** The directory that the workspace was named after, which owns the name from then on. */
  directory?: string
}

/** The workspace for a command that makes a new one if needed: the one that is meant here, otherwise one named after the directory. */
export function chooseProject(cwd: string, env: Env, given?: string): ProjectChoice {
  const project = namedProject(cwd, env, given)
  if (project !== undefined) return { project }
  if (isRootOrHome(cwd, env)) return { project: homeWorkspace }
  return { project: nameAfter(cwd, dataDir(env)), directory: cwd }
}

/** Whether the directory is `/` or the home directory: a workspace there would take in every project below it. */
export function isRootOrHome(directory: string, env: Env): boolean {
  return ['/', realPath(setting(env, 'HOME') ?? '/')].includes(realPath(directory))
}

/** The workspace for a command that makes none: outside a project, `home`. */
export function meantProject(cwd: string, env: Env, given?: string): string {
  return namedProject(cwd, env, given) ?? homeWorkspace
}

/** The workspace named by `--project`, `RELAY_PROJECT`, or the nearest `.relay/config.json`. */
function namedProject(cwd: string, env: Env, given?: string): string | undefined {
  const named = given ?? setting(env, 'RELAY_PROJECT')
  if (named === undefined) return findProjectConfig(cwd)?.project
  if (!isProjectName(named)) throw badName(named)
  return named
}

/** The directory's name made to fit the rules. A short hash of its path is added if another directory has that name already, or no directory may have it. */
function nameAfter(directory: string, dataDirectory: string): string {
  const fitted =
    basename(directory)
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 56) || 'relay'
  const owner = ownerOf(dataDirectory, fitted)
  // Everybody outside a project shares `home`. Some file systems take `Home` for the same name.
  const isFree = fitted.toLowerCase() !== homeWorkspace && (owner === undefined || owner === directory)
  return isFree ? fitted : `${fitted}-${shortHash(directory)}`
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

const ownerFile = 'directory'

export function ownerOf(dataDirectory: string, project: string): string | undefined {
  try {
    return readFileSync(join(projectDir(dataDirectory, project), ownerFile), 'utf8').trim()
  } catch {
    return undefined
  }
}

export function setOwner(dataDirectory: string, project: string, directory: string): void {
  const path = join(projectDir(dataDirectory, project), ownerFile)
  if (!existsSync(path)) writeFileSync(path, `${directory}\n`, { mode: 0o600 })
}

/**
 * Writes the file that tells programs in this directory which workspace it is: once, kept out of version control, never changed. The directory may be a
 * repository that somebody else made: no link is followed, or the file would be written somewhere else.
 */
export function writeProjectConfig(directory: string, project: string, env: Env): string | undefined {
  const folder = join(directory, '.relay')
  if (!isPlainDirectory(folder)) mkdirSync(folder)
  makeFile(join(folder, '.gitignore'), '*\n')
  const path = join(folder, 'config.json')
  const content = { project, socketPath: socketPathOf(dataDir(env), project, env) }
  return makeFile(path, `${JSON.stringify(content, null, 2)}\n`) ? path : undefined
}

/** Makes a file. Returns false if there is one already, perhaps from another start a moment ago. `wx` opens neither it nor the target of a link. */
function makeFile(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new UnsafeFileError(path, 'this is a link, not a file')
    return false
  }
}

function badName(name: string): RefusalError {
  return new RefusalError('input.invalid', {
    operation: 'project',
    why: `"${name}" is no workspace name: ${projectNameRule}`,
  })
}

function shortHash(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(36).slice(0, 5)
}
