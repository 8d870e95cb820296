// An invitation into a cluster as one line: the server's address and certificates, and a secret with which one machine can join, once.

import { X509Certificate } from 'node:crypto'
import { credentialsPath } from '@agent-relay/sdk/internal/discover'
import { type ServerAddress, splitCertificates } from '../../../cluster/postgres/connection.ts'
import { inviteMachine } from '../../../cluster/postgres/machines.ts'
import type { ClusterMembership } from '../../../machine/cluster-file.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { type CliOption, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { findListedWorkspace, tryWithControl } from '../../control-socket.ts'
import { oneLine } from '../../text.ts'
import { checkReachable } from './reach.ts'
import { withAdmin } from './server.ts'

type InvitationAddress = Pick<
  ClusterMembership,
  'host' | 'port' | 'database' | 'user' | 'password' | 'ca' | 'certificateName'
>

export interface InviteOptions {
  /** A shared workspace that the invited machine opens when it joins. The invitation contains its key. */
  workspace?: string
  /** The name or address under which the invited machine reaches this one. */
  at?: string
}

export const hostOption = {
  flags: '--at <host>',
  text: 'the name or address under which the other machine reaches this one',
} satisfies CliOption

/**
 * Creates an invitation and prints it, alone on stdout. If other machines cannot reach the server, it throws with the lines of the server's configuration to
 * change.
 */
export async function printInvitation(
  context: CommandContext,
  server: ServerAddress,
  name: string,
  wish: InviteOptions,
): Promise<void> {
  const { print } = context
  const parcel = wish.workspace === undefined ? undefined : await parcelFor(context, wish.workspace)
  const made = await withAdmin(context, server, async (client) => {
    const invitation = await inviteMachine(client, name, { parcel })
    return { invitation, reach: await checkReachable(client, { ...server, ...invitation }, wish.at) }
  })
  if (made.reach.lines) {
    const more = `${wish.workspace === undefined ? '' : ` --workspace ${wish.workspace}`}${wish.at === undefined ? '' : ` --at ${wish.at}`}`
    const text = [...made.reach.lines, `Then: agent-relay machine invite ${name}${more}`]
      .map(oneLineIndented)
      .join('\n')
    throw new CommandError(text, exitCodes.config)
  }
  const line = invitationLine({ ...made.reach.address, ...made.invitation })
  if (print.isJson) return void (await print.json({ machine: name, workspace: wish.workspace, invitation: line }))
  await print.line(line)
  print.say(
    `With this line one machine joins as ${name}, once, within ten minutes. Keep it secret: whoever has it can join.`,
  )
  print.say('On the other machine: agent-relay machine join, and paste the line when it asks.')
}

/** Puts a text on one line as `oneLine` does, but keeps its indent. */
function oneLineIndented(text: string): string {
  return `${/^ */.exec(text)?.[0]}${oneLine(text.trimStart())}`
}

/** Returns a shared workspace's name, id and key, which the invitation contains; undefined if this machine does not have the key. */
async function parcelFor({ env, print }: CommandContext, workspace: string) {
  const known = await tryWithControl(env, (link) => findListedWorkspace(link, workspace))
  if (known && !known.shared)
    throw new CommandError(
      `Workspace ${workspace} lives on this machine alone. To share it: agent-relay workspace share ${workspace} --invite NAME`,
      exitCodes.refused,
    )
  const file = new CredentialsFile(credentialsPath(env))
  const key = known?.id === undefined ? undefined : file.keyOf(known.id)
  if (known?.id !== undefined && key !== undefined) return { workspace, id: known.id, key }
  print.say(
    `The key of ${workspace} is not on this machine, so the invitation does not bring it: agent-relay workspace key ${workspace} --keep`,
  )
  return undefined
}

/** Returns the invitation as a URL. The secret is in the part after `#`, which programs send to no server. */
export function invitationLine({
  host,
  port,
  database,
  user,
  password,
  ca,
  certificateName,
}: InvitationAddress): string {
  const certificates = splitCertificates(ca).map((each) => `ca=${new X509Certificate(each).raw.toString('base64url')}`)
  const socket = host.startsWith('/') ? [`host=${encodeURIComponent(host)}`] : []
  const name = certificateName === undefined ? [] : [`name=${encodeURIComponent(certificateName)}`]
  const query = [...socket, ...certificates, ...name].join('&')
  const place = host.startsWith('/') ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `relay://${place}:${port}/${encodeURIComponent(database)}${query && `?${query}`}#${encodeURIComponent(user)}.${password}`
}

export function parseInvitation(line: string): InvitationAddress {
  try {
    return parseLine(line.trim())
  } catch {
    throw new CommandError('This is no invitation. It is one line that begins: relay://', exitCodes.usage)
  }
}

/** Throws if any part of the line is damaged. */
function parseLine(line: string): InvitationAddress {
  const [, place = '', port, database = '', query = '', user = '', password] =
    /^relay:\/\/(\[[^\]]+\]|[^:/?#]+):(\d+)\/([^?#]+)(?:\?([^#]*))?#(\S+)\.([\w-]+)$/.exec(line) ?? []
  if (password === undefined) throw new Error('it does not look like one')
  const more = new URLSearchParams(query)
  const certificateName = more.get('name')
  const ca = more.getAll('ca').map((raw) => new X509Certificate(Buffer.from(raw, 'base64url')).toString())
  const host = more.get('host') ?? place.replace(/^\[(.*)\]$/, '$1')
  return {
    host,
    port: Number(port),
    database: decodeURIComponent(database),
    user: decodeURIComponent(user),
    password,
    ...(ca.length === 0 ? {} : { ca: ca.join('') }),
    ...(certificateName === null ? {} : { certificateName }),
  }
}
