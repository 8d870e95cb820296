// The doctor's checks of the data directory: its permissions, its daemon, sockets without a listener, and the databases.

import { accessSync, chmodSync, constants, existsSync, readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import {
  controlSocketPath,
  credentialsPath,
  dataDir,
  type Env,
  isSocketAlive,
  socketPathOf,
} from '@agent-relay/sdk/internal/discover'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { toRefusal } from '../../../core/refusal-error.ts'
import type { KnownWorkspaces } from '../../../daemon/known-workspaces.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { DataDirectory, dataDirectoryFault } from '../../../machine/data-directory.ts'
import { versionWithBuildId } from '../../../machine/version.ts'
import { tryWithControl } from '../../control-socket.ts'
import { withTilde } from '../../text.ts'
import { type DoctorCheck, type Finding, faultFinding, noteFinding, okFinding } from './finding.ts'

export const dataDirectoryCheck: DoctorCheck = ({ env }) => {
  const path = dataDir(env)
  const shown = withTilde(path, env.HOME)
  const why = existsSync(path) ? undefined : dataDirectoryFault(path)
  if (why !== undefined)
    return [
      faultFinding('data', `${shown} cannot be made: ${why}`, 'fix that with chown or chmod, or set RELAY_DATA_DIR'),
    ]
  if (!existsSync(path)) return [noteFinding('data', `${shown} is not there yet`, 'agent-relay daemon start makes it')]
  if (!isDirectory(path)) return [faultFinding('data', `${shown} is not a directory`, 'move it, or set RELAY_DATA_DIR')]
  return [checkPrivacy('data', path, shown, 0o700), ...checkCredentials(env)]
}

function checkCredentials(env: Env): Finding[] {
  const path = credentialsPath(env)
  if (!existsSync(path)) return []
  const shown = withTilde(path, env.HOME)
  try {
    new CredentialsFile(path).keyOf('')
  } catch (error) {
    const fix = `correct or move it: ${shown}; new keys: agent-relay workspace key --rotate`
    return [faultFinding('keys', (error as Error).message, fix)]
  }
  return [checkPrivacy('keys', path, shown, 0o600)]
}

/** Checks that only the owner may read the path, and that the owner may write it. */
function checkPrivacy(check: string, path: string, shown: string, mode: number): Finding {
  const { mode: now, uid } = statSync(path)
  if (process.getuid !== undefined && uid !== process.getuid())
    return faultFinding(check, `${shown} belongs to another user`, `sudo chown -R "$USER" ${shown}`)
  const repair = () => chmodSync(path, mode)
  if (process.platform !== 'win32' && (now & 0o077) !== 0)
    return faultFinding(check, `others may read ${shown}`, `chmod ${mode.toString(8)} ${shown}`, repair)
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    if ((now & 0o200) === 0) throw new Error('read-only')
  } catch {
    return faultFinding(check, `${shown} cannot be written to`, `chmod u+rwX ${shown}`, repair)
  }
  return okFinding(check, shown)
}

export const daemonCheck: DoctorCheck = async ({ env }) => {
  const running = await tryWithControl(env, async (link) => link.welcome.version)
  if (running === undefined) {
    const { isDaemonRunning } = await import('../../../daemon/inspect.ts')
    const fix = 'see: agent-relay daemon logs; then end that process'
    if (isDirectory(dataDir(env)) && isDaemonRunning(dataDir(env)))
      return [faultFinding('daemon', 'a daemon holds the data directory but does not answer', fix)]
    return [noteFinding('daemon', 'it does not run', 'agent-relay daemon start')]
  }
  if (running === versionWithBuildId) return [okFinding('daemon', `agent-relay ${running} runs`)]
  const text = `the daemon runs ${running}, this is agent-relay ${versionWithBuildId}`
  return [faultFinding('daemon', text, 'agent-relay daemon upgrade')]
}

/** Finds socket files without a listener. They do harm only if a program tries such a socket before a live one. */
export const socketsCheck: DoctorCheck = async ({ env }) => {
  const directory = dataDir(env)
  const paths = [
    controlSocketPath(directory, env),
    ...projects(directory).map((name) => socketPathOf(directory, name, env)),
  ]
  const there = paths.filter((path) => existsSync(path))
  const answers = await Promise.all(there.map((path) => isSocketAlive(path)))
  const stale = there.filter((_, i) => !answers[i])
  if (stale.length === 0) return [okFinding('sockets', there.length === 0 ? 'none' : 'all of them answer')]
  return stale.map((path) => {
    const shown = withTilde(path, env.HOME)
    return faultFinding('sockets', `nobody answers at ${shown}`, `rm ${shown}`, () => unlinkSync(path))
  })
}

export const databasesCheck: DoctorCheck = async ({ env }) => {
  const directory = dataDir(env)
  // Imported here, since both load the store.
  const { KnownWorkspaces } = await import('../../../daemon/known-workspaces.ts')
  const { assertKnownVersion, checkIntegrity, repairCommands } = await import('../../../daemon/inspect.ts')
  const place = isDirectory(directory) ? new DataDirectory(directory) : undefined
  const known = place && new KnownWorkspaces(new CredentialsFile(credentialsPath(env)), place)
  const namesIn = () => {
    try {
      return known?.names()
    } catch {
      // The credentials file is damaged, which the check of that file reports.
      return place?.workspaces()
    }
  }
  const names = namesIn() ?? []
  if (!place || !known || names.length === 0) return [okFinding('databases', 'none yet')]
  const damaged = names.flatMap((workspace): Finding[] => {
    const path = place.databasePath(workspace)
    // Known faults are looked up before a database is opened: opening an empty one would delete its write-ahead log, and opening a cut log would apply what is
    // left of it.
    const refused = faultIn(known, workspace)
    const why = refused ? String(refused.details.reason) : checkIntegrity(path)
    if (why === 'ok' && isKnownVersion(() => assertKnownVersion(path))) return []
    if (why === 'ok') {
      const text = `the database of workspace ${workspace} was written by a newer Agent Relay`
      return [faultFinding('databases', text, 'install that version, then: agent-relay daemon upgrade')]
    }
    const text = `the database of workspace ${workspace} is ${refused?.code === 'workspace.lost' ? 'lost' : 'damaged'}: ${why}`
    const { copy, startOver } = repairCommands(path)
    const recover = refused?.details.recover === undefined ? '' : `with what is left: ${refused.details.recover}   `
    const fix = `${recover}with a copy: ${copy}   or to start over: ${startOver}`
    return [faultFinding('databases', text, fix)]
  })
  return damaged.length > 0 ? damaged : [okFinding('databases', `${names.length} whole`)]
}

/** Whether this program knows the version of a database. Other errors are left to the client that opens the database. */
function isKnownVersion(check: () => void): boolean {
  try {
    check()
    return true
  } catch (error) {
    return toRefusal(error).code !== 'workspace.newer'
  }
}

/** Returns the refusal with which the daemon would not open the database; undefined if there is none. The soundness check finds all other faults. */
function faultIn(known: KnownWorkspaces, workspace: string): Refusal | undefined {
  try {
    return known.faultOf(workspace)?.refusal
  } catch {
    return undefined
  }
}

function projects(directory: string): string[] {
  const folder = join(directory, 'projects')
  return existsSync(folder) ? readdirSync(folder) : []
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
