// Makes, starts and ends a PostgreSQL in a temporary folder, for tests and benchmarks, also where root asks. `node scripts/temporary-postgres.mjs`
// runs one for benchmarks, prints how to reach it as JSON, and ends it when its standard input ends. It is Debian's own where that is installed, with
// the settings it comes with; NAME=VALUE as arguments set more.
import { execFile, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { installPostgres } from './install-postgres.mjs'

const run = promisify(execFile)

/**
 * The command before a server's program under root, as whom the server refuses to run. In a user namespace it is somebody else, whose files are those
 * of root outside.
 */
const asNobody = process.getuid?.() === 0 ? ['unshare', '-U', '--map-user=65534', '--map-group=65534'] : []

/** The programs of the oldest version that will do, from Debian; undefined where it is not installed. */
export const oldest = ['/usr/lib/postgresql/15/bin'].find((folder) => existsSync(join(folder, 'initdb')))

/** The programs of the newest version that Debian has installed. */
function debians() {
  const folder = '/usr/lib/postgresql'
  const versions = existsSync(folder) ? readdirSync(folder).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(folder, version, 'bin')).find((each) => existsSync(join(each, 'initdb')))
}

export const admin = { user: 'postgres', password: 'the one of this test' }

const settings = {
  listen_addresses: "''",
  shared_buffers: '16MB',
  max_connections: '60',
  // fsync stays on: a promise of the server that is tested here must be kept by the server.
  autovacuum: 'off',
}

/** The server's own values of the settings that would distort a benchmark. */
const stock = { shared_buffers: '128MB', max_connections: '100', autovacuum: 'on' }

/** The programs of the newest version, installed from npm. Where npm cannot be reached, Debian's oldest will do. */
export function newest() {
  try {
    return installPostgres()
  } catch (error) {
    if (!oldest) throw error
    return oldest
  }
}

/** The result of `initdb`, by the folder of the programs, made once in this process: a copy takes a tenth of the time. */
const fresh = new Map()

/** Makes the folder of a server that has not started yet. */
export async function makeServer(programs, more = {}) {
  if (!fresh.has(programs)) fresh.set(programs, initialize(programs))
  const folder = mkdtempSync(join(tmpdir(), 'relay-pg-'))
  await run('cp', ['-R', dataOf(await fresh.get(programs)), dataOf(folder)])
  setServer(folder, { ...settings, unix_socket_directories: `'${folder}'`, ...more })
  return folder
}

async function initialize(programs) {
  const folder = mkdtempSync(join(tmpdir(), 'relay-pg-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const secret = join(folder, 'password')
  writeFileSync(secret, admin.password)
  const auth = ['--auth=scram-sha-256', `--username=${admin.user}`, `--pwfile=${secret}`]
  const shape = ['--no-locale', '--encoding=UTF8', '--no-sync']
  await postgresProgram(programs, 'initdb', ['-D', dataOf(folder), ...auth, ...shape])
  return folder
}

export function dataOf(folder) {
  return join(folder, 'data')
}

/** Adds settings to a server's file. Where a setting stands twice, the last one holds. */
export function setServer(folder, more) {
  const lines = Object.entries(more).map(([name, value]) => `${name} = ${value}\n`)
  appendFileSync(join(dataOf(folder), 'postgresql.auto.conf'), lines.join(''))
}

/** Starts a server. `through` is a program that runs it, such as `nsenter` with its options. */
export async function startServer(programs, folder, through = []) {
  await postgresProgram(programs, 'pg_ctl', ['-D', dataOf(folder), '-l', join(folder, 'log'), '-w', 'start'], through)
}

/** Ends a server and waits for that: whoever ends a test may end the process next. */
export function endServer(programs, folder) {
  const [program, ...rest] = [...asNobody, join(programs, 'pg_ctl'), '-D', dataOf(folder), '-m', 'immediate', 'stop']
  spawnSync(program, rest)
  rmSync(folder, { recursive: true, force: true })
}

export async function postgresProgram(programs, name, args, through = []) {
  const [program, ...rest] = [...through, ...asNobody, join(programs, name), ...args]
  await run(program, rest, { env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const programs = debians() ?? newest()
  const more = Object.fromEntries(process.argv.slice(2).map((each) => each.split('=')))
  const folder = await makeServer(programs, { ...stock, ...more })
  await startServer(programs, folder)
  process.stdout.write(`${JSON.stringify({ host: folder, port: 5432, database: 'postgres', ...admin })}\n`)
  process.stdin.on('end', () => endServer(programs, folder)).resume()
}
