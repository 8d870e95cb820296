// A daemon where there is none, and a workspace open in it: as this process (`up`) or in the background (`daemon start`).

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ConnectionError,
  DaemonNotRunningError,
  isAlive,
  type Link,
  makeIds,
  type OutputOf,
  RelayError,
  socketConnector,
} from '@agent-relay/sdk'
import {
  controlSocketPath,
  credentialsPath,
  dataDir,
  type Env,
  findProjectConfig,
  setting,
} from '@agent-relay/sdk/discover'
import { chooseProject, ownerOf, type ProjectChoice, writeProjectConfig } from '../config.ts'
import { CredentialsFile } from '../credentials-file.ts'
import type { Daemon } from '../daemon.ts'
import { dataDirectoryFault } from '../data-directory.ts'
import { RefusalError } from '../refusal-error.ts'
import { CommandError, exits, type Invocation } from './command.ts'
import { launcher } from './launcher.ts'
import { logEnd, logPath, openLog } from './log-file.ts'
import type { Print } from './print.ts'

/** A daemon starts within half a second; one that has not answered after this will not. */
const startMs = 10_000
const lookAgainMs = 40
/** The winner of a race for the lock answers well within this. */
const raceMs = 500
const memoryPrefix = 'agent-relay-memory-'

export type Entry = OutputOf<'workspace.open'>
export const nextId = makeIds()

/** The daemon's own socket; undefined where nobody listens. */
export async function reachControl(env: Env): Promise<Link | undefined> {
  try {
    return await control(env)
  } catch (error) {
    // It may be starting or stopping in this very moment.
    if (error instanceof DaemonNotRunningError || error instanceof ConnectionError) return undefined
    throw error
  }
}

/** The same, where there has to be one. */
export function control(env: Env): Promise<Link> {
  return socketConnector(controlSocketPath(dataDir(env), env))({})
}

/** An environment whose data directory is private, temporary and new. */
export function memoryEnv(env: Env): Env {
  return { ...env, RELAY_DATA_DIR: mkdtempSync(join(tmpdir(), memoryPrefix)), RELAY_SOCKET: undefined }
}

/** Only a directory that memoryEnv made is ever removed. */
export function forgetMemory(env: Env): void {
  const directory = dataDir(env)
  if (isMemory(env)) rmSync(directory, { recursive: true, force: true })
}

export function isMemory(env: Env): boolean {
  return basename(dataDir(env)).startsWith(memoryPrefix)
}

/** Whoever answers, and the process that was made to answer. */
interface Reached {
  link: Link
  daemon?: Daemon
  childPid?: number
}

/** Tries to reach the daemon that runs or to be it; between the two a stopping one may hold the lock for a moment. */
export async function reachOrBecome(env: Env, start: () => Promise<Daemon | undefined>): Promise<Reached> {
  checkPlace(env)
  for (const until = Date.now() + startMs; ; await sleep(lookAgainMs)) {
    const link = await reachControl(env)
    if (link) return { link }
    const daemon = await start()
    if (daemon) return { link: await control(env), daemon }
    if (Date.now() > until) throw silent(env)
  }
}

/** The same with a daemon of its own process, which outlives this one. Its output goes to the log. */
export async function reachOrSpawn(env: Env, args: string[]): Promise<Reached> {
  checkPlace(env)
  mkdirSync(dataDir(env), { recursive: true, mode: 0o700 })
  let child: Spawned | undefined
  for (const until = Date.now() + startMs; ; await sleep(lookAgainMs)) {
    const link = await reachControl(env)
    if (link) return { link, childPid: child?.pid }
    if (child?.code !== undefined && child.code !== exits.lostRace) throw failedStart(env, child.logFrom, child.code)
    // Lost the race to one that does not answer yet, or to one that was about to end.
    if (child === undefined || Date.now() > (child.againAt ?? Number.POSITIVE_INFINITY)) child = spawnDaemon(env, args)
    if (Date.now() > until) throw silent(env)
  }
}

