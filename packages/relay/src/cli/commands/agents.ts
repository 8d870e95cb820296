// `who` and `agents`: list the agents of a workspace and what each is doing. `agents revoke` makes an agent's tokens invalid; `agents retire` removes an agent
// that is away from all lists. Both need the workspace's key.

import type { RelayClient } from '@agent-relay/sdk'
import { agentState } from '@agent-relay/sdk/internal/agent-state'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import { spendText } from '@agent-relay/sdk/internal/spend-text'
import { lastHeardText } from '@agent-relay/sdk/internal/unreachable-text'
import type { Agent, OutputOf } from '@agent-relay/sdk/protocol'
import { httpPortDefault, usualPort } from '../../machine/http-port.ts'
import type { CliCommand, CliOptions, CommandContext, NamedCommand } from '../command.ts'
import { withClient } from '../connection.ts'
import { listWorkspaces, withControl } from '../control-socket.ts'
import { hereOption, needsElsewhereText, otherWorkspaces, showsAllWorkspaces } from '../everywhere.ts'
import type { Printer } from '../print.ts'
import { ageText, oneLine } from '../text.ts'

const whoOptions = {
  all: { flags: '--all', text: 'include those that are away' },
  here: hereOption,
  everywhere: { flags: '--everywhere', text: 'of every workspace that is open, each agent with its address' },
} satisfies CliOptions

export const who: CliCommand<typeof whoOptions> = {
  options: whoOptions,
  examples: [
    'agent-relay who',
    'agent-relay who --here',
    'agent-relay who --everywhere',
    'agent-relay who --all --json',
  ],
  run,
}

async function run(context: CommandContext<typeof whoOptions>): Promise<void> {
  const { options, print } = context
  await withClient(context, 'anyone', async ({ client, welcome }) => {
    const found = options.everywhere ? await everywhere(context, client) : await agentsOf(context, client)
    const { agents, abroad = [] } = found
    const shown = options.all ? agents : agents.filter(isThere)
    if (print.isJson) return void (await print.json({ ...found, agents: shown }))
    const isAll = !options.everywhere && showsAllWorkspaces(context)
    const others = isAll ? await otherWorkspaces(context, welcome.workspace) : []
    const abroadLists = await connectedIn(context, client, others)
    const own = abroadLists.length > 0 && shown.length > 0 ? [{ workspace: welcome.workspace, agents: shown }] : []
    if (abroadLists.length > 0) await printAgents(print, [...own, ...abroadLists])
    else if (shown.length > 0) await printAgents(print, [{ agents: shown }])
    await sayPort(context, client)
    const away = agents.length - shown.length
    reportFailedAgents(print, shown)
    const place = abroadLists.length > 0 ? ` in ${welcome.workspace}` : ''
    const nobody = shown.length === 0 ? `Nobody is connected${place}. ` : ''
    // Workspaces that are closed for lack of use are not asked which agents are away, so the text gives no number.
    if (options.everywhere && !options.all) print.say(`${nobody}Those who are away: agent-relay who --everywhere --all`)
    else if (agents.length === 0)
      print.say(`Nobody has registered${place} yet. An agent does so by its first call: agent-relay inbox --as Bob`)
    else if (away > 0) print.say(`${nobody}${away} away: agent-relay who --all`)
    if (abroad.length > 0 && abroadLists.length === 0)
      print.say(`In other workspaces: ${abroad.join(', ')}. To see all: agent-relay who --everywhere`)
    const waiting = needsElsewhereText(others)
    if (waiting !== undefined) print.say(waiting)
  })
}

/** Prints how many agents have workers that ended unasked, and the command that lists what to do about them. */
export function reportFailedAgents(print: Printer, agents: readonly Agent[]): void {
  const failed = agents.filter((agent) => agentState(agent).kind === 'failed').length
  if (failed > 0) print.say(`${failed} ended without being asked to, with how to go on: agent-relay needs`)
}

/**
 * Whether the agent is shown without `--all`: it is connected, or its machine cannot be reached and it was connected when that machine was last heard of. An
 * agent whose worker failed is shown until the person has dealt with that.
 */
function isThere({ status, lastCallAt, failed }: Agent): boolean {
  return failed !== undefined || (status !== 'offline' && (status !== 'unreachable' || lastCallAt !== undefined))
}

/** Agents of one workspace. `workspace` is set only if agents of several workspaces are shown. */
interface AgentGroup {
  workspace?: string
  agents: readonly Agent[]
}

/** Returns the connected agents of those other workspaces that have any. */
async function connectedIn(
  context: CommandContext<typeof whoOptions>,
  client: RelayClient,
  workspaces: readonly { name: string; agents: readonly string[] }[],
): Promise<AgentGroup[]> {
  const inUse = workspaces.filter(({ agents }) => agents.length > 0)
  const lists = inUse.map(async ({ name }) => {
    const { agents } = await agentsOf(context, client, name)
    return { workspace: name, agents: agents.filter(isThere) }
  })
  return (await Promise.all(lists)).filter(({ agents }) => agents.length > 0)
}

