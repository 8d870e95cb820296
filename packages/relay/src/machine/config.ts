// Finds the workspace that a directory belongs to, from `--project`, the environment and the project's `.relay/config.json`.

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
  repositoryDirectory,
  setting,
  socketPathOf,
  UnsafeFileError,
} from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../core/refusal-error.ts'
import { tryOrUndefined } from './try-or-undefined.ts'

type Env = Record<string, string | undefined>

export interface ProjectChoice {
  project: string
  /** The directory that the workspace is named after. No other directory gets this name from then on. Unset if the workspace was named or is `home`. */
  directory?: string
}

/**
 * Returns the workspace for a command that may make a new one: the workspace that is configured, `home` in `/` or the home directory, otherwise a workspace
 * named after the directory, or after the repository's directory in a linked git worktree.
 */
export function chooseProject(cwd: string, env: Env, given?: string): ProjectChoice {
  const project = namedProject(cwd, env, given)
  if (project !== undefined) return { project }
  const directory = repositoryDirectory(cwd) ?? cwd
  if (isRootOrHome(directory, env)) return { project: homeWorkspace }
  return { project: projectNameFor(directory, dataDir(env)), directory }
}

/** Whether the directory is `/` or the home directory: a workspace of such a directory would take in every project below it. */
export function isRootOrHome(directory: string, env: Env): boolean {
  return ['/', realPath(setting(env, 'HOME') ?? '/')].includes(realPath(directory))
}

/** Returns the workspace for a command that makes no new one: the workspace that is configured, otherwise `home`. */
export function configuredProject(cwd: string, env: Env, given?: string): string {
  return namedProject(cwd, env, given) ?? homeWorkspace
}

/** Returns the workspace named by `--project`, `RELAY_PROJECT`, or the nearest `.relay/config.json`. */
function namedProject(cwd: string, env: Env, given?: string): string | undefined {
  const named = given ?? setting(env, 'RELAY_PROJECT')
  if (named === undefined) return findProjectConfig(cwd)?.project
  if (!isProjectName(named)) throw badName(named)
  return named
}

/**
 * Makes a valid workspace name from the directory's name. A short hash of the path is added if another directory's workspace has the name already, or
 * if the name is reserved.
 */
function projectNameFor(directory: string, dataDirectory: string): string {
  const fitted =
    basename(directory)
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 56) || 'relay'
  const owner = projectOwner(dataDirectory, fitted)
  // `home` is reserved for everybody outside a project. Case is ignored: some file systems take `Home` for the same name.
  const isFree = fitted.toLowerCase() !== homeWorkspace && (owner === undefined || owner === directory)
  return isFree ? fitted : `${fitted}-${shortHash(directory)}`
}

function realPath(path: string): string {
  return tryOrUndefined(() => realpathSync.native(path)) ?? path
}

const ownerFile = 'directory'

export function projectOwner(dataDirectory: string, project: string): string | undefined {
  return tryOrUndefined(() => readFileSync(join(projectDir(dataDirectory, project), ownerFile), 'utf8').trim())
}

export function setProjectOwner(dataDirectory: string, project: string, directory: string): void {
  const path = join(projectDir(dataDirectory, project), ownerFile)
  if (!existsSync(path)) writeFileSync(path, `${directory}\n`, { mode: 0o600 })
}

/**
 * Writes `.relay/config.json`, which tells programs in this directory their workspace. The file is kept out of version control, and an existing one is never
 * changed. The directory may be a repository that somebody else made, so no link is followed: it could lead the write elsewhere.
 */
export function writeProjectConfig(directory: string, project: string, env: Env): string | undefined {
  const folder = join(directory, '.relay')
  if (!isPlainDirectory(folder)) mkdirSync(folder)
  makeFile(join(folder, '.gitignore'), '*\n')
  const path = join(folder, 'config.json')
  const content = { project, socketPath: socketPathOf(dataDir(env), project, env) }
  return makeFile(path, `${JSON.stringify(content, null, 2)}\n`) ? path : undefined
}

/**
 * Makes a file. Returns false if the file exists, perhaps from another daemon that started a moment ago. The flag `wx` neither opens an existing file nor
 * follows a link.
 */
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
