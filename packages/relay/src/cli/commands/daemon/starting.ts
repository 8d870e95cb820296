// Reaches the daemon, or starts one if none runs: in this process (`up`) or in the background (`daemon start`). Then opens a workspace in it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { refreshLauncher } from '@agent-relay/mcp/launcher'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import {
  credentialsPath,
  dataDir,
  type Env,
  findProjectConfig,
  homeWorkspace,
  isSocketAlive,
  setting,
} from '@agent-relay/sdk/internal/discover'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import type { Link } from '@agent-relay/sdk/wire'
import { RefusalError } from '../../../core/refusal-error.ts'
import type { Daemon } from '../../../daemon/daemon.ts'
import { isRootOrHome, type ProjectChoice, projectOwner, writeProjectConfig } from '../../../machine/config.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { dataDirectoryFault } from '../../../machine/data-directory.ts'
import { type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { chooseWorkspace } from '../../connection.ts'
import { connectControl, daemonPollMs, daemonStatus, nextCommandId, tryConnectControl } from '../../control-socket.ts'
import { relayScript } from '../../own-name.ts'
import type { Printer } from '../../print.ts'
import { chooseLocalOrShared } from '../../shared-name.ts'
import { DaemonWait } from './daemon-wait.ts'
import { openLog, readLogEnd } from './log-file.ts'
import { stopDaemon } from './stop.ts'

/** After another process has taken the lock first: interval in ms between two checks whether that process still lives. */
const raceLookMs = 500
/** Tells `daemon run` to load its program, and then to wait for a message of the process that has started it. */
export const prepareFlag = '--prepare'
const memoryPrefix = 'agent-relay-memory-'

export type OpenedWorkspace = OutputOf<'workspace.open'>
type Starting = CommandContext & { options: { quiet?: boolean } }

/** Returns an environment with a new, private, temporary data directory. */
export function newMemoryEnv(env: Env): Env {
  return { ...env, RELAY_DATA_DIR: mkdtempSync(join(tmpdir(), memoryPrefix)), RELAY_SOCKET: undefined }
}

/** Returns the settings as a line for a shell: `export NAME=VALUE …`. */
export function shellExportLine(settings: Record<string, string>): string {
  const words = Object.entries(settings).map(([name, value]) => `${name}=${shellQuote(value)}`)
  return `export ${words.join(' ')}`
}

/** Deletes the data directory of a relay in memory, if newMemoryEnv has made it. */
export function removeMemoryDirectory(env: Env): void {
  const directory = dataDir(env)
  if (isMemoryRelay(env)) rmSync(directory, { recursive: true, force: true })
}

export function isMemoryRelay(env: Env): boolean {
  return basename(dataDir(env)).startsWith(memoryPrefix)
}

/** A connection to the daemon. `daemon` is set if this process is the daemon, `childPid` if this command has started it. */
interface ReachedDaemon {
  link: Link
  daemon?: Daemon
  childPid?: number
}

/**
 * Connects to the running daemon, or becomes the daemon. While another daemon is starting or stopping it has the lock and does not answer, so this tries again.
 * `say` prints why a wait is long.
 */
export async function reachOrRunDaemon(
  env: Env,
  start: () => Promise<Daemon | undefined>,
  say: (text: string) => void,
): Promise<ReachedDaemon> {
  checkDataDirectory(env)
  const daemonWait = new DaemonWait(env, say)
  for (;;) {
    const link = await tryConnectControl(env)
    if (link) return { link }
    const daemon = await start()
    if (daemon) return { link: await connectControl(env), daemon }
    await daemonWait.wait()
  }
}

/** Connects to the running daemon, or starts one in a process of its own, which outlives this one and writes to the log file. */
export async function reachOrSpawnDaemon(
  env: Env,
  args: string[],
  say: (text: string) => void,
  { limits, prepared }: { limits?: ConstructorParameters<typeof DaemonWait>[2]; prepared?: SpawnedDaemon } = {},
): Promise<ReachedDaemon> {
  checkDataDirectory(env)
  mkdirSync(dataDir(env), { recursive: true, mode: 0o700 })
  let child = prepared
  for (const daemonWait = new DaemonWait(env, say, limits); ; await daemonWait.wait(child)) {
    const link = await tryConnectControl(env)
    if (link) {
      await endLoser(link, child)
      return { link, childPid: child?.pid }
    }
    if (child?.code !== undefined && child.code !== exitCodes.lostRace)
      throw failedStart(env, child.logFrom, child.code)
    if (child === undefined || (await mayStartAnother(env, child))) child = spawnDaemon(env, args)
  }
}

/** Whether to start another child. This one has ended because another process had the lock: another child is needed only if that process has ended too. */
async function mayStartAnother(env: Env, child: SpawnedDaemon): Promise<boolean> {
  if (child.lookAgainAt === undefined || performance.now() < child.lookAgainAt) return false
  // Imported here, since it loads the store.
  const { isDaemonRunning } = await import('../../../daemon/inspect.ts')
  if (!isDaemonRunning(dataDir(env))) return true
  child.lookAgainAt = performance.now() + raceLookMs
  return false
}

/** Connects to a daemon and opens the workspace. If the daemon was about to stop, this tries the next one. */
export async function reachAndOpenWorkspace(
  reach: () => Promise<ReachedDaemon>,
  context: Starting,
  env: Env,
): Promise<ReachedDaemon & { opened: OpenedWorkspace }> {
  // An invalid name is refused before a daemon is started.
  chooseWorkspace(context, env)
  for (const until = performance.now() + waitLimitMs('otherStart'); ; await sleep(daemonPollMs)) {
    const reached = await reach()
    try {
      return { ...reached, opened: await openWorkspace(reached.link, context, env) }
    } catch (error) {
      const { code } = error as { code?: unknown }
      const isFinal = (code !== 'daemon.stopping' && code !== 'connection.lost') || performance.now() > until
      if (isFinal) await endStartedDaemon(reached, env)
      void reached.link.close()
      await reached.daemon?.stop()
      if (isFinal) throw error
    }
  }
}

/** Stops the daemon that was started for a workspace which cannot be opened, unless other workspaces are open in it. */
async function endStartedDaemon({ link, childPid }: ReachedDaemon, env: Env): Promise<void> {
  if (childPid === undefined) return
  const { pid, workspaces } = await daemonStatus(link).catch(() => ({ pid: 0, workspaces: [] }))
  // The home workspace does not count: every daemon opens it.
  if (pid !== childPid || workspaces.some(({ name, open }) => open && name !== homeWorkspace)) return
  await stopDaemon(env).catch(() => {})
}

/** Ends the child if another daemon answers while the child is still starting: otherwise the child would become the daemon as soon as that one stops. */
async function endLoser(link: Link, child: SpawnedDaemon | undefined): Promise<void> {
  if (!child || child.code !== undefined) return
  const answering = await daemonStatus(link).catch(() => undefined)
  if (answering && answering.pid !== child.pid) child.end()
}

/** A daemon's process that has loaded its program, and waits for `begin()` before it does anything. It ends by itself if this process ends first. */
export interface PreparedDaemon extends SpawnedDaemon {
  begin(): void
}

/** Starts the process of the next daemon while the present one still runs, so that its program is loaded when the present one has stopped. */
export async function prepareDaemon(env: Env, args: string[]): Promise<PreparedDaemon> {
  const spawned = spawnDaemon(env, [...args, prepareFlag], true)
  const { process: child } = spawned
  // The wait also ends if the process exits before it has loaded its program.
  await Promise.race([once(child, 'message'), once(child, 'exit')]).catch(() => {})
  if (spawned.code !== undefined) throw failedStart(env, spawned.logFrom, spawned.code)
  const begin = () => void child.send('begin', () => child.disconnect())
  return Object.assign(spawned, { begin })
}

/** Called in a daemon that was started with `prepareFlag`. Resolves to true when it may begin; false if the process that has started it has ended. */
export async function waitForBeginning(): Promise<boolean> {
  if (!process.connected) return false
  const told = Promise.race([once(process, 'message').then(() => true), once(process, 'disconnect').then(() => false)])
  process.send?.('loaded')
  return told
}

interface SpawnedDaemon {
  process: ChildProcess
  pid?: number
  end(): void
  logFrom: number
  code?: number
  /** Set if the child has ended because another process had the lock: the time at which to check whether that process has ended too. */
  lookAgainAt?: number
}

function spawnDaemon(env: Env, args: string[], isPrepared = false): SpawnedDaemon {
  const log = openLog(dataDir(env))
  const given = setting(env, 'RELAY_DATA_DIR')
  const child: ChildProcess = spawn(process.execPath, [relayScript, 'daemon', 'run', ...args], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.descriptor, log.descriptor, ...(isPrepared ? ['ipc' as const] : [])],
    // The daemon runs in its data directory, since it would keep ours in use. It must not inherit an agent's name, token or worker's marker: with the marker,
    // it would be ended together with that worker.
    cwd: dataDir(env),
    env: {
      ...env,
      ...(given ? { RELAY_DATA_DIR: dataDir(env) } : {}),
      RELAY_AGENT_NAME: undefined,
      RELAY_AGENT_TOKEN: undefined,
      RELAY_WORKER: undefined,
    },
  })
  log.close()
  // SIGKILL is safe: this child has no lock and nothing to clean up. On SIGTERM it would first finish its start, in which it might take the lock.
  const end = () => void child.kill('SIGKILL')
  const spawned: SpawnedDaemon = { process: child, pid: child.pid, end, logFrom: log.size }
  child.once('exit', (code) => {
    spawned.code = code ?? exitCodes.refused
    if (code === exitCodes.lostRace) spawned.lookAgainAt = performance.now() + raceLookMs
  })
  child.once('error', () => {
    spawned.code = exitCodes.refused
  })
  child.unref()
  return spawned
}

