// Finds the daemon and the workspace for a program, from the program's environment variables and working directory. Shared by the SDK, the MCP stdio pipe, the
// hooks and the CLI. The pipe must start fast, so this file imports only `node:` modules, and not `node:crypto`. Communication with the found daemon is in
// links/.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DaemonNotRunningError, RelayError } from '../errors.ts'
import {
  controlSocketPath,
  dataDir,
  findProjectConfig,
  homeWorkspace,
  isDemoName,
  isProjectName,
  projectDir,
  socketPathOf,
  workingDirectory,
} from './paths.ts'
import { type Env, setting } from './settings.ts'
import { testRelays } from './test-relays.ts'

export { DaemonNotRunningError } from '../errors.ts'
export {
  assertRegularFile,
  copyForeignFile,
  type ForeignFile,
  foreignFileBytesMax,
  isPlainDirectory,
  readForeignFile,
  readForeignText,
  UnsafeFileError,
} from './foreign-file.ts'
export {
  controlSocketPath,
  credentialsPath,
  dataDir,
  findProjectConfig,
  findProjectFile,
  homeWorkspace,
  isDemoName,
  isProjectName,
  type ProjectConfig,
  type ProjectFile,
  programFolders,
  projectDir,
  projectNameRule,
  socketPathOf,
  spoolName,
  testRelayFolder,
  workingDirectory,
} from './paths.ts'
export { type Env, rawSetting, setting } from './settings.ts'
export { gitPointerBytesMax, repositoryDirectory } from './worktree.ts'

export interface Discovery {
  socketPath: string
  project: string
  /** How the workspace was found. `env` also means that the caller named the workspace explicitly. `scan`: found among the workspaces in the data directory. */
  source: 'env' | 'cwd' | 'scan'
}

export interface DiscoveryOptions {
  cwd?: string
  env?: Env
  /** A workspace that the caller named explicitly (`--project`); takes precedence over every environment variable. */
  project?: string
}

/**
 * Timeout in ms for connecting to a named pipe on Windows. A Unix socket needs none: connecting to it succeeds or fails at once, even if the daemon is
 * suspended.
 */
const probeMs = process.platform === 'win32' ? 1_000 : undefined
/** Interval in ms between attempts to reach a test relay that is starting. */
const lookMs = 25

/** Returns the first place that has a socket file, without connecting to it: the file may be left over from a dead daemon. `findDaemon` also checks that. */
export function discoverSocket(where: DiscoveryOptions = {}): Discovery | null {
  const found = [...testPlaces(where), ...places(where)].find((place) => isPresent(place, where))
  return found ? { socketPath: found.socketPath, project: found.project, source: found.source } : null
}

/**
 * Returns the first place, in the order of `discoverSocket`, where a daemon answers. If no workspace is configured, all of the data directory are tried: `home`
 * is preferred, and if several others answer, the call is refused, not guessed.
 */
export async function findDaemon(where: DiscoveryOptions = {}): Promise<Discovery> {
  const { socket, ...found } = await reachDaemon(where)
  socket?.destroy()
  return found
}

/**
 * Finds the daemon like `findDaemon`, and also returns the connection that was made to it, which the caller has to close. There is no connection if the daemon
 * is too busy to accept one.
 */
export async function reachDaemon(where: DiscoveryOptions = {}): Promise<Discovery & { socket?: Socket }> {
  const reached = (await reachTestRelay(where)) ?? (await knockAtAll(where))
  if (reached) return reached
  const named = socketNamed(where)
  if (named !== undefined) throw await nobodyAt(named, where)
  if (!(await isDaemonUp(where))) throw new DaemonNotRunningError()
  // Searches again, in case the daemon was starting during the first search: it opens its control socket last, so the sockets of its workspaces answer now.
  return (await knockAtAll(where)) ?? Promise.reject(notOpen(where))
}

/**
 * Finds a test relay (a daemon started with `daemon start --test`), and waits for one that has just been started: otherwise, tests would use the user's own
 * workspaces.
 */
