// Paths on this machine: data directory, sockets, project configuration, credentials. discover.ts chooses between them. The MCP stdio pipe loads this file and
// must start as fast as a bare Node, so it imports only `node:` modules, and not `node:crypto`.

import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { RelayError } from '../errors.ts'
import { readForeignText, UnsafeFileError } from './foreign-file.ts'
import { JsonDepthError, parseJson } from './parse-json.ts'
import { type Env, setting } from './settings.ts'
import { repositoryDirectory } from './worktree.ts'

/** Loads `node:os` only when it is needed, since loading it takes half a millisecond. */
const os = () => process.getBuiltinModule('node:os')

/** The pattern of a workspace's name. The same as `WorkspaceName` in protocol/words.ts, which is not imported because it would load zod. */
const projectPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** What a workspace's name may look like, in words. */
export const projectNameRule = '1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit'

/** The longest socket path in bytes: `sockaddr_un` holds 104 bytes on macOS and 108 on Linux, and some systems cut a longer path silently. */
const socketPathBytesMax = 100

export function isProjectName(name: unknown): name is string {
  return typeof name === 'string' && projectPattern.test(name)
}

/** The workspace that every daemon opens: sessions outside of any project meet in it. */
export const homeWorkspace = 'home'

/**
 * Whether the command `demo` has made a workspace of this name. Such a workspace is used only if somebody names it: discovery skips it when it scans the data
 * directory.
 */
export function isDemoName(name: string): boolean {
  return /^demo-[0-9a-f]{4}$/.test(name)
}

export function dataDir(env: Env = process.env): string {
  const given = setting(env, 'RELAY_DATA_DIR')
  if (given) return resolve(given)
  const home = homeOf(env)
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'agent-relay')
  if (process.platform === 'win32') return join(setting(env, 'APPDATA') ?? home, 'agent-relay')
  return join(absolute(env, 'XDG_DATA_HOME') ?? join(home, '.local', 'share'), 'agent-relay')
}

export function projectDir(dataDirectory: string, project: string): string {
  return join(dataDirectory, 'projects', project)
}

export function socketPathOf(dataDirectory: string, project: string, env: Env = process.env): string {
  return fitting(join(projectDir(dataDirectory, project), 'daemon.sock'), env)
}

export function controlSocketPath(dataDirectory: string, env: Env = process.env): string {
  return fitting(join(dataDirectory, 'control.sock'), env)
}

/**
 * The path of the file with the user's keys. If RELAY_DATA_DIR sets a separate data directory, its keys are in a file in that directory, and not among the
 * user's other keys.
 */
export function credentialsPath(env: Env = process.env): string {
  const given = setting(env, 'RELAY_DATA_DIR')
  return given ? join(resolve(given), 'credentials.json') : join(homeOf(env), '.agent-relay', 'credentials.json')
}

export interface ProjectConfig {
  path: string
  /** The directory that contains the directory `.relay/`. */
  directory: string
  project?: string
  socketPath?: string
}

/** A project's file `.relay/config.json` as it is on disk. */
export interface ProjectFile {
  path: string
  /** The directory that contains the directory `.relay/`. */
  directory: string
  text: string
  value: Record<string, unknown>
}

/**
 * Finds the nearest `.relay/config.json` that names a workspace or a socket, from `cwd` upward. Throws if a file on the way is malformed: skipping it could
 * lead to a workspace that nobody meant.
 */
export function findProjectConfig(cwd: string | undefined = workingDirectory()): ProjectConfig | null {
  return cwd === undefined ? null : (nearest(cwd, (directory) => configOf(readProjectFile(directory))) ?? null)
}

/** Finds the nearest `.relay/config.json`, from `cwd` upward, whatever it contains. */
export function findProjectFile(cwd: string): ProjectFile | undefined {
  return nearest(cwd, readProjectFile)
}

/**
 * Calls `look` for each directory from `cwd` upward, and returns the first result. After the root of a linked git worktree comes the directory of its
 * repository, and then that directory's parents. Each directory is looked at once, because worktrees of two repositories may lie inside each other.
 */
