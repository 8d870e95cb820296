// `cluster init`: creates a cluster (the database of shared workspaces) in a PostgreSQL or migrates an existing one, and registers this machine in it.

import { hostname } from 'node:os'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import type { ServerAddress } from '../../../cluster/postgres/connection.ts'
import { joinCluster } from '../../../cluster/postgres/joining.ts'
import { inviteMachine } from '../../../cluster/postgres/machines.ts'
import { migrate } from '../../../cluster/postgres/schema.ts'
import { writeGuaranteeText } from '../../../cluster/postgres/status.ts'
import { ClusterFile, type ClusterMembership, clusterAddressText } from '../../../machine/cluster-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import {
  type CliOption,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
} from '../../command.ts'
import { clusterStatus } from './machine-text.ts'
import { clusterError, parseServerUrl, readCertificate, warnOfOutdatedRoles, withAdmin } from './server.ts'

export const certificateOption = {
  flags: '--ca <file>',
  text: 'the certificate that has issued the server’s, if this machine does not trust it',
} satisfies CliOption

const initOptions = {
  name: { flags: '--name <machine>', text: 'what this machine is called there (else its host name)' },
  ca: certificateOption,
} satisfies CliOptions

export const init: NamedCommand<typeof initOptions> = {
  name: 'init',
  args: '[url]',
  text: 'create a cluster in a PostgreSQL, with this machine in it; if the cluster exists, bring it up to date',
  options: initOptions,
  examples: [
    'agent-relay cluster init postgres://admin@db.example:5432/relay',
    'agent-relay cluster init postgres://postgres@/relay?host=/var/run/postgresql --name laptop',
    'PGPASSWORD=… PGHOST=db.example PGUSER=admin PGDATABASE=relay agent-relay cluster init',
  ],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof initOptions>): Promise<void> {
  const { args, options, env, print } = context
  const file = new ClusterFile(new DataDirectory(dataDir(env)).path)
  const kept = file.read()
  const authority = readCertificate(options.ca) ?? kept?.ca
  const own = kept?.admin === undefined ? undefined : { ...kept, host: kept.adminHost ?? kept.host, user: kept.admin }
  const asked = args[0] === undefined && !env.PGHOST ? own : undefined
  const { host, port, database, user } = asked ?? parseServerUrl(args[0], env)
  const server = { host, port, database, user, ...(authority === undefined ? {} : { ca: authority }) }
  const isSame = kept && [kept, own ?? kept].some((each) => clusterAddressText(each) === clusterAddressText(server))
  if (kept && !isSame)
    throw new CommandError(
      `This machine belongs to the cluster at ${clusterAddressText(kept)} already, as ${kept.machine}. One data directory has one cluster: ` +
        'use another (RELAY_DATA_DIR), or take your workspaces back (agent-relay workspace unshare NAME) and remove ' +
        file.path,
      exitCodes.config,
    )
  const taken = await setUpCluster(context, server, options.name)
  const place = kept && options.ca !== undefined ? { ...kept, ca: server.ca } : taken
  if (place !== taken) file.write(place)
  const status = await clusterStatus(place)
  const promise = writeGuaranteeText(status)
  if (print.isJson)
    return void (await print.json({ cluster: clusterAddressText(place), machine: place.machine, promise, ...status }))
  await print.line(
    kept
      ? `The cluster at ${clusterAddressText(place)} is up to date. This machine is ${place.machine}.`
      : `The cluster is at ${clusterAddressText(place)}, and this machine is ${place.machine} there.`,
  )
  print.say(promise)
  print.say(
    'Share a workspace: agent-relay workspace share NAME. Invite another machine: agent-relay machine invite NAME',
  )
}

/** Creates the cluster on the server or migrates it, and registers this machine, unless it is registered. */
export async function setUpCluster(
  context: Pick<CommandContext, 'env' | 'print'>,
  server: Omit<ServerAddress, 'password'>,
  name?: string,
): Promise<ClusterMembership> {
  const file = new ClusterFile(new DataDirectory(dataDir(context.env)).path)
  const kept = file.read()
  const invitation = await withAdmin(context, server, async (client) => {
    warnOfOutdatedRoles(context, await migrate(client))
    if (kept) return undefined
    const { rows } = await client.query("SELECT current_setting('listen_addresses') AS listens")
    return {
      login: await inviteMachine(client, name ?? defaultMachineName()),
      listensHere: isLoopbackAmong(rows[0].listens),
    }
  })
  if (kept || !invitation) return kept as ClusterMembership
  return joinWithInvitation(file, server, invitation.login, invitation.listensHere)
}

/** Whether the server listens on the loopback address, by its setting `listen_addresses`. If not, another program may have the port there. */
function isLoopbackAmong(listens: string): boolean {
  return /(?:^|[\s,])(?:\*|0\.0\.0\.0|localhost|127\.0\.0\.1)(?:$|[\s,])/.test(listens)
}

async function joinWithInvitation(
  file: ClusterFile,
  server: Omit<ServerAddress, 'password'>,
  invitation: { user: string; password: string },
  listensHere: boolean,
): Promise<ClusterMembership> {
  const { user: admin, ...where } = server
  for (const host of [where.host, ...(where.host.startsWith('/') && listensHere ? ['127.0.0.1'] : [])]) {
    try {
      const { user, password, machine } = await joinCluster({ ...where, host, ...invitation })
      const adminHost = host === where.host ? {} : { adminHost: where.host }
      const place = { ...where, host, user, password: password as string, machine, admin, ...adminHost }
      file.write(place)
      return place
    } catch (error) {
      // If the server accepts only logins of local users on its Unix socket, the loopback address is tried next.
      const isPeer = host.startsWith('/') && (error as { code?: string }).code === '28000'
      if (isPeer && listensHere) continue
      throw clusterError(error, { ...where, host, user: invitation.user })
    }
  }
  throw new Error('the server cannot be reached')
}

/** Returns the computer's host name, reduced to the characters and the length that a machine's name may have. */
export function defaultMachineName(): string {
  const [first = ''] = hostname().split('.')
  return (
    first
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 40) || 'machine'
  )
}
