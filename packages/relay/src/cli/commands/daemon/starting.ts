// Starts a daemon if none runs, as this process (`up`) or in the background (`daemon start`), and opens a workspace in it.

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
import { launcher } from '../../own-name.ts'
import type { Printer } from '../../print.ts'
import { chooseLocalOrShared } from '../../shared-name.ts'
import { openLog, readLogEnd } from './log-file.ts'
import { DaemonWait } from './patience.ts'
import { stopDaemon } from './stop.ts'

/** Interval between looks at whether the winner of a race for the lock still lives. */
const raceLookMs = 500
/** For `daemon run`: load everything, then wait for the word of the process that has started it. */
export const prepareFlag = '--prepare'
const memoryPrefix = 'agent-relay-memory-'

export type OpenedWorkspace = OutputOf<'workspace.open'>
type Starting = CommandContext & { options: { quiet?: boolean } }

/** An environment whose data directory is private, temporary and new. */
export function newMemoryEnv(env: Env): Env {
  return { ...env, RELAY_DATA_DIR: mkdtempSync(join(tmpdir(), memoryPrefix)), RELAY_SOCKET: undefined }
}

/** The settings as a line that a shell can evaluate. */
export function shellExportLine(settings: Record<string, string>): string {
  const words = Object.entries(settings).map(([name, value]) => `${name}=${shellQuote(value)}`)
  return `export ${words.join(' ')}`
}

/** Removes the directory of a relay in memory, and never one that newMemoryEnv did not make. */
export function removeMemoryDirectory(env: Env): void {
  const directory = dataDir(env)
  if (isMemoryRelay(env)) rmSync(directory, { recursive: true, force: true })
}

export function isMemoryRelay(env: Env): boolean {
  return basename(dataDir(env)).startsWith(memoryPrefix)
}

/** A connection to the daemon that answers. `daemon` is set if this process became the daemon, `childPid` if it started one. */
interface ReachedDaemon {
  link: Link
  daemon?: Daemon
  childPid?: number
}

/**
 * Reaches the running daemon or becomes the daemon. Tries again, because a daemon that starts or stops holds the lock and does not answer. `say`
 * explains a long wait.
 */
export async function reachOrRunDaemon(
  env: Env,
  start: () => Promise<Daemon | undefined>,
  say: (text: string) => void,
): Promise<ReachedDaemon> {
  checkDataDirectory(env)
  const patience = new DaemonWait(env, say)
  for (;;) {
    const link = await tryConnectControl(env)
    if (link) return { link }
    const daemon = await start()
    if (daemon) return { link: await connectControl(env), daemon }
    await patience.wait()
  }
}