function nearest<T>(cwd: string, look: (directory: string) => T | undefined, seen = new Set<string>()): T | undefined {
  for (let directory = resolve(cwd); !seen.has(directory); directory = dirname(directory)) {
    seen.add(directory)
    const found = look(directory)
    if (found !== undefined) return found
    const repository = repositoryDirectory(directory)
    const shared = repository === undefined ? undefined : nearest(repository, look, seen)
    if (shared !== undefined) return shared
  }
  return undefined
}

/** Returns the working directory; undefined if it was deleted while the process runs. */
export function workingDirectory(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}

/**
 * Reads the `.relay/config.json` of a directory. The file may have come with a repository, so neither the file nor its directory may be a link, and no error
 * repeats the file's text.
 */
function readProjectFile(directory: string): ProjectFile | undefined {
  const path = join(directory, '.relay', 'config.json')
  let text: string | undefined
  try {
    text = readForeignText(path, { within: directory })
  } catch (error) {
    const isUnsafe = error instanceof UnsafeFileError
    throw badConfig(isUnsafe ? error.path : path, isUnsafe ? error.why : (error as Error).message)
  }
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    throw badConfig(path, error instanceof JsonDepthError ? error.message : 'not valid JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badConfig(path, 'not a JSON object')
  return { path, directory, text, value: value as Record<string, unknown> }
}

/** Reads the configuration from a project's file; undefined if the file names neither a workspace nor a socket. */
function configOf(file: ProjectFile | undefined): ProjectConfig | undefined {
  if (file === undefined) return undefined
  const { path, directory, value } = file
  const { project, socketPath } = value
  const config: ProjectConfig = { path, directory }
  if (isProjectName(project)) config.project = project
  else if (project !== undefined) throw badConfig(path, `"project" is not a workspace name: ${projectNameRule}`)
  if (typeof socketPath === 'string' && socketPath !== '') config.socketPath = fromDirectory(directory, socketPath)
  return config.project === undefined && config.socketPath === undefined ? undefined : config
}

function badConfig(path: string, why: string): RelayError {
  const message = `${path}: ${why}. Nothing was changed; fix the file or move it away.`
  return new RelayError(message, { code: 'config.invalid', details: { path, why } })
}

function fromDirectory(directory: string, path: string): string {
  return path.startsWith('\\\\.\\pipe\\') ? path : resolve(directory, path)
}

function homeOf(env: Env): string {
  return setting(env, process.platform === 'win32' ? 'USERPROFILE' : 'HOME') ?? os().homedir()
}

/** Reads an absolute path from the environment; relative paths are ignored, as the XDG rules demand. */
function absolute(env: Env, name: string): string | undefined {
  const value = setting(env, name)
  return value && isAbsolute(value) ? value : undefined
}

/** The folders in which PATH finds programs. Relative and empty entries do not count: they would mean the current directory. */
export function programFolders(path: string | undefined): string[] {
  return (path ?? '').split(delimiter).filter(isAbsolute)
}

/**
 * The folder in which a relay started with `daemon start --test` records the working directory it serves. Tests with another data directory have another
 * folder.
 */
export function testRelayFolder(cwd: string, env: Env = process.env): string {
  const temporary = process.platform === 'win32' ? os().tmpdir() : (absolute(env, 'TMPDIR') ?? '/tmp')
  return join(temporary, `agent-relay-test-${process.getuid?.() ?? 0}-${hash(`${dataDir(env)}\n${resolve(cwd)}`)}`)
}

/**
 * The name of the folder below `hooks/spool` for the workspace with this socket. If the daemon does not answer in time, a hook lets an edit go ahead and leaves
 * a small file about it there.
 */
export function spoolName(socketPath: string): string {
  return `late-${hash(socketPath)}`
}

function fitting(path: string, env: Env): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\agent-relay-${hash(path)}`
  if (Buffer.byteLength(path) <= socketPathBytesMax) return path
  const runtime = absolute(env, 'XDG_RUNTIME_DIR')
  const directory = runtime
    ? join(runtime, 'agent-relay')
    : join(os().tmpdir(), `agent-relay-${process.getuid?.() ?? 0}`)
  return join(directory, `${hash(path)}.sock`)
}

/** Hashes a path with 64-bit FNV-1a, for use in a file name; not for security. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n)
  return value.toString(16).padStart(16, '0')
}
