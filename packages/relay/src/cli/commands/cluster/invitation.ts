// An invitation as one line: the server's address and certificates, and the secret with which one machine joins, once.

import { X509Certificate } from 'node:crypto'
import { credentialsPath } from '@agent-relay/sdk/internal/discover'
import { certificatesIn, type ServerAddress } from '../../../cluster/postgres/connection.ts'
import { inviteMachine } from '../../../cluster/postgres/machines.ts'
import type { Membership } from '../../../machine/cluster-file.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { CommandError, type Context, exits } from '../../command.ts'
import { knownWorkspace, reachControl } from '../../control-socket.ts'
import { oneLine } from '../../text.ts'
import { reachFromElsewhere } from './reach.ts'
import { asAdmin } from './server.ts'

type Place = Pick<Membership, 'host' | 'port' | 'database' | 'user' | 'password' | 'ca' | 'certificateName'>

export interface InviteOptions {
  /** The workspace that the other machine opens when it joins, and whose key it is offered. */
  workspace?: string
  /** The name or address of this machine, as the other one reaches it. */
  at?: string
}

export const at = { flags: '--at <host>', text: 'the name or address under which the other machine reaches this one' }

/** Invites a machine and prints the invitation, alone on stdout. Fails with the lines to change where no other machine could reach the server. */
export async function invite(
  context: Context,
  server: ServerAddress,
  name: string,
  wish: InviteOptions,
): Promise<void> {
  const { print } = context
  const parcel = wish.workspace === undefined ? undefined : await parcelFor(context, wish.workspace)
  const made = await asAdmin(context, server, async (client) => {
    const invitation = await inviteMachine(client, name, { parcel })
    return { invitation, reach: await reachFromElsewhere(client, { ...server, ...invitation }, wish.at) }
  })
  if (made.reach.lines) {
    const more = `${wish.workspace === undefined ? '' : ` --workspace ${wish.workspace}`}${wish.at === undefined ? '' : ` --at ${wish.at}`}`
    const text = [...made.reach.lines, `Then: agent-relay machine invite ${name}${more}`].map(oneLineKept).join('\n')
    throw new CommandError(text, exits.config)
  }
  const line = lineOf({ ...made.reach.address, ...made.invitation })
  if (print.isJson) return void (await print.json({ machine: name, workspace: wish.workspace, invitation: line }))
  await print.line(line)
  print.say(`This lets one machine in as ${name}, once, within ten minutes: who has the line has the place.`)
  print.say('Over there: agent-relay machine join, and paste the line when it asks.')
}

/** `oneLine`, except that the indent stays. */
function oneLineKept(text: string): string {
  return `${/^ */.exec(text)?.[0]}${oneLine(text.trimStart())}`
}

/** The workspace, its id and its key from the owner's credentials file; undefined if the key is not on this machine. */
async function parcelFor({ env, print }: Context, workspace: string) {
  const link = await reachControl(env)
  const known = link && (await knownWorkspace(link, workspace).finally(() => link.close()))
  if (known && !known.shared)
    throw new CommandError(
      `Workspace ${workspace} lives on this machine alone. To share it: agent-relay workspace share ${workspace} --invite NAME`,
      exits.refused,
    )
  const file = new CredentialsFile(credentialsPath(env))
  const key = known?.id === undefined ? undefined : file.keyOf(known.id)
  if (known?.id !== undefined && key !== undefined) return { workspace, id: known.id, key }
  print.say(
    `The key of ${workspace} is not on this machine, so the invitation does not bring it: agent-relay workspace key ${workspace} --keep`,
  )
  return undefined
}

/** The invitation as a URL. Its secret stands behind the `#`, which no proxy or log is sent. */
export function lineOf({ host, port, database, user, password, ca, certificateName }: Place): string {
  const certificates = certificatesIn(ca).map((each) => `ca=${new X509Certificate(each).raw.toString('base64url')}`)
  const socket = host.startsWith('/') ? [`host=${encodeURIComponent(host)}`] : []
  const name = certificateName === undefined ? [] : [`name=${encodeURIComponent(certificateName)}`]
  const query = [...socket, ...certificates, ...name].join('&')
  const place = host.startsWith('/') ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `relay://${place}:${port}/${encodeURIComponent(database)}${query && `?${query}`}#${encodeURIComponent(user)}.${password}`
}

export function invitationOf(line: string): Place {
  try {
    return placeIn(line.trim())
  } catch {
    throw new CommandError('This is no invitation. It is one line that begins: relay://', exits.usage)
  }
}

/** Throws if any part of the line is damaged. */
function placeIn(line: string): Place {
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
