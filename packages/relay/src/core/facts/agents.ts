// Rows of the table of facts (stored events) about agents: their names, tokens and home machines.

import { type AgentHomed, AgentName, type AgentRegistered } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { readsLikeDaemon } from '../handles.ts'
import { mayTakeOver } from '../homes.ts'
import { hasCredential } from '../sight.ts'
import { type AppendedEntry, agentKeys, everyone, type FactRows, holder, homeOfAgent, noKey } from './row.ts'
import { count, fields, flag, label, maybe, oneOf, text, words } from './shape.ts'

/** Checks an agent's profile. The name must be valid, since operations accept no other. */
const profile = fields({
  name: (value) => AgentName.safeParse(value).success,
  type: oneOf('agent', 'human'),
  cli: maybe(label),
  model: maybe(label),
  parent: maybe(label),
  handle: maybe(label),
  role: maybe(text),
})

const homeOfProfile = ({ agent }: { agent: { name: string } }, { speaksFor }: AppendedEntry) => speaksFor(agent.name)

export const agentFacts: FactRows<
  | 'agent.registered'
  | 'agent.updated'
  | 'agent.token-issued'
  | 'agent.tokens-revoked'
  | 'agent.retired'
  | 'agent.briefed'
  | 'agent.homed'
> = {
  'agent.registered': {
    shape: { id: text, agent: profile },
    said: mayRegister,
    seen: everyone,
    writes: ({ agent: { name, handle } }) => {
      const called = handle === undefined ? [name] : [name, handle]
      return [keys.agent(name), keys.agents, ...called.map(keys.called)]
    },
    over: 'never',
  },
  'agent.updated': {
    shape: { agent: profile },
    said: homeOfProfile,
    seen: everyone,
    writes: ({ agent: { name } }) => [keys.agent(name), keys.agents, keys.calledAny],
    over: 'never',
  },
  'agent.token-issued': {
    shape: { agent: label, hash: text, until: maybe(count) },
    said: homeOfAgent,
    seen: holder,
    writes: noKey,
    over: 'never',
  },
  'agent.tokens-revoked': {
    shape: { agent: label },
    said: mayEnd,
    seen: { to: 'agents', who: ({ agent }) => [agent] },
    writes: noKey,
    over: 'never',
  },
  'agent.retired': {
    shape: { agent: label, isFree: flag },
    said: mayEnd,
    seen: everyone,
    writes: ({ agent }) => [keys.agent(agent), keys.agents, keys.calledAny],
    over: 'never',
  },
  'agent.briefed': {
    shape: { agent: label, after: oneOf('compact', 'resume', 'clear'), text: words },
    said: homeOfAgent,
    // Only the agent itself sees its brief, which contains the agent's task.
    seen: { to: 'everyone', if: (_, reader, { agent }) => hasCredential(reader) && reader.agent === agent },
    writes: noKey,
    over: 'old',
  },
  'agent.homed': {
    shape: { agent: label, machine: label, epoch: count, isTakeOver: maybe(flag) },
    said: mayMove,
    seen: everyone,
    writes: agentKeys,
    over: 'never',
  },
}

/** Whether a machine may register this agent: under a name that nobody has or had, and that nobody takes for the daemon's. */
function mayRegister({ agent }: AgentRegistered, by: AppendedEntry): boolean {
  const { name, handle = '' } = agent
  const isFree = by.view.agent(name) === undefined && !by.view.isRetired(name)
  return isFree && !readsLikeDaemon(name) && !readsLikeDaemon(handle) && by.speaksFor(name)
}

/** Whether a machine may end an agent's tokens or stays in channels, or retire the agent: its home machine may, or any machine if the home was removed. */
export function mayEnd({ agent }: { agent: string }, { view, speaksFor, actsFor }: AppendedEntry): boolean {
  return speaksFor(agent) || actsFor(view.home(agent)?.machine)
}

/**
 * Whether a machine may move an agent to another home machine. The present home gives the agent away. Any machine takes an agent whose name nobody has
 * or whose home was removed; otherwise only the workspace's owner machine takes the agent over.
 */
function mayMove({ agent, machine: next, epoch, isTakeOver }: AgentHomed, { machine, view }: AppendedEntry): boolean {
  const home = view.home(agent)
  if (epoch !== (home?.epoch ?? 0) + 1) return false
  if (home?.machine === machine) return true
  const isFree = home === undefined || view.agent(agent) === undefined
  return next === machine && (isFree || (isTakeOver === true && mayTakeOver(view, machine, home)))
}