/** Opens the workspace that the command means, and writes the configuration by which programs in its directory find it. */
async function openWorkspace(link: Link, context: Starting, env: Env): Promise<OpenedWorkspace> {
  const { cwd, options, print } = context
  const opened = await openChosen(link, print, () => chooseWorkspace(context, env))
  if (!(await isSocketAlive(opened.socketPath)))
    throw new CommandError(`The socket ${opened.socketPath} does not answer.`, exitCodes.busy)
  if (isMemoryRelay(env)) return opened
  if (opened.created && !options.quiet) print.say(`made workspace ${opened.name}.`)
  // The home workspace needs no configuration: it serves every directory that is no project.
  if (cwd === undefined || opened.name === homeWorkspace) return opened
  const directory = chooseWorkspace(context, env).directory ?? cwd
  if (!isRootOrHome(directory, env)) writeConfig(print, directory, opened.name, env, options.quiet)
  else if (!options.quiet)
    print.say(`This directory is not marked as ${opened.name}. Use it with: --project ${opened.name}`)
  return opened
}

/** Opens the chosen workspace. If another directory of the same name takes the workspace first, another one is chosen. */
async function openChosen(link: Link, print: Printer, choose: () => ProjectChoice): Promise<OpenedWorkspace> {
  for (;;) {
    const { project, directory } = choose()
    const open = (how: { mustExist?: true; local?: true } = {}) =>
      link.call('workspace.open', { workspace: project, directory, ...how }, nextCommandId('c'))
    const opened = await chooseLocalOrShared(print, project, {
      make: () => open(),
      open: () => open({ mustExist: true }),
      makeLocal: () => open({ local: true }),
    })
    const owner = directory === undefined ? undefined : projectOwner(join(opened.path, '..', '..'), project)
    if (owner === undefined || owner === directory) return opened
  }
}