async function reachTestRelay(where: DiscoveryOptions): Promise<(Discovery & { socket?: Socket }) | undefined> {
  for (;;) {
    const relays = testPlaces(where)
    for (const { isStarting, ...place } of relays) {
      const { isAlive, socket } = await knock(place.socketPath)
      if (isAlive) return { ...place, socket }
      if (isStarting) break
    }
    if (!relays.some(({ isStarting }) => isStarting)) return undefined
    await new Promise((resolve) => setTimeout(resolve, lookMs))
  }
}

async function knockAtAll(where: DiscoveryOptions): Promise<(Discovery & { socket?: Socket }) | undefined> {
  const present = places(where).filter((place) => isPresent(place, where))
  const home = present.find(isHome)
  const atHome = home && (await knock(home.socketPath))
  if (home && atHome?.isAlive) return { ...home, socket: atHome.socket }
  const knocked = present.filter((place) => place !== home)
  const answers = await Promise.all(knocked.map(async (place) => ({ place, ...(await knock(place.socketPath)) })))
  const [first, ...others] = answers.filter(({ isAlive }) => isAlive)
  for (const { socket } of others) socket?.destroy()
  if (!first) return undefined
  const { place, socket } = first
  if (place.source !== 'scan' || others.length === 0) return { ...place, socket }
  socket?.destroy()
  throw ambiguous([place, ...others.map((other) => other.place)].map(({ project }) => project))
}

/** Returns the socket path in the variable RELAY_SOCKET. If it is set, no other place is searched. */
function socketNamed({ env = process.env, project }: DiscoveryOptions): string | undefined {
  return project === undefined ? setting(env, 'RELAY_SOCKET') : undefined
}

/**
 * Makes the refusal for a RELAY_SOCKET at which nothing listens. Users easily forget that the variable is set, so the text names its value, and the daemon that
 * would be found without it.
 */
async function nobodyAt(socketPath: string, where: DiscoveryOptions): Promise<DaemonNotRunningError> {
  const env = { ...(where.env ?? process.env), RELAY_SOCKET: undefined }
  const other = await findDaemon({ ...where, env }).catch((error: RelayError) => error)
  const text = `Relay daemon is not running at ${socketPath}, which RELAY_SOCKET names: nothing listens there.`
  const details = { socketPath }
  if (other instanceof DaemonNotRunningError)
    return new DaemonNotRunningError(`${text} Start with: agent-relay daemon start`, { details })
  const place = other instanceof Error ? '' : `, with workspace ${other.project} at ${other.socketPath}`
  return new DaemonNotRunningError(`${text} Another one runs${place}: unset RELAY_SOCKET to use it.`, { details })
}

/** Whether a daemon runs, judged by its control socket. */
async function isDaemonUp(where: DiscoveryOptions): Promise<boolean> {
  const { env = process.env } = where
  const control = { socketPath: controlSocketPath(dataDir(env), env), project: '', source: 'scan' } as const
  return isPresent(control, where) && (await isSocketAlive(control.socketPath))
}

/** Makes the refusal if a daemon runs but does not have the wanted workspace open, which needs another fix than if no daemon runs. */
function notOpen(where: DiscoveryOptions): RelayError {
  const { env = process.env } = where
  const place = places(where).at(-1)
  const workspace = place && place.source !== 'scan' ? place.project : homeWorkspace
  const details = { workspace }
  if (workspace === homeWorkspace || existsSync(join(projectDir(dataDir(env), workspace), 'relay.db')))
    return new RelayError(`Workspace "${workspace}" is not open. To open it: agent-relay workspace open ${workspace}`, {
      code: 'workspace.closed',
      details,
    })
  return new RelayError(`No workspace "${workspace}" is open here. To list all: agent-relay workspace list`, {
    code: 'workspace.unknown',
    details,
  })
}

function isHome({ source, project }: Discovery): boolean {
  return source === 'scan' && project === homeWorkspace
}

