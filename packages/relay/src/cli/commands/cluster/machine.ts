// `machine list`, `machine invite` and `machine join`: another machine joins the cluster with an invitation, which is one line with a secret that works once.

import { realpathSync } from 'node:fs'
import { credentialsPath, dataDir } from '@agent-relay/sdk/internal/discover'
import { JoinOutcomeUnknown, joinCluster, machineOfRole } from '../../../cluster/postgres/joining.ts'
import {
  ClusterFile,
  type ClusterMembership,
  clusterAddressText,
  requestsAllowedTo,
} from '../../../machine/cluster-file.ts'
import { CredentialsFile } from '../../../machine/credentials-file.ts'
import { DataDirectory } from '../../../machine/data-directory.ts'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type NamedCommand,
} from '../../command.ts'
import { nextCommandId } from '../../control-socket.ts'
import { requirePerson } from '../../person.ts'
import { readSecret } from '../../secret.ts'
import { oneLine } from '../../text.ts'
import { httpArguments, requestedHttpPort } from '../daemon/http.ts'
import { reachOrSpawnDaemon } from '../daemon/starting.ts'
import { allow } from './allow.ts'
import { hostOption, printInvitation as inviteAs, parseInvitation } from './invitation.ts'
import { clusterStatus, machineText } from './machine-text.ts'
import { revoke } from './revoke.ts'
import { adminAddress, clusterError, requireMembership } from './server.ts'

const inviteOptions = {
  workspace: {
    flags: '--workspace <name>',
    text: 'the workspace that the machine opens when it joins; the line contains its key',
  },
  at: hostOption,
} satisfies CliOptions

const invite: NamedCommand<typeof inviteOptions> = {
  name: 'invite',
  args: '<name> [url]',
  text: 'print one line with which another machine joins, once and within ten minutes',
  options: inviteOptions,
  examples: [
    'agent-relay machine invite ci-box --workspace frontend',
    'agent-relay machine invite ci-box --at laptop.local',
    'agent-relay machine invite ci-box postgres://admin@db.example:5432/relay',
  ],
  actsForNoAgent: true,
  run: runInvite,
}

const joinOptions = {
  yes: { flags: '--yes', text: 'keep the key of the workspace, without a question' },
} satisfies CliOptions

const join: NamedCommand<typeof joinOptions> = {
  name: 'join',
  text: 'join a cluster by an invitation, and open its workspace: asks for the line, or reads it from stdin',
  options: joinOptions,
  examples: ['agent-relay machine join', 'agent-relay machine join --yes < invitation'],
  actsForNoAgent: true,
  run: runJoin,
}

const list: NamedCommand = {
  name: 'list',
  text: 'the machines of the cluster, with their versions, when each was last seen, and which were removed',
  isDefault: true,
  examples: ['agent-relay machine list', 'agent-relay machine list --json'],
  actsForNoAgent: true,
  run: runList,
}

export const machine: CliCommand = { commands: [list, invite, join, allow, revoke] }

async function runList({ env, print }: CommandContext): Promise<void> {
  const place = requireMembership(dataDir(env))
  const found = await clusterStatus(place)
  const machines = found.machines.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (print.isJson)
    return void (await print.json({
      machines: machines.map((each) => ({ ...each, may: requestsAllowedTo(place, each) })),
    }))
  const mayText = (each: (typeof machines)[number]) => {
    const may = requestsAllowedTo(place, each)
    return may.length === 0 ? '' : `, may ${may.join(', ')} here`
  }
  await print.table(
    [{ head: 'NAME' }, { head: '', mayShrink: true }],
    machines.map((each) => [each.name, `${machineText(each, place.machine)}${mayText(each)}`].map(oneLine)),
  )
}

async function runInvite(context: CommandContext<typeof inviteOptions>): Promise<void> {
  const { args, options, env } = context
  // With a workspace, the invitation contains its key, so only a person may create it.
  if (options.workspace !== undefined) await requirePerson(env)
  await inviteAs(context, adminAddress(context, 'machine invite'), args[0] as string, options)
}