/** Reaches the running daemon, or starts one in a process of its own, which outlives this one and writes to the log. */
export async function reachOrSpawnDaemon(
  env: Env,
  args: string[],
  say: (text: string) => void,
  { limits, prepared }: { limits?: ConstructorParameters<typeof DaemonWait>[2]; prepared?: SpawnedDaemon } = {},
): Promise<ReachedDaemon> {
  checkDataDirectory(env)
  mkdirSync(dataDir(env), { recursive: true, mode: 0o700 })
  let child = prepared
  for (const patience = new DaemonWait(env, say, limits); ; await patience.wait(child)) {
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

/** Whether to start another child, because this one lost the race for the lock and the winner is gone. A winner that starts or ends is waited for. */
async function mayStartAnother(env: Env, child: SpawnedDaemon): Promise<boolean> {
  if (child.lookAgainAt === undefined || performance.now() < child.lookAgainAt) return false
  // Imported here because it loads the store.
  const { isDaemonRunning } = await import('../../../daemon/inspect.ts')
  if (!isDaemonRunning(dataDir(env))) return true
  child.lookAgainAt = performance.now() + raceLookMs
  return false
}

/** Reaches a daemon and opens the workspace; tries the next daemon if this one was about to stop. */
export async function reachAndOpenWorkspace(
  reach: () => Promise<ReachedDaemon>,
  context: Starting,
  env: Env,
): Promise<ReachedDaemon & { opened: OpenedWorkspace }> {
  // A bad name is refused before a daemon is started for it.
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

/** Ends the daemon that was started for a workspace which cannot be opened, unless it serves another one. */
async function endStartedDaemon({ link, childPid }: ReachedDaemon, env: Env): Promise<void> {
  if (childPid === undefined) return
  const { pid, workspaces } = await daemonStatus(link).catch(() => ({ pid: 0, workspaces: [] }))
  // Every daemon has `home` open.
  if (pid !== childPid || workspaces.some(({ name, open }) => open && name !== homeWorkspace)) return
  await stopDaemon(env).catch(() => {})
}

/** Ends our child if another daemon answers while it still starts: were that daemon stopped soon, ours would take its place. */
async function endLoser(link: Link, child: SpawnedDaemon | undefined): Promise<void> {
  if (!child || child.code !== undefined) return
  const answering = await daemonStatus(link).catch(() => undefined)
  if (answering && answering.pid !== child.pid) child.end()
}

/** A daemon that has loaded its program and touches nothing before `begin()`. It ends by itself if this process ends before. */
export interface PreparedDaemon extends SpawnedDaemon {
  begin(): void
}

/** Starts the process of the daemon that is to follow the one that runs, so that nobody waits for the loading of its program. */
export async function prepareDaemon(env: Env, args: string[]): Promise<PreparedDaemon> {
  const spawned = spawnDaemon(env, [...args, prepareFlag], true)
  const { process: child } = spawned
  // Resolves also if the process ends before it has loaded.
  await Promise.race([once(child, 'message'), once(child, 'exit')]).catch(() => {})
  if (spawned.code !== undefined) throw failedStart(env, spawned.logFrom, spawned.code)
  const begin = () => void child.send('begin', () => child.disconnect())
  return Object.assign(spawned, { begin })
}

/** Waits, in a daemon that was started with `prepareFlag`, until the process that has started it says so. False if that process has ended instead. */
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
  /** When a child that lost the race for the lock is looked at again; if the winner is gone by then, another one is started. */
  lookAgainAt?: number
}

function spawnDaemon(env: Env, args: string[], isPrepared = false): SpawnedDaemon {
  const log = openLog(dataDir(env))
  const given = setting(env, 'RELAY_DATA_DIR')
  const child: ChildProcess = spawn(process.execPath, [launcher, 'daemon', 'run', ...args], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.descriptor, log.descriptor, ...(isPrepared ? ['ipc' as const] : [])],
    // The daemon does not run in our directory, which it would keep in use, and has no agent's name, token or marker, or it would end with that worker.
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
  // Killed, because a loser has no lock and nothing to put away. Asked to stop, it would first try to start, and might take the lock in that moment.
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

/** Opens the workspace that the command means, and tells programs in its directory about it. */
async function openWorkspace(link: Link, context: Starting, env: Env): Promise<OpenedWorkspace> {
  const { cwd, options, print } = context
  const opened = await openChosen(link, print, () => chooseWorkspace(context, env))
  if (!(await isSocketAlive(opened.socketPath)))
    throw new CommandError(`The socket ${opened.socketPath} does not answer.`, exitCodes.busy)
  if (isMemoryRelay(env)) return opened
  if (opened.created && !options.quiet) print.say(`made workspace ${opened.name}.`)
  // Outside a project, `home` is used anyway.
  if (cwd === undefined || opened.name === homeWorkspace) return opened
  const directory = chooseWorkspace(context, env).directory ?? cwd
  if (!isRootOrHome(directory, env)) writeConfig(print, directory, opened.name, env, options.quiet)
  else if (!options.quiet)
    print.say(`This directory is not marked as ${opened.name}. Use it with: --project ${opened.name}`)
  return opened
}

/** Opens the chosen workspace. If two directories of one name start at the same moment, the second one chooses again. */
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

/** Writes `.relay/config.json`. Where that fails the workspace is still open, and `--project` names it. */
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

/** Writes the launcher that editors start, so that it leads to this installation. A daemon that cannot write it works without it. */
export function refreshEditorLauncher(env: Env, onTrouble: (error: Error) => void): void {
  try {
    refreshLauncher(env)
  } catch (error) {
    onTrouble(new Error(`The launcher for editors could not be written: ${(error as Error).message}`))
  }
}

/** Refuses an unusable data directory before its first file fails, and a broken file of keys before a key is made. */
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