/** Whether a program listens at a socket path. */
export async function isSocketAlive(socketPath: string): Promise<boolean> {
  const { isAlive, socket } = await knock(socketPath)
  socket?.destroy()
  return isAlive
}

function knock(socketPath: string): Promise<{ isAlive: boolean; socket?: Socket }> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const giveUp = (isAlive: boolean): void => {
      socket.destroy()
      resolve({ isAlive })
    }
    const late = probeMs === undefined ? undefined : setTimeout(() => giveUp(false), probeMs)
    socket.once('connect', () => {
      clearTimeout(late)
      resolve({ isAlive: true, socket })
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(late)
      // EAGAIN: a program listens, but too many connections wait to be accepted.
      giveUp(error.code === 'EAGAIN')
    })
  })
}

/** Returns the test relays of the working directory; none if a workspace or socket is named explicitly. Test relays take precedence over all other places. */
function testPlaces({ cwd = workingDirectory(), env = process.env, project }: DiscoveryOptions) {
  const isNamed = project ?? setting(env, 'RELAY_SOCKET') ?? setting(env, 'RELAY_PROJECT')
  if (cwd === undefined || isNamed !== undefined) return []
  return testRelays(cwd, env).map((relay) => ({ ...relay, source: 'cwd' as const }))
}

/**
 * Lists the places where the socket may be, the best first. If a workspace is named explicitly, only its place is listed, whether it exists or not: in another
 * workspace, strangers would get the caller's messages.
 */
function places({ cwd = workingDirectory(), env = process.env, project }: DiscoveryOptions): Discovery[] {
  if (project !== undefined) return inDataDir(env, project, 'env')
  const named = setting(env, 'RELAY_PROJECT')
  const socketPath = setting(env, 'RELAY_SOCKET')
  if (socketPath) return [{ socketPath, project: isProjectName(named) ? named : 'unknown', source: 'env' }]
  if (named) return inDataDir(env, named, 'env')
  const config = findProjectConfig(cwd)
  if (config) {
    const written: Discovery[] = config.socketPath
      ? [{ socketPath: config.socketPath, project: config.project ?? 'local', source: 'cwd' }]
      : []
    return config.project ? [...written, ...inDataDir(env, config.project, 'cwd')] : written
  }
  return projectNames(env).flatMap((name) => inDataDir(env, name, 'scan'))
}

function inDataDir(env: Env, project: string, source: Discovery['source']): Discovery[] {
  return isProjectName(project) ? [{ socketPath: socketPathOf(dataDir(env), project, env), project, source }] : []
}

function projectNames(env: Env): string[] {
  try {
    const entries = readdirSync(join(dataDir(env), 'projects'), { withFileTypes: true })
    const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
    const found = names.filter((name) => !isDemoName(name) && name !== homeWorkspace)
    return names.includes(homeWorkspace) ? [homeWorkspace, ...found] : found
  } catch {
    return []
  }
}

/**
 * Whether the socket exists and belongs to this user or to root. Otherwise, a `.relay/config.json` that an attacker has put into a shared parent directory, or
 * a directory that they have made in /tmp, could lead to their own socket. Not checked for the path in RELAY_SOCKET, which the user has set.
 */
function isPresent({ socketPath }: Discovery, { env = process.env }: DiscoveryOptions): boolean {
  if (!existsSync(socketPath)) return false
  if (process.getuid === undefined || socketPath === setting(env, 'RELAY_SOCKET')) return true
  const owner = statSync(socketPath, { throwIfNoEntry: false })?.uid
  return owner === undefined || owner === 0 || owner === process.getuid()
}

function ambiguous(projects: string[]): RelayError {
  const names = projects.sort()
  return new RelayError(
    `Several workspaces are running: ${names.join(', ')}. Say which one with --project NAME or RELAY_PROJECT=NAME.`,
    { code: 'workspace.ambiguous', details: { workspaces: names } },
  )
}