async function runJoin(context: CommandContext<typeof joinOptions>): Promise<void> {
  const { env, print } = context
  const file = new ClusterFile(new DataDirectory(dataDir(env)).path)
  const kept = file.read()
  const invitation = parseInvitation(await readSecret('The line that `machine invite` has printed', 'An invitation'))
  const { user, password, ...where } = invitation
  if (kept && !isSamePlace(kept, invitation))
    throw new CommandError(
      `This machine belongs to the cluster at ${clusterAddressText(kept)} already, as ${kept.machine}. It can join again under that name. ` +
        `To join as another one, use another data directory (RELAY_DATA_DIR), or remove ${file.path}`,
      exitCodes.config,
    )
  try {
    const joined = await joinCluster(invitation)
    const { admin, adminHost, allows } = kept ?? {}
    const owner = { ...(admin ? { admin } : {}), ...(adminHost ? { adminHost } : {}) }
    const own = { user: joined.user, password: joined.password as string, machine: joined.machine }
    file.write({ ...where, ...own, ...owner, ...(allows ? { allows } : {}) })
    const answer = { cluster: clusterAddressText(where), machine: joined.machine }
    if (!print.isJson) await print.line(`This machine is ${answer.machine} in the cluster at ${answer.cluster}.`)
    if (kept) print.say('A running daemon joins at its next start: agent-relay daemon restart')
    const opened = joined.parcel && !kept ? await openInvitedWorkspace(context, joined.parcel) : undefined
    if (print.isJson) return void (await print.json({ ...answer, ...opened }))
    if (!opened)
      print.say('Its workspaces: agent-relay workspace list. To use one here: agent-relay workspace open NAME')
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string }
    if (error instanceof JoinOutcomeUnknown)
      throw new CommandError(
        `Whether this machine has joined is not known: the server did not answer the last question (${message}), and its password is lost with ` +
          'that. Try the same line again; if it is refused, invite the machine again: agent-relay machine revoke NAME, agent-relay machine invite NAME',
        exitCodes.notRunning,
      )
    if (otherVersionCodes.has(code))
      throw new CommandError(
        'This invitation was made by another version of Agent Relay. Ask for one of this version: agent-relay machine invite NAME',
        exitCodes.denied,
      )
    if (code === '28P01' || /invitation/.test(message))
      throw new CommandError(
        'This invitation was used before, has been replaced by a newer one, or is older than ten minutes. Ask for another: agent-relay machine invite NAME',
        exitCodes.denied,
      )
    throw clusterError(error, invitation)
  }
}

/** Opens the workspace that the invitation names, and starts a daemon if none runs. Stores the workspace's key if the person agrees. */
async function openInvitedWorkspace(
  { env, print, options }: CommandContext<typeof joinOptions>,
  { workspace, id, key }: NonNullable<Awaited<ReturnType<typeof joinCluster>>['parcel']>,
) {
  const isKept = await askToKeepKey(workspace, options.yes)
  const wish = requestedHttpPort({}, env, {})
  const { link } = await reachOrSpawnDaemon(env, httpArguments(wish), (text) => print.say(text))
  try {
    await print.during(
      `opening ${workspace}`,
      link.call('workspace.open', { workspace, mustExist: true }, nextCommandId('c')),
    )
  } finally {
    await link.close()
  }
  // The key is stored after the workspace was opened: a stored key of a workspace without files would mean that the files were lost.
  if (isKept)
    new CredentialsFile(credentialsPath(env)).put(id, { name: workspace, key, dataDir: realpathSync(dataDir(env)) })
  print.say(`Workspace ${workspace} is open here: agent-relay who --project ${workspace}`)
  if (!isKept) print.say(`To act there as a person: agent-relay workspace key ${workspace} --keep`)
  return { workspace, isKeyKept: isKept }
}

/** Asks the person whether to store the key, with which they act in the workspace as a person. Without a terminal, the key is stored only with `--yes`. */
async function askToKeepKey(workspace: string, isYes = false): Promise<boolean> {
  if (isYes || !process.stdin.isTTY) return isYes
  const prompts = await import('@clack/prompts')
  const message = `Keep the key of ${workspace} on this machine too? With it you act there as a person, and answer what agents ask.`
  return (await prompts.confirm({ message, initialValue: true })) === true
}

/** PostgreSQL's error codes for a function that is missing or that the invitation may not execute: the cluster or the invitation is of another version. */
const otherVersionCodes = new Set(['42501', '42883'])

/**
 * Whether the invitation is for this machine's present cluster and name. Only that name lets a removed machine come back, since its stored entries carry it.
 */
function isSamePlace(kept: ClusterMembership, invitation: ReturnType<typeof parseInvitation>): boolean {
  return clusterAddressText(kept) === clusterAddressText(invitation) && machineOfRole(invitation.user) === kept.machine
}
