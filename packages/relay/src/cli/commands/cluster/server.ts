// The administrator's access to a cluster's PostgreSQL: its address, its password (which is never an argument), and the text of a failed login.

import { userInfo } from 'node:os'
import { dataDir, type Env, readForeignText, UnsafeFileError } from '@agent-relay/sdk/internal/discover'
import { type Client, type ServerAddress, withClient } from '../../../cluster/postgres/connection.ts'
import { faultOf } from '../../../cluster/postgres/faults.ts'
import { ClusterFile, type ClusterMembership, clusterAddressText } from '../../../machine/cluster-file.ts'
import { type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { readSecret } from '../../secret.ts'

/**
 * Returns the address from a URL like `postgres://admin@db.example:5432/relay`. Missing parts come from the variables that all PostgreSQL programs read, such
 * as PGHOST.
 */
export function parseServerUrl(url: string | undefined, env: Env): ServerAddress {
  if (url === undefined && !env.PGHOST)
    throw new CommandError(
      'Where is the PostgreSQL? Name it: agent-relay cluster init postgres://admin@db.example:5432/relay',
      exitCodes.usage,
    )
  const parts = url === undefined ? {} : partsOf(url)
  return {
    host: parts.host || env.PGHOST || 'localhost',
    port: parts.port ?? Number(env.PGPORT || 5432),
    user: parts.user || env.PGUSER || userInfo().username,
    database: parts.database || env.PGDATABASE || parts.user || env.PGUSER || userInfo().username,
  }
}

/** The URL class of JavaScript is not used: a PostgreSQL URL may have no host, and name the folder of the server's socket instead. */
const urlPattern = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?(\[[^\]]+\]|[^:/?#]*)(?::(\d+))?(?:\/([^?#]*))?(?:\?([^#]*))?$/

function partsOf(url: string): Partial<ServerAddress> {
  const found = urlPattern.exec(url)
  if (!found || !isDecodable(url))
    throw new CommandError(
      'This is no address of a PostgreSQL. It looks like this: postgres://admin@db.example:5432/relay',
      exitCodes.usage,
    )
  const [, who = '', host = '', port, database = '', query = ''] = found
  const [user = '', password] = who.split(':')
  const more = new URLSearchParams(query)
  if (password !== undefined || more.has('password'))
    throw new CommandError(
      'A password in an argument can be read by everybody on this machine, and stays in the history of the shell. Leave it out: ' +
        'it is asked for, or read from stdin, PGPASSWORD or ~/.pgpass. The one that you have typed should be changed.',
      exitCodes.usage,
    )
  return {
    host: more.get('host') ?? decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1')),
    port: port === undefined ? undefined : Number(port),
    user: decodeURIComponent(user),
    database: decodeURIComponent(database),
  }
}

/** Whether every `%` in the text begins an encoded character. */
function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

/** Returns the content of a certificate file that the person has named. */
export function readCertificate(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    const text = readForeignText(path, { bytesMax: 64 * 1024, mayBeLink: true })
    if (text?.includes('-----BEGIN CERTIFICATE-----')) return text
  } catch (error) {
    if (!(error instanceof UnsafeFileError)) throw error
  }
  throw new CommandError(
    `${path} holds no certificate. Name a file that begins: -----BEGIN CERTIFICATE-----`,
    exitCodes.usage,
  )
}

/** Runs `work` with a connection of the database's administrator. Asks for the password only if the server wants one and the environment has none. */
export async function withAdmin<T>(
  { env }: Pick<CommandContext, 'env'>,
  address: ServerAddress,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const known = env.PGPASSWORD
  try {
    return await withClient({ ...address, password: known }, work)
  } catch (error) {
    if (known !== undefined || !wantsPassword(error)) throw clusterError(error, address)
  }
  const password = await readSecret(`Password of ${address.user} at ${clusterAddressText(address)}`, 'A password')
  try {
    return await withClient({ ...address, password }, work)
  } catch (error) {
    throw clusterError(error, address)
  }
}

/**
 * Returns the server's address with the administrator's login: from the command's second argument, otherwise from the stored membership. `command` is for the
 * error text.
 */
export function adminAddress({ args, env }: Pick<CommandContext, 'args' | 'env'>, command: string): ServerAddress {
  const place = requireMembership(dataDir(env))
  const named = args[1] === undefined ? undefined : parseServerUrl(args[1], env)
  const user = named?.user ?? place.admin ?? env.PGUSER
  if (user === undefined)
    throw new CommandError(
      `Who administers the database? Say it: agent-relay ${command} ${args[0]} postgres://admin@${clusterAddressText(place)}`,
      exitCodes.usage,
    )
  const { host, port, database, ca, certificateName } = { ...place, host: place.adminHost ?? place.host, ...named }
  const known = { ...(ca === undefined ? {} : { ca }), ...(certificateName === undefined ? {} : { certificateName }) }
  return { host, port, database, user, ...known }
}

/** Returns this machine's stored membership in its cluster. Throws if it has none. */
export function requireMembership(directory: string): ClusterMembership {
  const found = new ClusterFile(directory).read()
  if (found) return found
  throw new CommandError(
    'This machine belongs to no cluster. To make one: agent-relay cluster init postgres://admin@db.example:5432/relay. ' +
      'To join one that is there: agent-relay machine join',
    exitCodes.config,
  )
}

interface Failed {
  code?: string
  message: string
}

function wantsPassword(error: unknown): boolean {
  const { code, message } = error as Failed
  return code === '28P01' || (code === undefined && /password must be a string/.test(message))
}

/** Prints which machines' roles a migration could not update, since another administrator has created them. */
export function warnOfOutdatedRoles({ print }: Pick<CommandContext, 'print'>, machines: readonly string[]): void {
  if (machines.length > 0)
    print.say(
      `Another administrator has made the roles of ${machines.join(', ')}. They keep the limits of an older version until that one runs: agent-relay cluster init`,
    )
}

export function clusterError(error: unknown, address: ServerAddress): Error {
  if (error instanceof CommandError) return error
  return new CommandError(`${clusterAddressText(address)}: ${faultOf(error, address).text}`, exitCodes.notRunning)
}