async function printAgents(print: Printer, groups: readonly AgentGroup[]): Promise<void> {
  const agents = groups.flatMap((group) => group.agents)
  const hasTasks = agents.some(({ task }) => task !== undefined)
  const isSpent = agents.some(({ spend }) => spend)
  const isGrouped = groups.some(({ workspace }) => workspace !== undefined)
  // Only the first agent of each workspace has the workspace's name in its row.
  const placeOf = ({ workspace }: AgentGroup, at: number) =>
    isGrouped ? [at === 0 ? oneLine(workspace ?? '') : ''] : []
  await print.table(
    [
      ...(isGrouped ? [{ head: 'WORKSPACE' }] : []),
      { head: 'NAME' },
      { head: 'TYPE', dropRank: 4 },
      { head: 'CLI', mayShrink: true, dropRank: 1 },
      { head: 'STATE', mayShrink: true },
      { head: 'UNREAD', alignsRight: true },
      { head: 'LAST CALL', dropRank: 3 },
      { head: 'REACHED' },
      ...(isSpent ? [{ head: 'SPENT', dropRank: 5 }] : []),
      { head: '', mayShrink: true, dropRank: 2 },
      ...(hasTasks ? [{ head: 'TASK', mayShrink: true, dropRank: 5 }] : []),
    ],
    groups.flatMap((group) =>
      group.agents.map((agent, at) => [
        ...placeOf(group, at),
        ...row(agent, isSpent),
        ...(hasTasks ? [oneLine(agent.task ?? '')] : []),
      ]),
    ),
  )
}

/** Prints the HTTP address, unless the daemon has the usual port. */
async function sayPort({ env, print }: CommandContext, client: RelayClient): Promise<void> {
  if (usualPort(dataDir(env)) === httpPortDefault) return
  const { url } = await client.call('workspace.status', {})
  if (url !== undefined) print.say(`HTTP is at ${url}`)
}

function agentsOf({ print }: CommandContext, client: RelayClient, project?: string): Promise<OutputOf<'agent.list'>> {
  return client.call('agent.list', { includeOffline: true, whole: print.isJson, project })
}

/**
 * Returns the agents of all open workspaces, named by their addresses. Nobody is connected to a workspace that is closed for lack of use, so it is opened only
 * if `--all` asks for agents that are away.
 */
async function everywhere(
  context: CommandContext<typeof whoOptions>,
  client: RelayClient,
): Promise<OutputOf<'agent.list'>> {
  const { env, options } = context
  const workspaces = await withControl(env, listWorkspaces)
  const lists = workspaces
    .filter(({ open, atRest }) => open && (options.all || !atRest))
    .map(async ({ name: workspace }) => {
      const { agents } = await agentsOf(context, client, workspace)
      return agents.map((agent) => ({ ...agent, name: `${workspace}:${agent.name}` }))
    })
  return { agents: (await Promise.all(lists)).flat() }
}

/** Maximum count of unread messages that the daemon gives: 1000 means "1000 or more". */
const countedMax = 1_000

function row(agent: Agent, isSpent: boolean): string[] {
  const {
    name,
    type,
    cli,
    waitingFor,
    unread,
    lastCallAt,
    reached,
    parent,
    role,
    blocked,
    machine,
    machineSeenAt,
    notReached,
  } = agent
  const { kind, text } = agentState(agent)
  const lost = kind === 'unreachable' && `cannot be reached: on ${machine}, ${lastHeardText(machineSeenAt)}`
  const since = kind === 'blocked' ? blocked?.since : kind === 'waiting' ? waitingFor?.since : undefined
  const state = lost || (since === undefined ? text : `${text}, ${ageText(since)}`)
  const notes = [
    ...(role ? [role] : []),
    ...(parent === undefined ? [] : [`worker of ${parent}`]),
    ...(machine === undefined || lost ? [] : [`on ${machine}`]),
    ...(notReached === undefined ? [] : [`messages: ${notReached}`]),
  ]
  const cells = [
    name,
    type,
    cli ?? '–',
    state,
    unread < countedMax ? String(unread) : `${countedMax}+`,
    lastCallAt ? ageText(lastCallAt) : '–',
    reached ?? '–',
    ...(isSpent ? [agent.spend ? spendText(agent.spend) : ''] : []),
    notes.join(', '),
  ]
  return cells.map(oneLine)
}

const revoke: NamedCommand = {
  name: 'revoke',
  args: '<name>',
  argumentKind: 'agents',
  text: "make an agent's tokens invalid, and end the connections that use one",
  examples: ['agent-relay agents revoke Bob'],
  run: runRevoke,
}

const list: NamedCommand<typeof whoOptions> = {
  ...who,
  name: 'list',
  text: 'the agents that are connected, and what they do: the older spelling of who',
  isDefault: true,
  isHidden: true,
  examples: ['agent-relay agents'],
}

const retire: NamedCommand = {
  name: 'retire',
  args: '<name>',
  argumentKind: 'agents',
  text: 'take an agent that is away out of every list, for good; its messages stay',
  examples: ['agent-relay agents retire Bob'],
  run: runRetire,
}

export const agents: CliCommand = { commands: [list, revoke, retire] }

async function runRetire(context: CommandContext): Promise<void> {
  const { args, print } = context
  await withClient(context, 'anyone', async ({ client }) => {
    const { agent, isFree } = await client.call('agent.retire', { name: args[0] as string })
    if (print.isJson) return void (await print.json({ agent, isFree }))
    const name = isFree ? 'The name is free again.' : 'What it said or did names it, so nobody else can take the name.'
    await print.line(`${oneLine(agent)} is retired. ${name}`)
  })
}

async function runRevoke(context: CommandContext): Promise<void> {
  const { args, print } = context
  await withClient(context, 'anyone', async ({ client }) => {
    const done = await client.call('agent.revoke', { name: args[0] as string })
    if (print.isJson) return void (await print.json(done))
    await print.line(
      `The tokens of ${oneLine(done.agent)} no longer work, and the connections that used one have ended.`,
    )
  })
}
