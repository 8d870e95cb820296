// What the daemon and the CLI are told from outside: which workspace a directory means.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  dataDir,
  findProjectConfig,
  isProjectName,
  projectDir,
  projectNameRule,
  setting,
  socketPathOf,
} from '@agent-relay/sdk/discover'
import { RefusalError } from './refusal-error.ts'

type Env = Record<string, string | undefined>

export interface ProjectChoice {
  project: string
  /** The directory it was named after, which owns the name from then on. */
  directory?: string
}

/** `--project`, `RELAY_PROJECT`, the nearest `.relay/config.json`, or the directory's own name. */
export function chooseProject(cwd: string, env: Env, given?: string): ProjectChoice {
  const named = given ?? setting(env, 'RELAY_PROJECT')
  if (named !== undefined) {
    if (!isProjectName(named)) throw badName(named)
    return { project: named }
  }
  const config = findProjectConfig(cwd)
  if (config?.project !== undefined) return { project: config.project }
  return { project: nameAfter(cwd, dataDir(env)), directory: cwd }
}

/** The directory's name made to fit; with a short hash of its path where another directory has that name already. */
function nameAfter(directory: string, dataDirectory: string): string {
  const fitted =
    basename(directory)
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 56) || 'relay'
  const owner = ownerOf(dataDirectory, fitted)
  return owner === undefined || owner === directory ? fitted : `${fitted}-${shortHash(directory)}`
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

/** Tells programs in this directory which workspace it is. Written once, kept out of version control, never changed. */
export function writeProjectConfig(directory: string, project: string, env: Env): string | undefined {
  const folder = join(directory, '.relay')
  const path = join(folder, 'config.json')
  if (existsSync(path)) return undefined
  mkdirSync(folder, { recursive: true })
  const ignore = join(folder, '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  const content = { project, socketPath: socketPathOf(dataDir(env), project, env) }
  try {
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`, { flag: 'wx' })
    return path
  } catch (error) {
    // Another start in the same directory was quicker.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
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
