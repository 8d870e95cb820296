// Makes a PostgreSQL in a temporary folder, for tests and benchmarks. `node scripts/temporary-postgres.mjs` runs one for benchmarks, prints how to reach
// it as JSON, and ends it when its standard input ends. It is Debian's own where that is installed, with the settings it comes with; NAME=VALUE as
// arguments set more.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import {
  admin,
  dataOf,
  endServer,
  initializeServer,
  installedPostgres,
  oldestVersion,
  setSmallServer,
  startServer,
} from '@agent-relay/prove/harness/postgres'
import { installPostgres } from './install-postgres.mjs'

const run = promisify(execFile)

/** The programs of the oldest version that will do, from Debian; undefined where it is not installed. */
export const oldest = installedPostgres('').find((folder) => folder.includes(`/${oldestVersion}/`))

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
  if (!fresh.has(programs)) fresh.set(programs, makeData(programs))
  const folder = mkdtempSync(join(tmpdir(), 'relay-pg-'))
  await run('cp', ['-R', dataOf(await fresh.get(programs)), dataOf(folder)])
  setSmallServer(folder, more)
  return folder
}

async function makeData(programs) {
  const folder = mkdtempSync(join(tmpdir(), 'relay-pg-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await initializeServer(programs, folder)
  return folder
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const programs = installedPostgres('')[0] ?? newest()
  const more = Object.fromEntries(process.argv.slice(2).map((each) => each.split('=')))
  const folder = await makeServer(programs, { ...stock, ...more })
  await startServer(programs, folder)
  process.stdout.write(`${JSON.stringify({ host: folder, port: 5432, database: 'postgres', ...admin })}\n`)
  process.stdin.on('end', () => endServer(programs, folder)).resume()
}