/** Reaches a daemon and opens the workspace; a daemon that was on its way out when it answered is given up for the next one. */
export async function reachAndOpen(
  reach: () => Promise<Reached>,
  invocation: Invocation,
  env: Env,
): Promise<Reached & { entry: Entry }> {
  // A bad name is refused before a daemon is started for it.
  choose(invocation, env)
  for (const until = Date.now() + startMs; ; await sleep(lookAgainMs)) {
    const reached = await reach()
    try {
      return { ...reached, entry: await openWorkspace(reached.link, invocation, env) }
    } catch (error) {
      void reached.link.close()
      await reached.daemon?.stop()
      const { code } = error as { code?: unknown }
      if ((code !== 'daemon.stopping' && code !== 'connection.lost') || Date.now() > until) throw error
    }
  }
}

interface Spawned {
  pid?: number
  logFrom: number
  code?: number
  /** It lost the race; unless the winner answers by then, it is tried again. */
  againAt?: number
}

function spawnDaemon(env: Env, args: string[]): Spawned {
  const log = openLog(dataDir(env))
  const given = setting(env, 'RELAY_DATA_DIR')
  const child: ChildProcess = spawn(process.execPath, [launcher, 'daemon', 'run', ...args], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.descriptor, log.descriptor],
    // Not where we stand: a daemon must not hold somebody's directory. And nobody's name, token or marker: it would go with that worker.
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
  const spawned: Spawned = { pid: child.pid, logFrom: log.size }
  child.once('exit', (code) => {
    spawned.code = code ?? exits.refused
    if (code === exits.lostRace) spawned.againAt = Date.now() + raceMs
  })
  child.once('error', () => {
    spawned.code = exits.refused
  })
  child.unref()
  return spawned
}

/** Opens the workspace that the command means, and tells programs in this directory about it. */
async function openWorkspace(link: Link, invocation: Invocation, env: Env): Promise<Entry> {
  const { cwd, options, print } = invocation
  const entry = await openOwn(link, () => choose(invocation, env))
  if (!(await isAlive(entry.socketPath)))
    throw new CommandError(`The socket ${entry.socketPath} does not answer.`, exits.busy)
  if (!isMemory(env) && cwd !== undefined) pin(print, cwd, entry.name, env, options.quiet)
  return entry
}

/** Two directories of one name that start in the same moment choose the same workspace; the one that came second chooses again. */
async function openOwn(link: Link, choose: () => ProjectChoice): Promise<Entry> {
  for (;;) {
    const { project, directory } = choose()
    const entry = await link.call('workspace.open', { workspace: project, directory }, nextId('c'))
    const owner = directory === undefined ? undefined : ownerOf(join(entry.path, '..', '..'), project)
    if (owner === undefined || owner === directory) return entry
  }
}

export function choose({ cwd, options }: Invocation, env: Env): ProjectChoice {
  if (cwd === undefined && options.project === undefined) {
    throw new CommandError(
      'The working directory is gone. Change to another, or name a workspace: --project NAME',
      exits.usage,
    )
  }
  return chooseProject(cwd ?? '/', env, options.project)
}

/** A directory that cannot be written to, or whose file is broken, is no reason to fail: the workspace is open, and `--project` names it. */
function pin(print: Print, directory: string, project: string, env: Env, isQuiet = false): void {
  try {
    if (findProjectConfig(directory)) return
    const path = writeProjectConfig(directory, project, env)
    if (path !== undefined && !isQuiet) print.say(`wrote ${path}: programs in this directory use workspace ${project}.`)
  } catch (error) {
    print.say(`${directory} is not marked as ${project} (${(error as Error).message}). Name it: --project ${project}`)
  }
}

/** A directory that cannot be used is told as such, not as the first file that fails; and a bad file of keys before a key is made. */
function checkPlace(env: Env): void {
  const path = dataDir(env)
  const why = dataDirectoryFault(path)
  if (why !== undefined) throw new RefusalError('data.unusable', { path, why })
  new CredentialsFile(credentialsPath(env)).keyOf('')
}

function silent(env: Env): RelayError {
  return new RelayError(
    `Another process holds ${dataDir(env)} but does not answer. Is it stopping or stopped? See: ${logPath(dataDir(env))}`,
    { code: 'daemon.stopping' },
  )
}

function failedStart(env: Env, logFrom: number, exit: number): CommandError {
  const lines = logEnd(dataDir(env), 20, logFrom)
  const why =
    lines.length > 0 ? `The end of its log:\n${lines.map((line) => `  ${line}`).join('\n')}` : 'It left no word.'
  return new CommandError(`The daemon did not start. ${why}`, exit)
}
