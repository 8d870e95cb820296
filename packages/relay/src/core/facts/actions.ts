// Rows of the table of facts (stored events) about actions that programs offer, and about calls of actions.

import { type ActionCompleted, type ActionInvoked, daemonName } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { mayCallAction } from '../sight.ts'
import { type AppendedEntry, type FactRows, onlyNamedMachine, toEveryone } from './row.ts'
import { isCount, isFlag, isJsonObject, isLabel, isListOf, isLongText, isOneOf, isText, optional } from './shape.ts'

const actionKeys = ({ name }: { name: string }) => [conflictKeys.action(name), conflictKeys.actions]
const callKeys = ({ id }: { id: string }) => [conflictKeys.call(id), conflictKeys.calls]

export const actionFacts: FactRows<`action.${string}`> = {
  'action.registered': {
    shape: {
      name: isLabel,
      provider: isLabel,
      session: isText,
      description: isLongText,
      inputSchema: isJsonObject,
      outputSchema: optional(isJsonObject),
      availableTo: optional(isListOf(isLabel)),
      timeoutMs: isCount,
      authority: optional(isOneOf('owner', 'key', 'token', 'nobody')),
      machine: optional(isLabel),
    },
    // A machine may not register a name that another machine offers: that would lead the action's callers to the wrong machine.
    mayAppend: (fact, by) =>
      onlyNamedMachine(fact, by) && (fact.provider === daemonName || by.speaksFor(fact.provider)) && isItsOwn(fact, by),
    audience: { to: 'everyone', if: (_, { agent = '' }, action) => mayCallAction(action, agent) },
    changedKeys: actionKeys,
    // Pruning may delete an old registration once its session does not offer the action any more.
    prunableWhen: { oldAnd: ({ name, session }, left) => left.sessionOffering(name) !== session },
  },
  'action.withdrawn': {
    shape: { name: isLabel, provider: isLabel },
    mayAppend: isItsOwn,
    audience: toEveryone,
    changedKeys: actionKeys,
    prunableWhen: 'old',
  },
  'action.invoked': {
    shape: {
      id: isText,
      action: isLabel,
      caller: isLabel,
      provider: optional(isLabel),
      session: optional(isText),
      inputBytes: isCount,
      until: isCount,
      machine: optional(isLabel),
    },
    mayAppend: (fact, by) => by.speaksFor(fact.caller) && isAtItsMachine(fact, by),
    audience: { to: 'agents', agentNames: ({ caller, provider }) => [caller, provider] },
    changedKeys: callKeys,
    prunableWhen: { oldAnd: ({ id }, left) => left.isCallOver(id) },
  },
  'action.completed': {
    shape: {
      id: isText,
      action: isLabel,
      caller: isLabel,
      ok: isFlag,
      code: optional(isLabel),
      message: optional(isLongText),
      outputBytes: optional(isCount),
      durationMs: isCount,
    },
    mayAppend: mayComplete,
    audience: {
      to: 'agents',
      *agentNames({ id, caller }, known) {
        yield caller
        yield known.actions.invocation(id)?.provider
      },
    },
    changedKeys: callKeys,
    prunableWhen: { oldAnd: ({ id }, left) => left.isCallOver(id) },
  },
}

/** Whether the machine that appended the entry offers the action, or nobody does. */
function isItsOwn({ name }: { name: string }, { view, actsFor }: AppendedEntry): boolean {
  const action = view.actions.byName(name)
  return action === undefined || actsFor(action.machine)
}

function isAtItsMachine({ action, machine }: ActionInvoked, { view }: AppendedEntry): boolean {
  return machine === view.actions.byName(action)?.machine
}

/** Whether a machine may report a call's end. The provider's machine reports answers; the caller's reports calls that could not begin or got no answer. */
function mayComplete({ id, caller, ok }: ActionCompleted, { view, facts, speaksFor, actsFor }: AppendedEntry): boolean {
  const call = view.actions.invocation(id)
  if (!call) return !ok && facts.some((fact) => fact.type === 'action.invoked' && fact.id === id)
  if (call.caller !== caller) return false
  return actsFor(call.machine) || (!ok && speaksFor(caller))
}
