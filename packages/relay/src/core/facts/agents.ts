// Rows of the table of facts (stored events) about agents: their names, tokens and home machines.

import { type AgentHomed, AgentName, type AgentRegistered } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { readsLikeDaemon } from '../handles.ts'
import { mayTakeOver } from '../homes.ts'
import { hasCredential } from '../sight.ts'
import {
  type AppendedEntry,
  agentKeys,
  type FactRows,
  noConflictKeys,
  onlyHomeMachine,
  toEveryone,
  toHolder,
} from './row.ts'
import { hasFields, isCount, isFlag, isLabel, isLongText, isOneOf, isText, optional } from './shape.ts'

/** Checks an agent's profile. The name must be valid, since operations accept no other. */
const profile = hasFields({
  name: (value) => AgentName.safeParse(value).success,
  type: isOneOf('agent', 'human'),
  cli: optional(isLabel),
  model: optional(isLabel),
  parent: optional(isLabel),
  handle: optional(isLabel),
  role: optional(isText),
})

const homeOfProfile = ({ agent }: { agent: { name: string } }, { speaksFor }: AppendedEntry) => speaksFor(agent.name)

export const agentFacts: FactRows<`agent.${string}`> = {
  'agent.registered': {
    shape: { id: isText, agent: profile },
    mayAppend: mayRegister,
    audience: toEveryone,
    changedKeys: ({ agent: { name, handle } }) => {
      const called = handle === undefined ? [name] : [name, handle]
      return [conflictKeys.agent(name), conflictKeys.agents, ...called.map(conflictKeys.nameOrHandle)]
    },
  },
  'agent.updated': {
    shape: { agent: profile },
    mayAppend: homeOfProfile,
    audience: toEveryone,
    changedKeys: ({ agent: { name } }) => [
      conflictKeys.agent(name),
      conflictKeys.agents,
      conflictKeys.allNamesAndHandles,
    ],
  },
  'agent.token-issued': {
    shape: { agent: isLabel, hash: isText, until: optional(isCount) },
    mayAppend: onlyHomeMachine,
    audience: toHolder,
    changedKeys: noConflictKeys,
  },
  'agent.tokens-revoked': {
    shape: { agent: isLabel },
    mayAppend: mayEndForAgent,
    audience: { to: 'agents', agentNames: ({ agent }) => [agent] },
    changedKeys: noConflictKeys,
  },
  'agent.retired': {
    shape: { agent: isLabel, isFree: isFlag },
    mayAppend: mayEndForAgent,
    audience: toEveryone,
    changedKeys: ({ agent }) => [conflictKeys.agent(agent), conflictKeys.agents, conflictKeys.allNamesAndHandles],
  },
  'agent.briefed': {
    shape: { agent: isLabel, after: isOneOf('compact', 'resume', 'clear'), text: isLongText },
    mayAppend: onlyHomeMachine,
    // Only the agent itself sees its brief, which contains the agent's task.
    audience: { to: 'everyone', if: (_, reader, { agent }) => hasCredential(reader) && reader.agent === agent },
    changedKeys: noConflictKeys,
    prunableWhen: 'old',
  },
  'agent.homed': {
    shape: { agent: isLabel, machine: isLabel, epoch: isCount, isTakeOver: optional(isFlag) },
    mayAppend: mayMove,
    audience: toEveryone,
    changedKeys: agentKeys,
  },
}

/** Whether a machine may register this agent: under a name that nobody has or had, and that nobody takes for the daemon's. */
function mayRegister({ agent }: AgentRegistered, by: AppendedEntry): boolean {
  const { name, handle = '' } = agent
  const isFree = by.view.agent(name) === undefined && !by.view.isRetired(name)
  return isFree && !readsLikeDaemon(name) && !readsLikeDaemon(handle) && by.speaksFor(name)
}

/** Whether a machine may end an agent's tokens or stays in channels, or retire the agent: its home machine may, or any machine if the home was removed. */
export function mayEndForAgent({ agent }: { agent: string }, { view, speaksFor, actsFor }: AppendedEntry): boolean {
  return speaksFor(agent) || actsFor(view.home(agent)?.machine)
}

/**
 * Whether a machine may move an agent to another home machine. The present home may give the agent away. Any machine may take an agent whose name nobody has,
 * or whose home was removed; otherwise only the workspace's owner machine may take the agent over.
 */
function mayMove({ agent, machine: next, epoch, isTakeOver }: AgentHomed, { machine, view }: AppendedEntry): boolean {
  const home = view.home(agent)
  if (epoch !== (home?.epoch ?? 0) + 1) return false
  if (home?.machine === machine) return true
  const isFree = home === undefined || view.agent(agent) === undefined
  return next === machine && (isFree || (isTakeOver === true && mayTakeOver(view, machine, home)))
}
