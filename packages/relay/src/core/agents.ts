// Rules for agent names: who may register, take again or retire which name. broker/admission.ts checks credentials earlier, when a session opens.

import type { AgentProfile, Fact, ParsedInputOf } from '@agent-relay/sdk/protocol'
import { enterChannelFacts } from './channels.ts'
import { claimEndFacts } from './claims.ts'
import { broadcast, generalChannel } from './conversations.ts'
import { findHandleOwner, personNotRegisteredYet, readsLikeDaemon, refuseHandleClash } from './handles.ts'
import { homeBlockingName, homeHereFacts, homeOnOtherMachine } from './homes.ts'
import { freeNameOf, numberedName, secondNameOnMachine } from './name-family.ts'
import { nearestNames } from './nearest.ts'
import { type Command, type Refused, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { AgentRow, HomeRow, NoticeRow, View, WorkerRow } from './view.ts'
import type { World } from './world.ts'

export interface RegisterInput extends Omit<ParsedInputOf<'agent.register'>, 'token'> {
  /** Whether the caller has shown this agent's token or the workspace key. */
  proven: boolean
  /** Whether the caller has shown the workspace key. */
  isHolder: boolean
  /** Whether the caller may take an offline agent's name again without proof, as only callers on the owner's own socket may. */
  mayRetake: boolean
  /** The hash of a token made in advance for this registration; stored only if the registration issues a token. */
  tokenHash: string
  /** The time at which the issued token ends. If set, a token is issued even to a caller that has proven the name already. */
  tokenUntil?: number
  /** The message numbers in #general and the broadcast after which a new agent gets messages. If unset, it gets those sent from now on. */
  heardFrom?: HeardFrom
  /** The name that the relay gave the caller earlier. The caller gives it up for the requested name, so the earlier name becomes free. */
  givesUp?: string
}

interface HeardFrom {
  general?: number
  broadcast?: number
}

/**
 * Up to this number, names like `agent-2` are checked one by one for an offline agent whose name can be taken again. Beyond it, a free name is found without
 * checking each.
 */
const retakeLooksMax = 1_000

export function register(view: View, command: Command<RegisterInput>): Verdict {
  const { input, world } = command
  if (input.parent !== undefined && !view.agent(input.parent)) return refuseUnknownAgent(view, input.parent)
  const wanted = view.agent(input.name)
  const home = wanted && homeOf(view, world, wanted)
  if (home && wanted.type === 'human' && input.proven) return registerSecond(view, command, wanted, home)
  if (home && (input.proven || input.strict))
    return refuse('agent.elsewhere', { name: wanted.name, machine: home.machine })
  if (input.proven && wanted) {
    return input.tokenUntil === undefined ? reregister(view, command, wanted) : retake(view, command, wanted)
  }
  const isNotRegisteredYet = input.name === personNotRegisteredYet(view, world)
  if (wanted?.type === 'human' || (isNotRegisteredYet && !input.isHolder))
    return refuse('auth.denied', { why: `${input.name} is a person: show the workspace key.` })
  if (!wanted && readsLikeDaemon(input.name)) return refuse('agent.name-taken', { name: input.name })
  const owner = wanted ? undefined : findHandleOwner(view, world, input.name, input.isHolder)
  if (owner && (input.proven || input.strict))
    return refuse('agent.handle-taken', { handle: input.name, name: owner.name })
  if (view.isRetired(input.name) && (input.proven || input.strict))
    return refuse('agent.name-retired', { name: input.name })
  const inUse = owner !== undefined || isNameInUse(view, world, input.name) || view.isRetired(input.name)
  // A name may be in use without an agent in the tables: a live session was given the name and has not sent anything yet.
  if (!wanted && (input.proven || !inUse)) return registerNew(view, command, input.name)
  if (wanted && !home && !inUse && input.mayRetake) return retake(view, command, wanted)
  if (input.strict) return refuse(inUse ? 'agent.name-taken' : 'agent.name-offline', { name: input.name })
  return registerNumbered(view, command)
}

function registerNumbered(view: View, command: Command<RegisterInput>): Verdict {
  const { input, world } = command
  const isTaken = (name: string) =>
    view.agent(name) !== undefined ||
    view.isRetired(name) ||
    world.isLive(name) ||
    findHandleOwner(view, world, name) !== undefined
  for (let number = 2; input.mayRetake && number < retakeLooksMax; number++) {
    const name = numberedName(input.name, number)
    const other = view.agent(name)
    if (!isTaken(name)) return registerNew(view, command, name)
    if (other?.type === 'agent' && !isNameInUse(view, world, name) && !homeBlockingName(view, world, name))
      return retake(view, command, other)
  }
  const free = freeNameOf(input.name, (name) => name === input.name || isTaken(name))
  return free === undefined ? refuse('agent.name-taken', { name: input.name }) : registerNew(view, command, free)
}

/** Registers a person whose home is another machine under a second name here, such as `Kim-laptop`: each machine shows messages to its own people. */
function registerSecond(view: View, command: Command<RegisterInput>, first: AgentRow, home: HomeRow): Verdict {
  const name = secondNameOnMachine(first.name, command.world.machine as string)
  const input = { ...command.input, name, type: 'human' as const }
  const second = view.agent(name)
  if (second && (second.type !== 'human' || homeOnOtherMachine(view, command.world, name)))
    return refuse('agent.elsewhere', { name: first.name, machine: home.machine })
  const verdict = second
    ? reregister(view, { ...command, input }, second)
    : registerNew(view, { ...command, input }, name)
  if ('refusal' in verdict) return verdict
  const because = `${first.name} is at home on ${home.machine}; on this machine you are ${name}.`
  return { ...verdict, outcome: { ...verdict.outcome, because } }
}

/**
 * Returns the agent's home if that is another machine, because the name cannot be taken here then. The name does not stay with a removed machine, unless it is
 * that of a person who has a second name on this machine.
 */
function homeOf(view: View, world: World, { name, type }: AgentRow): HomeRow | undefined {
  const { machine } = world
  const hasSecond =
    type === 'human' && machine !== undefined && view.agent(secondNameOnMachine(name, machine)) !== undefined
  return (hasSecond ? homeOnOtherMachine : homeBlockingName)(view, world, name)
}

/** Whether a name is in use: by a live session, or by a worker's program that may not have connected yet. */
export function isNameInUse(view: View, world: World, name: string): boolean {
  const worker = view.workers.byName(name)
  return world.isLive(name) || (worker !== undefined && worker.status !== 'exited' && !isWorkerLost(world, worker))
}

/** Whether the worker's machine was removed from the cluster, so that nobody will report what became of the worker's program. */
export function isWorkerLost(world: World, { machine }: Pick<WorkerRow, 'machine'>): boolean {
  return machine !== undefined && world.isRemoved?.(machine) === true
}

function registerNew(view: View, command: Command<RegisterInput>, name: string): Verdict {
  const { input, mint, world } = command
  const clash = refuseHandleClash(view, world, input, name)
  if (clash) return clash
  const type = name === personNotRegisteredYet(view, world) ? 'human' : input.type
  const [registered, ...entered] = newAgentFacts(view, command, { ...input, name, type }, input.heardFrom)
  const facts = [registered as Fact, tokenIssuedFact(name, input.tokenHash, input.tokenUntil), ...entered]
  for (const channel of new Set(input.channels))
    if (channel !== generalChannel) facts.push(...enterChannelFacts(view, name, channel))
  return recordFacts(facts, { agent: name, id: mint, issued: true })
}

/** Returns the facts that make a new agent. By default the agent gets the messages to everybody that are sent from now on. */
export function newAgentFacts(
  view: View,
  { mint: id, world }: Pick<Command<unknown>, 'mint' | 'world'>,
  agent: Profile,
  heardFrom?: HeardFrom,
): Fact[] {
  const enters = (channel: string, n = view.lastNumber(channel) ?? 0): Fact => ({
    type: 'channel.joined',
    channel,
    agent: agent.name,
    n,
  })
  const registered: Fact = {
    type: 'agent.registered',
    id,
    agent: pickProfile({ ...agent, type: agent.type ?? 'agent' }),
  }
  const homed = homeHereFacts(view, world, agent.name)
  return [registered, ...homed, enters(generalChannel, heardFrom?.general), enters(broadcast, heardFrom?.broadcast)]
}

/** Takes an offline agent's name again and issues a new token: the caller does not know the former token, or has asked for another. */
function retake(view: View, command: Command<RegisterInput>, agent: AgentRow): Verdict {
  const verdict = reregister(view, command, agent)
  if ('refusal' in verdict) return verdict
  const { tokenHash, tokenUntil } = command.input
  const token = tokenIssuedFact(agent.name, tokenHash, tokenUntil)
  return recordFacts([...verdict.facts, token], { ...verdict.outcome, issued: true })
}

export function tokenIssuedFact(agent: string, hash: string, until?: number): Fact {
  return { type: 'agent.token-issued', agent, hash, ...(until === undefined ? {} : { until }) }
}

function reregister(view: View, { input, world }: Command<RegisterInput>, agent: AgentRow): Verdict {
  const clash = refuseHandleClash(view, world, input, agent.name)
  if (clash) return clash
  const facts = homeHereFacts(view, world, agent.name)
  const before = pickProfile(agent)
  // A registration never turns a person into an agent, nor an agent into a person.
  const after = pickProfile({ ...before, ...definedFields(input), name: agent.name, type: agent.type })
  if (JSON.stringify(before) !== JSON.stringify(after)) facts.push({ type: 'agent.updated', agent: after })
  for (const channel of new Set(input.channels)) facts.push(...enterChannelFacts(view, agent.name, channel))
  return recordFacts(facts, { agent: agent.name, id: agent.id })
}

export function revoke(view: View, { input }: Command<ParsedInputOf<'agent.revoke'>>): Verdict {
  if (!view.agent(input.name)) return refuseUnknownAgent(view, input.name)
  return recordFacts([{ type: 'agent.tokens-revoked', agent: input.name }], { agent: input.name })
}

/**
 * Retires an agent. The name becomes free only if no stored row names the agent: otherwise the next agent of that name would read its mail and runs, and
 * command its workers. Where machines share a workspace, a session on another machine counts as connected only while that machine reports.
 */
export function retire(view: View, { input, at, world }: Command<ParsedInputOf<'agent.retire'>>): Verdict {
  const { name } = input
  if (!view.agent(name)) return refuseUnknownAgent(view, name)
  if (world.isLive(name)) return refuse('agent.in-use', { name, why: 'it is connected' })
  if (isNameInUse(view, world, name)) return refuse('agent.in-use', { name, why: 'its program runs' })
  const run = view.runs.running().find(({ agent, parent }) => agent === name || parent === name)
  if (run) return refuse('agent.in-use', { name, why: `its run ${run.id} has not ended` })
  const worker = view.workers.running().find(({ parent }) => parent === name)
  if (worker) return refuse('agent.in-use', { name, why: `its worker ${worker.name} runs` })
  // A name stays taken while somebody awaits a notice about it: the notice must tell of the retirement, not of a later agent with the name.
  const isNamed =
    view.isReferenced(name) || view.notices.hasAnyAbout(name) || Object.hasOwn(view.policy().terminal, name)
  const isFree = !isNamed
  const left = [broadcast, ...view.channels()].flatMap((channel): Fact[] =>
    view.isMember(name, channel)
      ? [{ type: 'channel.left', channel, agent: name, n: view.lastNumber(channel) ?? 0 }]
      : [],
  )
  const facts: Fact[] = [
    ...left,
    ...claimEndFacts(view, name, at, true),
    ...view.notices.of(name).map(noticeEnd),
    { type: 'agent.tokens-revoked', agent: name },
    { type: 'agent.retired', agent: name, isFree },
  ]
  return recordFacts(facts, { agent: name, isFree })
}

/** Ends a request for a notice whose asker was retired and cannot be told. */
function noticeEnd({ asker, agent, when, message }: NoticeRow): Fact {
  return { type: 'notice.ended', asker, agent, when, message, why: 'retired' }
}

type Profile = Omit<AgentProfile, 'channels'>

export function pickProfile({ name, type, cli, model, parent, handle, role }: Profile): Profile {
  return { name, type, cli, model, parent, handle, role }
}

function definedFields(input: Profile): Partial<Profile> {
  return Object.fromEntries(Object.entries(pickProfile(input)).filter(([, value]) => value !== undefined))
}

export function refuseUnknownAgent(view: View, name: string): Refused {
  return refuse('agent.unknown', { name, nearest: nearestNames(name, view.agentNames()) })
}

/**
 * Finds the recipient of messages to `project:lead`: the agent named `lead`, else the one with the role `lead`, else the one that registered first. Agents
 * come before people, and connected agents before those that are away.
 */
export function findLead(view: View, isThere: (name: string) => boolean): AgentRow | undefined {
  const rank = ({ name, role, type }: AgentRow) =>
    role === 'lead' ? 0 : 1 + (isThere(name) ? 0 : 1) + (type === 'human' ? 2 : 0)
  const ranked = [...view.agents()].map((agent) => ({ agent, rank: rank(agent) }))
  return view.agent('lead') ?? ranked.toSorted((a, b) => a.rank - b.rank)[0]?.agent
}

/**
 * Returns the input that repeats a registration with the same token. Undefined if no token was issued, because the caller had one already or showed the key.
 */
export function repeatedRegistration(
  registered: Extract<Fact, { type: 'agent.registered' }> | undefined,
  issued: Extract<Fact, { type: 'agent.token-issued' }> | undefined,
): RegisterInput | undefined {
  const name = registered?.agent.name ?? issued?.agent
  if (name === undefined || !issued) return undefined
  const credentials = { proven: false, isHolder: false, mayRetake: true, tokenHash: issued.hash }
  return { ...registered?.agent, name, strict: true, ...credentials } as RegisterInput
}
