// Makes, starts, kills and ends a PostgreSQL server in a folder of its own, even if the caller is root, for trials, tests and benchmarks.

import { execFile, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programFolders } from '@agent-relay/sdk/internal/discover'

const run = promisify(execFile)

/** The folder in which Debian's packages put the programs of each PostgreSQL version. */
const debianFolder = '/usr/lib/postgresql'
/** The oldest version of PostgreSQL that a shared workspace supports. */
export const oldestVersion = 15

/**
 * Starts a server's program under another user if the caller is root, as whom the server refuses to run. The other user exists in a user namespace,
 * and its files belong to root outside.
 */
const asNobody = process.getuid?.() === 0 ? ['unshare', '-U', '--map-user=65534', '--map-group=65534'] : []

export const admin = { user: 'postgres', password: 'the one of this test' }

const settings = {
  listen_addresses: "''",
  shared_buffers: '16MB',
  max_connections: '60',
  // fsync is not switched off: the trials test that nothing stored is lost, and part of that promise is the server's.
  autovacuum: 'off',
}

/** Returns the folders of the programs that are installed here: on the PATH, and from Debian's packages, the newest first. */
export function installedPostgres(path = process.env.PATH): string[] {
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder).sort((a, b) => Number(b) - Number(a)) : []
  const debians = versions.filter((version) => Number(version) >= oldestVersion)
  const folders = [...programFolders(path), ...debians.map((version) => join(debianFolder, version, 'bin'))]
  return folders.filter((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'pg_ctl')))
}

/** Makes the data directory of a server in a folder. */
export async function initializeServer(programs: string, folder: string): Promise<void> {
  const secret = join(folder, 'password')
  writeFileSync(secret, admin.password)
  const auth = ['--auth=scram-sha-256', `--username=${admin.user}`, `--pwfile=${secret}`]
  const shape = ['--no-locale', '--encoding=UTF8', '--no-sync']
  await runPostgresProgram(programs, 'initdb', ['-D', dataOf(folder), ...auth, ...shape])
}

/** Configures a server to need little memory, and to be reachable only through a socket in its folder. */
export function setSmallServer(folder: string, more: Record<string, string> = {}): void {
  setServer(folder, { ...settings, unix_socket_directories: `'${folder}'`, ...more })
}

export function dataOf(folder: string): string {
  return join(folder, 'data')
}

/** Adds settings to a server's configuration file. If a setting is there twice, the later value counts. */
export function setServer(folder: string, more: Record<string, string>): void {
  const lines = Object.entries(more).map(([name, value]) => `${name} = ${value}\n`)
  appendFileSync(join(dataOf(folder), 'postgresql.auto.conf'), lines.join(''))
}

/** Starts a server. `through` is a program that runs it, such as `nsenter` with its options. */
export async function startServer(programs: string, folder: string, through: string[] = []): Promise<void> {
  const args = ['-D', dataOf(folder), '-l', join(folder, 'log'), '-w', 'start']
  await runPostgresProgram(programs, 'pg_ctl', args, through)
}

/** Kills a server and all its processes at once, as a power cut would. */
export function killServer(folder: string): void {
  const pid = serverPid(folder)
  for (const each of [pid, ...childProcessesOf(pid)]) {
    try {
      process.kill(each, 'SIGKILL')
    } catch {
      // The process has noticed that the server is gone, and has ended by itself.
    }
  }
  rmSync(join(dataOf(folder), 'postmaster.pid'), { force: true })
}

/** Returns the process id of a running server. */
export function serverPid(folder: string): number {
  const pid = Number(readFileSync(join(dataOf(folder), 'postmaster.pid'), 'utf8').split('\n')[0])
  // A signal to process id 0 would reach the trial itself, and a signal to 1 the whole system.
  if (!(pid > 1)) throw new Error('the server has not written its process id yet')
  return pid
}

/** Ends a server and waits for its end, since the calling process may end next. */
export function endServer(programs: string, folder: string): void {
  const [program = '', ...rest] = [
    ...asNobody,
    join(programs, 'pg_ctl'),
    '-D',
    dataOf(folder),
    '-m',
    'immediate',
    'stop',
  ]
  spawnSync(program, rest)
  rmSync(folder, { recursive: true, force: true })
}

export async function runPostgresProgram(
  programs: string,
  name: string,
  args: string[],
  through: string[] = [],
): Promise<void> {
  const [program = '', ...rest] = [...through, ...asNobody, join(programs, name), ...args]
  await run(program, rest, { env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } })
}

/** Returns the process ids of a process's children; empty on systems without `/proc`. */
export function childProcessesOf(parent: number): number[] {
  const names = existsSync('/proc') ? readdirSync('/proc') : []
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent
      } catch {
        return false
      }
    })
}
