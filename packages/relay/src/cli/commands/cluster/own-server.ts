// Finds the PostgreSQL of this machine for a person who shares a workspace without having a cluster. A server at the usual places is used if the person may
// create roles and databases in it; otherwise the command that permits this is printed.

import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type Env, programFolders, readForeignText } from '@agent-relay/sdk/internal/discover'
import { type Client, type ServerAddress, withClient } from '../../../cluster/postgres/connection.ts'
import { clusterAddressText } from '../../../machine/cluster-file.ts'
import { CommandError, exitCodes } from '../../command.ts'

const socketFolders = ['/var/run/postgresql', '/tmp']
const socketName = /^\.s\.PGSQL\.(\d+)$/
const portDefault = 5432
/** A database that exists in every PostgreSQL, for the first connection. */
const maintenanceDatabase = 'postgres'
const database = 'relay'

/** Returns the address of a local server and its database for the cluster, which is created if necessary. */
export async function findLocalPostgres(env: Env, again: string): Promise<Omit<ServerAddress, 'password'>> {
  const user = env.PGUSER || userInfo().username
  let closed: ServerAddress | undefined
  for (const place of candidateAddresses(env)) {
    const address = { ...place, database: maintenanceDatabase, user, password: env.PGPASSWORD }
    const found = await withClient(address, makeDatabase).catch((error: { code?: string; message: string }) => {
      if (isNobodyThere(error)) return undefined
      closed ??= address
      return undefined
    })
    if (found) return { ...place, database, user }
    if (found === false) closed ??= address
  }
  throw new CommandError(closed ? closedText(closed, again) : noPostgresText(env, again), exitCodes.config)
}

/**
 * Returns the server that the variable PGHOST names, otherwise those on Unix sockets. TCP ports are not tried: any local user's program may listen there, and
 * would be sent the whole workspace.
 */
function candidateAddresses(env: Env): Pick<ServerAddress, 'host' | 'port'>[] {
  if (env.PGHOST) return [{ host: env.PGHOST, port: Number(env.PGPORT || portDefault) }]
  return socketFolders.flatMap((folder) => postgresPortsIn(folder).map((port) => ({ host: folder, port })))
}

/**
 * Returns the ports of the PostgreSQL sockets in a folder. Only sockets of this person, root or the account `postgres` count, since every user may create files
 * in /tmp.
 */
export function postgresPortsIn(folder: string, owners = [process.getuid?.(), 0, accountOf('postgres')]): number[] {
  try {
    return readdirSync(folder).flatMap((name) => {
      const [, port] = socketName.exec(name) ?? []
      return port !== undefined && owners.includes(lstatSync(join(folder, name)).uid) ? [Number(port)] : []
    })
  } catch {
    return []
  }
}

function accountOf(name: string): number | undefined {
  const text = readForeignText('/etc/passwd', { bytesMax: 1024 * 1024 }) ?? ''
  const [, uid] = new RegExp(`^${name}:[^:]*:(\\d+):`, 'm').exec(text) ?? []
  return uid === undefined ? undefined : Number(uid)
}

/** Creates the cluster's database unless it exists. Returns false if the person may not create roles and databases. */
async function makeDatabase(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    'SELECT rolsuper OR rolcreaterole AND rolcreatedb AS may FROM pg_roles WHERE rolname = current_user',
  )
  if (!rows[0]?.may) return false
  const known = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
  if (known.rowCount === 0) await client.query(`CREATE DATABASE ${database}`)
  return true
}

function isNobodyThere({ code = '' }: { code?: string }): boolean {
  return ['ECONNREFUSED', 'ENOENT', 'ENOTFOUND'].includes(code)
}

/** Returns the error text about a server that refuses the person's login, or lets them create nothing. */
function closedText(address: ServerAddress, again: string): string {
  const { user, host, port } = address
  const at = host.startsWith('/') && port !== portDefault ? ` --port ${port}` : ''
  return (
    `There is a PostgreSQL on this machine (${clusterAddressText({ ...address, database })}), but ${user} may not create roles and databases in it. This command permits it, and then continues:\n` +
    `  sudo -u postgres createuser${at} --createrole --createdb ${user} && ${again}\n` +
    `If that role exists already: sudo -u postgres psql${at} -c 'ALTER ROLE "${user}" CREATEROLE CREATEDB'`
  )
}

/** The commands that install PostgreSQL, by package manager. */
const installers: [string, (user: string) => string][] = [
  [
    'apt-get',
    (user) => `sudo apt-get install -y postgresql && sudo -u postgres createuser --createrole --createdb ${user}`,
  ],
  [
    'dnf',
    (user) =>
      `sudo dnf install -y postgresql-server && sudo postgresql-setup --initdb && sudo systemctl enable --now postgresql && sudo -u postgres createuser --createrole --createdb ${user}`,
  ],
  ['brew', () => 'brew install postgresql@17 && brew services start postgresql@17'],
]

function noPostgresText(env: Env, again: string): string {
  const folders = programFolders(env.PATH)
  const install = installers.find(([program]) => folders.some((folder) => existsSync(join(folder, program))))
  const elsewhere = 'To use one on another machine: agent-relay cluster init postgres://admin@db.example:5432/relay'
  if (!install)
    return `A shared workspace needs a PostgreSQL (15 or newer), and none answers on this machine. ${elsewhere}`
  return (
    'A shared workspace needs a PostgreSQL (15 or newer), and none answers on this machine. This command installs one, and then continues:\n' +
    `  ${install[1](userInfo().username)} && ${again}\n${elsewhere}`
  )
}