/** Writes `.relay/config.json`. If that fails, the workspace is open all the same, and the option `--project` selects it. */
function writeConfig(print: Printer, directory: string, project: string, env: Env, isQuiet = false): void {
  try {
    if (findProjectConfig(directory)) return
    const path = writeProjectConfig(directory, project, env)
    if (path !== undefined && !isQuiet) print.say(`wrote ${path}: programs in this directory use workspace ${project}.`)
  } catch (error) {
    print.say(
      `${directory} is not marked as ${project} (${(error as Error).message}). Use it with: --project ${project}`,
    )
  }
}

/** Writes the launcher that editors start, so that it starts this installation. A failure is only reported: the daemon works without it. */
export function refreshEditorLauncher(env: Env, onTrouble: (error: Error) => void): void {
  try {
    refreshLauncher(env)
  } catch (error) {
    onTrouble(new Error(`The launcher for editors could not be written: ${(error as Error).message}`))
  }
}

/** Throws if the data directory is unusable, before a file in it fails, or if the credentials file is damaged, before a key is made. */
export function checkDataDirectory(env: Env): void {
  const path = dataDir(env)
  const why = dataDirectoryFault(path)
  if (why !== undefined) throw new RefusalError('data.unusable', { path, why })
  new CredentialsFile(credentialsPath(env)).keyOf('')
}

function failedStart(env: Env, logFrom: number, exit: number): CommandError {
  const lines = readLogEnd(dataDir(env), 20, logFrom)
  const why =
    lines.length > 0 ? `The end of its log:\n${lines.map((line) => `  ${line}`).join('\n')}` : 'It logged nothing.'
  return new CommandError(`The daemon did not start. ${why}`, exit)
}
