// `machine list`, `machine invite` and `machine join`: another machine gets its place in the cluster. The one line between them is a secret that works once.

import { X509Certificate } from 'node:crypto'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import { JoinUnsure, joinCluster, nameOfRole } from '../../../cluster/postgres/joining.ts'
import { inviteMachine } from '../../../cluster/postgres/machines.ts'
import { allowedTo, ClusterFile, type Membership, placeText } from '../../../machine/cluster-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import { type CliCommand, CommandError, type Context, exits, type NamedCommand } from '../../command.ts'
import { askSecret } from '../../secret.ts'
import { oneLine } from '../../text.ts'
import { allow } from './allow.ts'
import { clusterStatus, machineText } from './machine-text.ts'
import { revoke } from './revoke.ts'
import { adminOf, asAdmin, explained, membership } from './server.ts'

const invite: NamedCommand = {
  name: 'invite',
  args: '<name> [url]',
  text: 'print one line with which another machine joins, once and within ten minutes',
  examples: [
    'agent-relay machine invite ci-box',
    'agent-relay machine invite ci-box postgres://admin@db.example:5432/relay',
  ],
  isNobody: true,
  run: runInvite,
}

const join: NamedCommand = {
  name: 'join',
  text: 'take the place that this machine was invited to: asks for the line, or reads it from stdin',
  examples: ['agent-relay machine join', 'agent-relay machine join < invitation'],
  isNobody: true,
  run: runJoin,
}

const list: NamedCommand = {
  name: 'list',
  text: 'the machines of the cluster, with their versions, when each was last seen, and which were removed',
  isDefault: true,
  examples: ['agent-relay machine list', 'agent-relay machine list --json'],
  isNobody: true,
  run: runList,
}

export const machine: CliCommand = { commands: [list, invite, join, allow, revoke] }

async function runList({ env, print }: Context): Promise<void> {
  const place = membership(dataDir(env))
  const found = await clusterStatus(place)
  const machines = found.machines.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (print.isJson)
    return void (await print.json({
      machines: machines.map((each) => ({ ...each, may: allowedTo(place, each) })),
    }))
  const mayText = (each: (typeof machines)[number]) => {
    const may = allowedTo(place, each)
    return may.length === 0 ? '' : `, may ${may.join(', ')} here`
  }
  await print.table(
    [{ head: 'NAME' }, { head: '', mayShrink: true }],
    machines.map((each) => [each.name, `${machineText(each, place.machine)}${mayText(each)}`].map(oneLine)),
  )
}

/** The line goes to stdout alone. */
async function runInvite(context: Context): Promise<void> {
  const { args, print } = context
  const name = args[0] as string
  const server = adminOf(context, 'machine invite')
  const invitation = await asAdmin(context, server, (client) => inviteMachine(client, name))
  const line = lineOf({ ...server, ...invitation })
  if (print.isJson) return void (await print.json({ machine: name, invitation: line }))
  await print.line(line)
  print.say(`This lets one machine in as ${name}, once, within ten minutes: who has the line has the place.`)
  print.say('Over there: agent-relay machine join, and paste the line when it asks.')
}

async function runJoin({ env, print }: Context): Promise<void> {
  const file = new ClusterFile(new DataDirectory(dataDir(env)).path)
  const kept = file.read()
  const invitation = invitationOf(await askSecret('The line that `machine invite` has printed', 'An invitation'))
  const { user, password, ...where } = invitation
  if (kept && !isSamePlace(kept, invitation))
    throw new CommandError(
      `This machine belongs to the cluster at ${placeText(kept)} already, as ${kept.machine}. It can be let in again there under that name. ` +
        `To join as another one, use another data directory (RELAY_DATA_DIR), or remove ${file.path}`,
      exits.config,
    )
  try {
    const joined = await joinCluster(invitation)
    const { admin, allows } = kept ?? {}
    const own = { user: joined.user, password: joined.password as string, machine: joined.machine }
    file.write({ ...where, ...own, ...(admin === undefined ? {} : { admin }), ...(allows ? { allows } : {}) })
    const answer = { cluster: placeText(where), machine: joined.machine }
    if (print.isJson) return void (await print.json(answer))
    await print.line(`This machine is ${answer.machine} in the cluster at ${answer.cluster}.`)
    if (kept) print.say('A daemon that runs here takes that up when it starts again: agent-relay daemon restart')
    print.say('Its workspaces: agent-relay workspace list. To use one here: agent-relay workspace open NAME')
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string }
    if (error instanceof JoinUnsure)
      throw new CommandError(
        `Whether this machine has joined is not known: the server did not answer the last question (${message}), and its password is lost with ` +
          'that. Try the same line again; if it is refused, have the machine let in again: agent-relay machine revoke NAME, agent-relay machine invite NAME',
        exits.notRunning,
      )
    if (ofOtherVersion.has(code))
      throw new CommandError(
        'This invitation was made by another version of Agent Relay. Ask for one of this version: agent-relay machine invite NAME',
        exits.denied,
      )
    if (code === '28P01' || /invitation/.test(message))
      throw new CommandError(
        'This invitation was used before, has been replaced by a newer one, or is older than ten minutes. Ask for another: agent-relay machine invite NAME',
        exits.denied,
      )
    throw explained(error, invitation)
  }
}

/** What an invitation may execute now is not there, or not for it. */
const ofOtherVersion = new Set(['42501', '42883'])

/** A machine that was removed is let in again: what it has stored names it, so under its own name alone. */
function isSamePlace(kept: Membership, invitation: Invitation): boolean {
  return placeText(kept) === placeText(invitation) && nameOfRole(invitation.user) === kept.machine
}

type Invitation = Pick<Membership, 'host' | 'port' | 'database' | 'user' | 'password' | 'ca'>

/** The secret stands behind the `#`, which no proxy or log is sent. */
export function lineOf({ host, port, database, user, password, ca }: Invitation): string {
  const certificates = certificatesIn(ca).map((each) => `ca=${new X509Certificate(each).raw.toString('base64url')}`)
  const socket = host.startsWith('/') ? [`host=${encodeURIComponent(host)}`] : []
  const query = [...socket, ...certificates].join('&')
  const at = host.startsWith('/') ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `relay://${at}:${port}/${encodeURIComponent(database)}${query && `?${query}`}#${encodeURIComponent(user)}.${password}`
}

export function invitationOf(line: string): Invitation {
  const [, at = '', port, database = '', query = '', user = '', password = ''] =
    /^relay:\/\/(\[[^\]]+\]|[^:/?#]+):(\d+)\/([^?#]+)(?:\?([^#]*))?#(\S+)\.([\w-]+)$/.exec(line.trim()) ?? []
  if (password === '')
    throw new CommandError('This is no invitation. It is one line that begins: relay://', exits.usage)
  const more = new URLSearchParams(query)
  const ca = more.getAll('ca').map((raw) => new X509Certificate(Buffer.from(raw, 'base64url')).toString())
  const host = more.get('host') ?? at.replace(/^\[(.*)\]$/, '$1')
  return {
    host,
    port: Number(port),
    database: decodeURIComponent(database),
    user: decodeURIComponent(user),
    password,
    ...(ca.length === 0 ? {} : { ca: ca.join('') }),
  }
}

/** A file may hold several, as while one takes the place of another. */
function certificatesIn(text = ''): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}
