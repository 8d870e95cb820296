// Who may take which name. Whether a credential is genuine was checked by dispatch; here only what follows from it.

import { type AgentProfile, daemonName, type Fact, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { enter } from './channels.ts'
import { broadcast, generalChannel } from './conversations.ts'
import { nearest } from './nearest.ts'
import { type Command, type Refused, record, refuse, type Verdict, type World } from './verdict.ts'
import type { AgentRow, View } from './view.ts'

export interface RegisterInput extends Omit<ParsedInputOf<'agent.register'>, 'token'> {
  /** The caller has shown this agent's token or the workspace key. */
  proven: boolean
  /** An offline name may be taken again without proof: only on the owner's own socket. */
  mayRetake: boolean
  /** The hash of a token made for this registration; written only if the registration issues one. */
  tokenHash: string
  /** A token that ends then is issued in any case, also to who has proven the name already. */
  tokenUntil?: number
}

const numberedNamesMax = 10_000
const nameCharsMax = 64

export function register(view: View, command: Command<RegisterInput>): Verdict {
  const { input, world } = command
  if (input.parent !== undefined && !view.agent(input.parent)) return unknownAgent(view, input.parent)
  const wanted = view.agent(input.name)
  if (input.proven && wanted) {
    return input.tokenUntil === undefined ? reregister(view, command, wanted) : retake(view, command, wanted)
  }
  if (wanted?.type === 'human')
    return refuse('auth.denied', { why: `${wanted.name} is a person: show the workspace key.` })
  if (input.name === daemonName) return refuse('agent.name-taken', { name: input.name })
  if (!wanted) return registerNew(view, command, input.name)
  if (!isInUse(view, world, input.name) && input.mayRetake) return retake(view, command, wanted)
  if (input.strict)
    return refuse(isInUse(view, world, input.name) ? 'agent.name-taken' : 'agent.name-offline', { name: input.name })
  for (let number = 2; number < numberedNamesMax; number++) {
    const name = `${input.name.slice(0, nameCharsMax - 6)}-${number}`
    const other = view.agent(name)
    if (!other) return registerNew(view, command, name)
    if (other.type === 'agent' && input.mayRetake && !isInUse(view, world, name)) return retake(view, command, other)
  }
  return refuse('agent.name-taken', { name: input.name })
}

/** By a live session, or by a worker's program, which may not have come so far yet. */
export function isInUse(view: View, world: World, name: string): boolean {
  const worker = view.workers.byName(name)
  return world.isLive(name) || (worker !== undefined && worker.status !== 'exited')
}

function registerNew(view: View, command: Command<RegisterInput>, name: string): Verdict {
  const { input, mint } = command
  const clash = handleClash(view, input.handle, name)
  if (clash) return clash
  const [registered, ...entered] = newcomer(view, mint, { ...input, name })
  const facts = [registered as Fact, tokenFor(name, input.tokenHash, input.tokenUntil), ...entered]
  for (const channel of new Set(input.channels))
    if (channel !== generalChannel) facts.push(...enter(view, name, channel))
  return record(facts, { agent: name, id: mint, issued: true })
}

/** A name that was not there before: it hears from now on what is said to everybody. */
export function newcomer(view: View, id: string, agent: Profile): Fact[] {
  const enters = (channel: string): Fact => ({
    type: 'channel.joined',
    channel,
    agent: agent.name,
    n: view.lastNumber(channel) ?? 0,
  })
  const registered: Fact = {
    type: 'agent.registered',
    id,
    agent: profile({ ...agent, type: agent.type ?? 'agent' }),
  }
  return [registered, enters(generalChannel), enters(broadcast)]
}

/** An offline name, taken again: a new token, since the former holder's is not known to the newcomer. So too where one is asked for. */
function retake(view: View, command: Command<RegisterInput>, agent: AgentRow): Verdict {
  const verdict = reregister(view, command, agent)
  if ('refusal' in verdict) return verdict
  const { tokenHash, tokenUntil } = command.input
  const token = tokenFor(agent.name, tokenHash, tokenUntil)
  return record([...verdict.facts, token], { ...verdict.outcome, issued: true })
}

export function tokenFor(agent: string, hash: string, until?: number): Fact {
  return { type: 'agent.token-issued', agent, hash, ...(until === undefined ? {} : { until }) }
}

function reregister(view: View, { input }: Command<RegisterInput>, agent: AgentRow): Verdict {
  const clash = handleClash(view, input.handle, agent.name)
  if (clash) return clash
  const facts: Fact[] = []
  const before = profile(agent)
  // A person's name stays a person's, and an agent does not become one.
  const after = profile({ ...before, ...defined(input), name: agent.name, type: agent.type })
  if (JSON.stringify(before) !== JSON.stringify(after)) facts.push({ type: 'agent.updated', agent: after })
  for (const channel of new Set(input.channels)) facts.push(...enter(view, agent.name, channel))
  return record(facts, { agent: agent.name, id: agent.id })
}

export function revoke(view: View, { input }: Command<ParsedInputOf<'agent.revoke'>>): Verdict {
  if (!view.agent(input.name)) return unknownAgent(view, input.name)
  return record([{ type: 'agent.tokens-revoked', agent: input.name }], { agent: input.name })
}

function handleClash(view: View, handle: string | undefined, name: string): Refused | undefined {
  const holder = handle === undefined ? undefined : view.agentOfHandle(handle)
  return holder && holder.name !== name ? refuse('agent.handle-taken', { handle, name: holder.name }) : undefined
}

type Profile = Omit<AgentProfile, 'channels'>

export function profile({ name, type, cli, model, parent, handle, role }: Profile): Profile {
  return { name, type, cli, model, parent, handle, role }
}

function defined(input: Profile): Partial<Profile> {
  return Object.fromEntries(Object.entries(profile(input)).filter(([, value]) => value !== undefined))
}

export function unknownAgent(view: View, name: string): Refused {
  const names = [...view.agents()].map((agent) => agent.name)
  return refuse('agent.unknown', { name, nearest: nearest(name, names) })
}

/** The one registered as lead, else the first ever registered. */
export function leadOf(view: View): AgentRow | undefined {
  let first: AgentRow | undefined
  for (const agent of view.agents()) {
    if (agent.role === 'lead') return agent
    first ??= agent
  }
  return first
}
